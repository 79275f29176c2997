"""Which of two candidates is farther beyond the goal's limits, noise taken into account."""

from __future__ import annotations

from collections.abc import Mapping

from advisor.goal import Goal, Limit
from advisor.noise import Noise
from advisor.search.ranking import Candidate

Noises = Mapping[str, Noise]
"""By metric: that of the goal and those of its limits."""


def farther(goal: Goal, noises: Noises, seen: Candidate, against: Candidate) -> tuple[Limit, ...]:
    """The limits that `seen` breaks and that `against` keeps, or breaks by less than noise
    explains."""
    return tuple(
        limit
        for limit in goal.broken(seen.metrics())
        if _is_farther(limit, noises[limit.metric], seen, against)
    )


def _is_farther(limit: Limit, noise: Noise, seen: Candidate, against: Candidate) -> bool:
    now, before = seen.metrics().get(limit.metric), against.metrics().get(limit.metric)
    if now is None or before is None:
        return before is not None
    if limit.excess(before) <= 0:
        return True
    change = limit.excess(now) - limit.excess(before)
    explained = noise.bound(len(seen.judged), len(against.judged)) * abs(before)
    return change > explained / (abs(limit.value) or 1.0)
