"""Points of several objectives, in which higher is better: which of them no other beats, how near
they are to the best of each, and which few stand for all.

Distances are Euclidean, on scales that go from the worst to the best of the front in each
objective, so that units do not matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Point = tuple[float, ...]


def covers(one: Point, other: Point) -> bool:
    """Whether one is at least as good in every objective."""
    return all(mine >= its for mine, its in zip(one, other, strict=True))


def non_dominated(points: Sequence[Point]) -> list[int]:
    """The places of the points that none of the others covers, the best in the first objective
    first; of equal points the first."""
    kept: list[int] = []
    # In this order no point is covered by a later one.
    for place in sorted(range(len(points)), key=lambda i: points[i], reverse=True):
        if not any(covers(points[other], points[place]) for other in kept):
            kept.append(place)
    return kept


@dataclass(frozen=True)
class Scales:
    """Of a front."""

    ideal: Point
    """The best of each objective, which no single point need reach."""
    spans: Point

    @classmethod
    def of(cls, front: Sequence[Point]) -> Scales:
        """Of at least one point. An objective in which all are equal keeps its own unit."""
        axes = list(zip(*front, strict=True))
        ideal = tuple(max(axis) for axis in axes)
        spans = tuple(max(axis) - min(axis) or abs(max(axis)) or 1.0 for axis in axes)
        return cls(ideal, spans)

    def between(self, one: Point, other: Point) -> float:
        """The distance of two points."""
        parts = zip(one, other, self.spans, strict=True)
        return math.hypot(*((mine - its) / span for mine, its, span in parts))

    def from_ideal(self, point: Point) -> float:
        """The distance of a point from the best of each objective."""
        return self.between(self.ideal, point)

    def loss(self, point: Point) -> float:
        """What a point gives away of the best of each objective, relatively, summed up."""
        pairs = zip(self.ideal, point, strict=True)
        return sum((best - own) / (max(abs(best), abs(own)) or 1.0) for best, own in pairs)


def nearest(points: Sequence[Point]) -> int:
    """The place of the point of a front that is nearest to the ideal one; where several are as
    near, as two always are that are alone, of the one that gives away least."""
    scales = Scales.of(points)

    def far(place: int) -> tuple[float, float]:
        return round(scales.from_ideal(points[place]), 9), scales.loss(points[place])

    return min(range(len(points)), key=far)


def spread(points: Sequence[Point]) -> list[int]:
    """The places of all points of a front: the nearest to the ideal point first, then the one that
    is farthest from those before it, and so on, so that the first few span the front."""
    if not points:
        return []
    scales = Scales.of(points)
    left = list(range(len(points)))
    order = [nearest(points)]
    left.remove(order[0])
    while left:
        away = {i: min(scales.between(points[i], points[k]) for k in order) for i in left}
        order.append(max(left, key=lambda i: away[i]))
        left.remove(order[-1])
    return order
