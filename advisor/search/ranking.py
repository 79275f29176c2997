"""Which settings are best, given noisy trials of them."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from advisor.goal import Goal
from advisor.knobs import Engine, Settings
from advisor.noise import Noise, Spread
from advisor.search.dominance import Scales, non_dominated, spread
from advisor.trial import AGAIN, Key, Trial, settings_key

REPEATS_THAT_COUNT_ALONE = 2
"""With so many repetitions the first look is left out: it was picked for being high, so it
flatters."""
VERDICT_RUNS = 2
"""Finished runs that each of two candidates needs before one is called better."""
MOST_OWED = 0.05
"""What a run may leave undone, as a part of its time, and count as one that has settled."""
WORTH = 0.02
"""What buys less of the goal's metric than this is worth neither a line nor another run, however
sure it is."""


Standing = tuple[int, float, bool, float]


@dataclass(frozen=True)
class Candidate:
    """Settings of one engine with all finished trials of them, in the order in which they ran. What
    they say is found once: a search asks for it after each of its trials."""

    engine: Engine
    settings: Settings
    trials: tuple[Trial, ...]

    @cached_property
    def key(self) -> Key:
        """The `settings_key` of its settings."""
        return settings_key(self.engine, self.settings)

    @cached_property
    def repeats(self) -> int:
        """Trials made to look a second time."""
        return sum(trial.role in AGAIN for trial in self.trials)

    @cached_property
    def seconds(self) -> float:
        """Length of the measured phase of its longest trials."""
        return max(trial.seconds for trial in self.trials)

    @cached_property
    def longest(self) -> tuple[Trial, ...]:
        """Its longest trials: what a shorter one saw of settings that were not yet steady is no
        part of their numbers."""
        return tuple(trial for trial in self.trials if trial.seconds == self.seconds)

    @cached_property
    def judged(self) -> tuple[Trial, ...]:
        """The trials that its numbers are taken from."""
        again = tuple(trial for trial in self.longest if trial.role in AGAIN)
        return again if len(again) >= REPEATS_THAT_COUNT_ALONE else self.longest

    @cached_property
    def has_settled(self) -> bool:
        """Whether it was steady when it was measured, or was measured for longer after it was not:
        as a simulated repetition is, on a higher rung for longer than the look that it repeats.
        That has to leave little undone."""
        is_longer = any(trial.seconds < self.seconds for trial in self.trials)
        has_climbed = any(
            t.clock == "simulated" and t.role in AGAIN and t.owed <= MOST_OWED for t in self.longest
        )
        return is_longer or has_climbed or any(t.steady is not False for t in self.longest)

    def pays(self, goal: Goal) -> bool:
        """Whether the goal's metrics are charged with what its runs left undone, or little was:
        latencies are those of the phase, before anybody pays."""
        if not goal.asks_for_latencies:
            return True
        return self._owed <= MOST_OWED

    @cached_property
    def _owed(self) -> float:
        return statistics.median(trial.owed for trial in self.judged)

    def metrics(self) -> Mapping[str, float]:
        """The median of every metric that all judged trials measured."""
        return self._medians

    @cached_property
    def _medians(self) -> Mapping[str, float]:
        names = set.intersection(*(set(trial.metrics) for trial in self.judged))
        return {
            name: statistics.median(trial.metrics[name] for trial in self.judged)
            for name in sorted(names)
        }

    def values(self, metric: str) -> list[float]:
        """One metric of every judged trial that measured it."""
        return [trial.metrics[metric] for trial in self.judged if metric in trial.metrics]

    def spread(self, metric: str) -> Spread | None:
        """Median and extremes of one metric."""
        values = self.values(metric)
        return Spread.of(values) if values else None

    def score(self, goal: Goal) -> float | None:
        """The median of the goal's metric, the first one of several."""
        return self.metrics().get(goal.metric)

    def does_the_same(self, other: Candidate) -> bool:
        """Whether judged runs that both made of the same seed, of which there are some, came out
        alike to the last digit: what tells the two apart was never asked for."""
        mine = {(run.seed, run.scale, run.seconds): run for run in self.judged}
        pairs = [
            (mine[key], run)
            for run in other.judged
            if (key := (run.seed, run.scale, run.seconds)) in mine
        ]
        return bool(pairs) and all(one.metrics == its.metrics for one, its in pairs)

    def feasible(self, goal: Goal) -> bool:
        """Whether the goal's objectives were measured and its limits are kept."""
        metrics = self.metrics()
        return goal.is_measured(metrics) and goal.kept(metrics)


def candidates(trials: Iterable[Trial]) -> list[Candidate]:
    """The finished trials by settings, in the order in which the settings were first tried."""
    groups: dict[Key, list[Trial]] = {}
    for trial in trials:
        if trial.finished:
            groups.setdefault(trial.key, []).append(trial)
    return [
        Candidate(group[0].engine, group[0].settings, tuple(group)) for group in groups.values()
    ]


