"""Whether two settings differ, from runs that were made in pairs: the same keys, one after the
other, so that what the machine did meanwhile touches both."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from advisor.noise import t95


@dataclass(frozen=True)
class Difference:
    """How many times a metric is what it was, over pairs of runs."""

    ratio: float
    """Geometric mean."""
    low: float
    high: float
    """Interval of 95% confidence (Student's t of the logarithms); 0 and infinity for one pair."""
    pairs: int

    @classmethod
    def of(cls, before: Sequence[float], after: Sequence[float]) -> Difference | None:
        """Of values that were measured in pairs; `None` without a pair of positive ones."""
        logs = [math.log(b / a) for a, b in zip(before, after, strict=True) if a > 0 and b > 0]
        if not logs:
            return None
        mean = statistics.fmean(logs)
        if len(logs) == 1:
            return cls(math.exp(mean), 0.0, math.inf, 1)
        half = t95(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
        return cls(math.exp(mean), math.exp(mean - half), math.exp(mean + half), len(logs))

    @property
    def is_detectable(self) -> bool:
        """Whether the interval leaves 1 out."""
        return not self.low <= 1.0 <= self.high

    def is_settled(self, indifferent: float) -> bool:
        """Whether more pairs would not change the verdict: a difference is there, or none larger
        than `indifferent`, relatively, can be."""
        narrow = self.low > 1.0 - indifferent and self.high < 1.0 + indifferent
        return self.is_detectable or narrow
