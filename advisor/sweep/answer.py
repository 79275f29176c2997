"""What a sweep found: each engine at each place, and where the better engine changes."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from functools import cached_property

from advisor.goal import Goal, Limit
from advisor.knobs import Engine, Settings
from advisor.noise import Noise, Spread
from advisor.sweep.asked import Asked, Place
from advisor.sweep.crossover import Crossover, Step, crossovers, gain
from advisor.trial import Trial


@dataclass(frozen=True)
class Point:
    """One engine at one place."""

    value: float
    engine: Engine
    settings: Settings
    trials: tuple[Trial, ...]
    """Finished ones; none where no settings fit the memory, or all runs failed."""
    error: str = ""
    across: float | None = None
    """On the second axis of a map."""

    @property
    def place(self) -> Place:
        return Place(self.value, self.across)

    def spread(self, metric: str) -> Spread | None:
        """Median and extremes of a metric."""
        values = [trial.metrics[metric] for trial in self.trials if metric in trial.metrics]
        return Spread.of(values) if values else None

    def metrics(self) -> dict[str, float]:
        """The median of every metric that all its runs measured."""
        if not self.trials:
            return {}
        names = set.intersection(*(set(trial.metrics) for trial in self.trials))
        return {
            name: statistics.median(trial.metrics[name] for trial in self.trials)
            for name in sorted(names)
        }

    def broken(self, goal: Goal) -> tuple[Limit, ...]:
        """The bounds of a goal that its medians do not keep; none where nothing ran."""
        return goal.broken(self.metrics()) if self.trials else ()

    def remark(self, goal: Goal) -> str:
        """Why runs of it failed, and which bounds the others break: `breaks p99_us <= 5000`."""
        return "; ".join(part for part in (self.error, self.breaks(goal)) if part)

    def breaks(self, goal: Goal) -> str:
        """Which bounds its medians break: `breaks p99_us <= 5000`; empty for none."""
        limits = self.broken(goal)
        return f"breaks {', '.join(map(str, limits))}" if limits else ""


@dataclass(frozen=True)
class Sweep:
    """The answer."""

    asked: Asked
    points: tuple[Point, ...]
    is_whole: bool
    """Whether every place was visited."""

    @property
    def goal(self) -> Goal:
        return self.asked.profile.goal

    @cached_property
    def noise(self) -> Noise:
        """Of the goal's metric, from all points."""
        metric = self.goal.metric
        return Noise.pooled(
            [trial.metrics[metric] for trial in point.trials if metric in trial.metrics]
            for point in self.points
        )

    def bound(self, place: Place) -> float | None:
        """How far noise may have moved the ratio of both engines at a place, as a logarithm, by how
        often they ran there; None unless both did."""
        points = [self.at(place, engine) for engine in self.asked.engines]
        runs = [len(point.trials) for point in points if point is not None and point.trials]
        return math.log1p(self.noise.bound(*runs)) if len(runs) == 2 else None

    def at(self, place: Place, engine: Engine) -> Point | None:
        """The point of an engine at a place."""
        return self._by_place.get((place, engine))

    @cached_property
    def _by_place(self) -> dict[tuple[Place, Engine], Point]:
        return {(point.place, point.engine): point for point in self.points}

    def crossovers(self) -> list[Crossover]:
        """Where the better engine changes, in a map line by line; none for a sweep of one engine,
        and along settings that have no order."""
        if len(self.asked.engines) != 2 or self.asked.axis.choices:
            return []
        return [
            replace(one, across=line) for line in self.asked.lines for one in self._crossovers(line)
        ]

    def _crossovers(self, line: float | None) -> list[Crossover]:
        one, other = self.asked.engines
        compared = []
        for value in self.asked.axis.values:
            better, bound = self.gain(Place(value, line)), self.bound(Place(value, line))
            if better is not None and bound is not None:
                compared.append(Step(value, better, bound))
        return crossovers(compared, (one, other))

    def gain(self, place: Place) -> float | None:
        """The logarithm of how much better the first of two engines is at a place than the other;
        None unless both have a score there."""
        scores = [self.score(place, engine) for engine in self.asked.engines]
        if len(scores) != 2 or not scores[0] or not scores[1]:
            return None
        return gain(scores[0], scores[1], maximize=self.goal.direction == "maximize")

    def score(self, place: Place, engine: Engine) -> float | None:
        """The median of the goal's metric of an engine at a place; None where its medians break a
        bound of the goal."""
        point = self.at(place, engine)
        if point is None or point.broken(self.goal):
            return None
        spread = point.spread(self.goal.metric)
        return None if spread is None else spread.median
