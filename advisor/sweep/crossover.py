"""Where one engine overtakes the other along an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from advisor.knobs import Engine


@dataclass(frozen=True)
class Crossover:
    """The place at which the better engine changes."""

    value: float
    low: float
    """Between here and `high` noise may have moved it."""
    high: float
    before: Engine
    """Better below it."""
    after: Engine
    across: float | None = None
    """Where on the second axis of a map; absent on a single axis."""


class Step(NamedTuple):
    """A value of the axis at which both engines were measured."""

    value: float
    gain: float
    """Logarithm of how much better the first engine is; below 0 where the other one is."""
    bound: float
    """How far noise may have moved it."""


def crossovers(steps: Sequence[Step], engines: tuple[Engine, Engine]) -> list[Crossover]:
    """Where the gain changes its sign, between neighbours on a straight line.

    The interval ends where the same line, moved by the larger bound of the two, meets 0, but not
    beyond the axis.
    """
    found = []
    # Where both reach the same, neither is better: the sign is that of the neighbours.
    for left, right in pairwise(step for step in steps if step.gain != 0.0):
        if (left.gain > 0) == (right.gain > 0):
            continue
        slope = (right.gain - left.gain) / (right.value - left.value)
        value = left.value - left.gain / slope
        reach = max(left.bound, right.bound) / abs(slope)
        found.append(
            Crossover(
                value,
                max(steps[0].value, value - reach),
                min(steps[-1].value, value + reach),
                *(engines if left.gain > 0 else (engines[1], engines[0])),
            )
        )
    return found


def gain(one: float, other: float, *, maximize: bool) -> float:
    """The logarithm of how much better one score is than the other."""
    ratio = math.log(one / other)
    return ratio if maximize else -ratio