def ranked(found: Iterable[Candidate], goal: Goal) -> list[Candidate]:
    """Feasible candidates, the best first; then those that break a limit, the nearest to keeping
    them first. A limit whose metric was not measured is farther than any that was. What has not
    settled, or has not paid for its latencies, stands behind what has: it flatters by what it has
    still to pay.

    With several objectives the front comes first, so that its first few span it (`spread`), and
    the others follow by their distance from the ideal point.
    """
    known = [c for c in found if c.score(goal) is not None]
    if goal.others:
        return _ranked_by_front([c for c in known if goal.is_measured(c.metrics())], goal)
    return sorted(known, key=lambda one: standing(one, goal))


def standing(candidate: Candidate, goal: Goal) -> Standing:
    """What a candidate with a score is ranked by, the lowest first, where there is one
    objective."""
    metrics = candidate.metrics()
    return *_unlawfulness(candidate, metrics, goal), -signed(goal, metrics[goal.metric])


def stands(candidate: Candidate, goal: Goal) -> bool:
    """Whether what its runs showed of the goal can be gone on with."""
    return candidate.has_settled and candidate.pays(goal)


def _unlawfulness(
    candidate: Candidate, metrics: Mapping[str, float], goal: Goal
) -> tuple[int, float, bool]:
    """What stands before the objectives."""
    unmeasured = sum(limit.metric not in metrics for limit in goal.limits)
    return unmeasured, excess(goal, metrics), not stands(candidate, goal)


def _ranked_by_front(known: list[Candidate], goal: Goal) -> list[Candidate]:
    told = [(one, metrics, goal.point(metrics)) for one in known for metrics in [one.metrics()]]
    unlawful = {id(one): _unlawfulness(one, metrics, goal) for one, metrics, _ in told}
    least = min(unlawful.values(), default=None)
    best = [(one, point) for one, _, point in told if unlawful[id(one)] == least]
    if not best:
        return []
    front = [best[place] for place in non_dominated([point for _, point in best])]
    points = [point for _, point in front]
    first = [front[place][0] for place in spread(points)]
    scales = Scales.of(points)
    leading = {id(one) for one in first}
    others = [(one, point) for one, _, point in told if id(one) not in leading]
    others.sort(key=lambda pair: (unlawful[id(pair[0])], scales.from_ideal(pair[1])))
    return [*first, *(one for one, _ in others)]


def eligible(trials: Iterable[Trial], goal: Goal) -> list[Candidate]:
    """The feasible candidates that may win, the best first. Once some have settled and paid, one
    that has not cannot; nor, once some of these were repeated, one that was not."""
    return may_win([c for c in ranked(candidates(trials), goal) if c.feasible(goal)], goal)


def may_win(feasible: list[Candidate], goal: Goal) -> list[Candidate]:
    """Those of feasible candidates that `eligible` leaves, in their order."""
    settled = [candidate for candidate in feasible if stands(candidate, goal)] or feasible
    return [candidate for candidate in settled if candidate.repeats] or settled


def best(trials: Iterable[Trial], goal: Goal) -> Candidate | None:
    """The best feasible candidate that may win."""
    return first_of(eligible(trials, goal), goal)


def first_of(eligible: list[Candidate], goal: Goal) -> Candidate | None:
    """The best of the candidates that may win, which are in the order of their ranking."""
    # The front of those that may win is not the part of a larger one that is left.
    return next(iter(ranked(eligible, goal) if goal.others else eligible), None)


def noise_of(found: Iterable[Candidate], metric: str) -> Noise:
    """The noise of one metric, from all settings that were tried more than once."""
    return Noise.pooled(
        [trial.metrics[metric] for trial in candidate.longest if metric in trial.metrics]
        for candidate in found
    )


def signed(goal: Goal, score: float) -> float:
    """A score that is better when it is higher."""
    return score if goal.direction == "maximize" else -score


def violations(goal: Goal, metrics: Mapping[str, float]) -> dict[str, float]:
    """For each limit of the goal how far it is exceeded, relatively; an absent metric breaks its
    limit."""
    return {
        str(limit): limit.excess(metrics[limit.metric]) if limit.metric in metrics else 1.0
        for limit in goal.limits
    }


def excess(goal: Goal, metrics: Mapping[str, float]) -> float:
    """By how much all broken limits together are exceeded."""
    return sum(max(0.0, violation) for violation in violations(goal, metrics).values())


def loss(goal: Goal, before: float, after: float) -> float:
    """How much of a score a change loses, relatively; below 0 it gains. What was 0 before changes
    by all of what it is after."""
    reference = abs(before) or abs(after)
    return (signed(goal, before) - signed(goal, after)) / reference if reference else 0.0
