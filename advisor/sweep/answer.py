"""What a sweep found: each engine at each place, and where the better engine changes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from advisor.goal import Goal
from advisor.knobs import Engine, Settings
from advisor.noise import Noise, Spread
from advisor.sweep.asked import Asked, Place
from advisor.sweep.crossover import Crossover, crossovers, gain
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

    @property
    def noise(self) -> Noise:
        """Of the goal's metric, from all points."""
        metric = self.goal.metric
        return Noise.pooled(
            [trial.metrics[metric] for trial in point.trials if metric in trial.metrics]
            for point in self.points
        )

    @property
    def bound(self) -> float:
        """How far noise may have moved the ratio of two medians, as a logarithm."""
        return math.log1p(self.noise.bound(self.asked.runs, self.asked.runs))

    def at(self, place: Place, engine: Engine) -> Point | None:
        """The point of an engine at a place."""
        return self._by_place.get((place, engine))

    @cached_property
    def _by_place(self) -> dict[tuple[Place, Engine], Point]:
        return {(point.place, point.engine): point for point in self.points}

    def crossovers(self) -> list[Crossover]:
        """Where the better engine changes, in a map line by line; none for a sweep of one
        engine."""
        if len(self.asked.engines) != 2:
            return []
        bound = self.bound
        return [
            replace(one, across=line)
            for line in self.asked.lines
            for one in self._crossovers(line, bound)
        ]

    def _crossovers(self, line: float | None, bound: float) -> list[Crossover]:
        one, other = self.asked.engines
        compared = []
        for value in self.asked.axis.values:
            better = self.gain(Place(value, line))
            if better is not None:
                compared.append((value, better))
        return crossovers([v for v, _ in compared], [g for _, g in compared], bound, (one, other))

    def gain(self, place: Place) -> float | None:
        """The logarithm of how much better the first of two engines is at a place than the other;
        None unless both were measured there."""
        scores = [self.score(place, engine) for engine in self.asked.engines]
        if len(scores) != 2 or not scores[0] or not scores[1]:
            return None
        return gain(scores[0], scores[1], maximize=self.goal.direction == "maximize")

    def score(self, place: Place, engine: Engine) -> float | None:
        """The median of the goal's metric of an engine at a place."""
        point = self.at(place, engine)
        spread = point.spread(self.goal.metric) if point else None
        return None if spread is None else spread.median
