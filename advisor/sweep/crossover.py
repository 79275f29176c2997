"""Where one engine overtakes the other along an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

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


def crossovers(
    values: Sequence[float], gains: Sequence[float], bound: float, engines: tuple[Engine, Engine]
) -> list[Crossover]:
    """Where the logarithm of a ratio of two engines changes its sign, between neighbours on a
    straight line. `gains` are those logarithms, above 0 where the first engine is better; `bound`
    is how far noise may have moved each of them.

    The interval ends where the same line, moved by the bound, meets 0, but not beyond the axis.
    """
    found = []
    # Where both reach the same, neither is better: the sign is that of the neighbours.
    steps = [(at, own) for at, own in zip(values, gains, strict=True) if own != 0.0]
    for (left, one), (right, other) in pairwise(steps):
        if (one > 0) == (other > 0):
            continue
        slope = (other - one) / (right - left)
        value = left - one / slope
        reach = bound / abs(slope)
        found.append(
            Crossover(
                value,
                max(values[0], value - reach),
                min(values[-1], value + reach),
                *(engines if one > 0 else (engines[1], engines[0])),
            )
        )
    return found


def gain(one: float, other: float, *, maximize: bool) -> float:
    """The logarithm of how much better one score is than the other."""
    ratio = math.log(one / other)
    return ratio if maximize else -ratio
