"""Which settings are best, given noisy trials of them."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from advisor.goal import Goal
from advisor.knobs import Engine, Settings
from advisor.noise import Noise, Spread
from advisor.trial import Trial, settings_key

REPEATS_THAT_COUNT_ALONE = 2
"""With so many repetitions the first look is left out: it was picked for being high, so it
flatters."""
VERDICT_RUNS = 2
"""Finished runs that each of two candidates needs before one is called better."""


@dataclass(frozen=True)
class Candidate:
    """Settings of one engine with all finished trials of them, in the order in which they ran."""

    engine: Engine
    settings: Settings
    trials: tuple[Trial, ...]

    @property
    def repeats(self) -> int:
        """Trials made to look a second time."""
        return sum(trial.role in ("repeat", "ablation") for trial in self.trials)

    @property
    def judged(self) -> tuple[Trial, ...]:
        """The trials that its numbers are taken from."""
        again = tuple(trial for trial in self.trials if trial.role in ("repeat", "ablation"))
        return again if len(again) >= REPEATS_THAT_COUNT_ALONE else self.trials

    def metrics(self) -> dict[str, float]:
        """The median of every metric that all judged trials measured."""
        names = set.intersection(*(set(trial.metrics) for trial in self.judged))
        return {
            name: statistics.median(trial.metrics[name] for trial in self.judged)
            for name in sorted(names)
        }

    def spread(self, metric: str) -> Spread | None:
        """Median and extremes of one metric."""
        values = [trial.metrics[metric] for trial in self.judged if metric in trial.metrics]
        return Spread.of(values) if values else None

    def score(self, goal: Goal) -> float | None:
        """The median of the goal's metric."""
        spread = self.spread(goal.metric)
        return None if spread is None else spread.median

    def feasible(self, goal: Goal) -> bool:
        """Whether the goal's metric was measured and its limits are kept."""
        metrics = self.metrics()
        return goal.metric in metrics and goal.kept(metrics)


def candidates(trials: Iterable[Trial]) -> list[Candidate]:
    """The finished trials by settings, in the order in which the settings were first tried."""
    groups: dict[object, list[Trial]] = {}
    for trial in trials:
        if trial.finished:
            groups.setdefault(settings_key(trial.engine, trial.settings), []).append(trial)
    return [
        Candidate(group[0].engine, group[0].settings, tuple(group)) for group in groups.values()
    ]


def ranked(found: Iterable[Candidate], goal: Goal) -> list[Candidate]:
    """Feasible candidates, the best first; then those that break a limit, the nearest to keeping
    them first. A limit whose metric was not measured is farther than any that was."""

    def key(candidate: Candidate) -> tuple[int, float, float]:
        metrics = candidate.metrics()
        unmeasured = sum(limit.metric not in metrics for limit in goal.limits)
        return unmeasured, excess(goal, metrics), -signed(goal, metrics[goal.metric])

    return sorted((c for c in found if c.score(goal) is not None), key=key)


def best(trials: Iterable[Trial], goal: Goal) -> Candidate | None:
    """The best feasible candidate. Once some were repeated, one that was not cannot win."""
    feasible = [c for c in ranked(candidates(trials), goal) if c.feasible(goal)]
    repeated = [candidate for candidate in feasible if candidate.repeats]
    return next(iter(repeated or feasible), None)


def noise_of(found: Iterable[Candidate], metric: str) -> Noise:
    """The noise of one metric, from all settings that were tried more than once."""
    return Noise.pooled(
        [trial.metrics[metric] for trial in candidate.trials if metric in trial.metrics]
        for candidate in found
    )


def signed(goal: Goal, score: float) -> float:
    """A score that is better when it is higher."""
    return score if goal.direction == "maximize" else -score


def violations(goal: Goal, metrics: dict[str, float]) -> dict[str, float]:
    """For each limit of the goal how far it is exceeded, relatively; an absent metric breaks its
    limit."""
    return {
        str(limit): limit.excess(metrics[limit.metric]) if limit.metric in metrics else 1.0
        for limit in goal.limits
    }


def excess(goal: Goal, metrics: dict[str, float]) -> float:
    """By how much all broken limits together are exceeded."""
    return sum(max(0.0, violation) for violation in violations(goal, metrics).values())


def loss(goal: Goal, before: float, after: float) -> float:
    """How much of a score a change loses, relatively; below 0 it gains. What was 0 before changes
    by all of what it is after."""
    reference = abs(before) or abs(after)
    return (signed(goal, before) - signed(goal, after)) / reference if reference else 0.0
