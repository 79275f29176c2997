"""Which of two candidates is farther beyond the goal's limits, noise taken into account.

A limit is kept where noise would have to be larger than it is to break it: a candidate that lies
within noise of a limit breaks it in every other run.
"""

from __future__ import annotations

from collections.abc import Mapping

from advisor.goal import Goal, Limit
from advisor.noise import Noise
from advisor.search.ranking import Candidate

Noises = Mapping[str, Noise]
"""By metric: that of the goal and those of its limits."""

KNOWN = 1_000_000
"""Runs of what is exact: the limit itself."""


def keeps(goal: Goal, noises: Noises, candidate: Candidate) -> bool:
    """Whether the goal's metric was measured and every limit is kept with a margin of noise."""
    return candidate.feasible(goal) and all(
        _margin(limit, noises, candidate) >= 0 for limit in goal.limits
    )


def may_keep(goal: Goal, noises: Noises, candidate: Candidate) -> bool:
    """Whether noise explains all by which it is beyond a limit."""
    metrics = candidate.metrics()
    return all(
        limit.metric in metrics
        and limit.excess(metrics[limit.metric]) <= _explained(limit, noises, candidate)
        for limit in goal.limits
    )


def close_notes(goal: Goal, noises: Noises, candidate: Candidate) -> tuple[str, ...]:
    """A note of each limit that is kept by less than noise explains."""
    metrics = candidate.metrics()
    return tuple(
        f"{limit} is kept by less than noise explains: another run may break it"
        for limit in goal.limits
        if limit.kept(metrics) and _margin(limit, noises, candidate) < 0
    )


def farther(goal: Goal, noises: Noises, seen: Candidate, against: Candidate) -> tuple[Limit, ...]:
    """The limits that `seen` breaks, or keeps with less than a margin of noise, and that `against`
    keeps, or breaks by less than noise explains."""
    return tuple(
        limit
        for limit in goal.limits
        if _margin(limit, noises, seen) < 0
        and _is_farther(limit, noises[limit.metric], seen, against)
    )


def _is_farther(limit: Limit, noise: Noise, seen: Candidate, against: Candidate) -> bool:
    now, before = seen.metrics().get(limit.metric), against.metrics().get(limit.metric)
    if now is None or before is None:
        return before is not None
    if limit.excess(before) <= 0 < limit.excess(now):
        return True
    change = limit.excess(now) - limit.excess(before)
    explained = noise.bound(len(seen.judged), len(against.judged)) * abs(before)
    return change > explained / (abs(limit.value) or 1.0)


def _margin(limit: Limit, noises: Noises, candidate: Candidate) -> float:
    """How far within the limit it stays when noise is against it, as a part of the limit; below 0
    beyond it."""
    value = candidate.metrics().get(limit.metric)
    if value is None:
        return -1.0
    return -limit.excess(value) - _explained(limit, noises, candidate)


def _explained(limit: Limit, noises: Noises, candidate: Candidate) -> float:
    """What noise may have added to its metric, as a part of the limit."""
    value = candidate.metrics()[limit.metric]
    bound = noises[limit.metric].bound(len(candidate.judged), KNOWN)
    return bound * abs(value) / (abs(limit.value) or 1.0)
