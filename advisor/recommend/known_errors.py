"""How far predicted ratios were off where real engines were asked about them: what a prediction of
the next ratio has to allow for."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from advisor.knobs import Engine

LEAST_LIKE = 12
"""Ratios of a like size that tell how far one is usually off."""
LIKE_PART = 3
"""One part in so many of the known ratios is of a like size: near 1 they are nearer than far from
it."""


class Asked(NamedTuple):
    """The ratio of a metric between two settings, both above 0."""

    predicted: float
    real: float


@dataclass(frozen=True)
class Misses:
    """Ratios that were asked about, of one metric."""

    asked: Sequence[Asked] = ()

    def factor(self, ratio: float) -> float | None:
        """By which factor, of at least 1, ratios like this one are usually off: the median over
        those whose size as predicted is nearest. None where too few are known."""
        count = max(LEAST_LIKE, len(self.asked) // LIKE_PART)
        if len(self.asked) < count:
            return None
        size = abs(math.log(ratio))
        like = sorted(self.asked, key=lambda one: abs(abs(math.log(one.predicted)) - size))
        misses = [abs(math.log(one.predicted / one.real)) for one in like[:count]]
        return math.exp(statistics.median(misses))


@dataclass(frozen=True)
class KnownErrors:
    """Of a goal's metric, between settings of one engine and between engines. Nothing is known of
    what is absent."""

    within: Mapping[Engine, Misses] = field(default_factory=dict)
    between: Misses = field(default_factory=Misses)

    def of(self, one: Engine, other: Engine) -> Misses:
        """Of ratios between settings of these engines."""
        return self.within.get(one, Misses()) if one == other else self.between


NOTHING_KNOWN = KnownErrors()
