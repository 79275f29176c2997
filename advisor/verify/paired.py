"""Whether two settings differ, from runs that were made in pairs: the same keys, one after the
other, so that what the machine did meanwhile touches both.

Who looks after every round and stops when a difference shows finds one in a sixth of the cases
where there is none. So there are four looks, and each interval leaves out a quarter of 5%: all
together err in at most 5%.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from advisor.trial import Trial

LOOKS = (3, 6, 12, 24)
"""Pairs after which a verdict may end a verification."""

# Two-sided 98.75% quantiles of Student's t for 1, 2, 3, ... degrees of freedom.
_T = (
    50.92, 8.86, 5.39, 4.31, 3.81, 3.52, 3.34, 3.21, 3.11, 3.04, 2.98, 2.93,
    2.90, 2.86, 2.84, 2.81, 2.79, 2.77, 2.76, 2.74, 2.73, 2.72, 2.71,
)  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """How many times a metric is what it was, over pairs of runs."""

    ratio: float
    """Geometric mean."""
    low: float
    high: float
    """Interval of 98.75% confidence (Student's t of logarithms); 0 and infinity for one pair."""
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
        quantile = _T[min(len(logs) - 1, len(_T)) - 1]
        half = quantile * statistics.stdev(logs) / math.sqrt(len(logs))
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


def differences(before: Sequence[Trial], after: Sequence[Trial]) -> dict[str, Difference]:
    """By metric, over the pairs of runs that share a seed."""
    firsts = {trial.seed: trial for trial in before}
    pairs = [(firsts[trial.seed], trial) for trial in after if trial.seed in firsts]
    metrics = {name for pair in pairs for trial in pair for name in trial.metrics}
    found = {
        metric: Difference.of(
            [one.metrics.get(metric, 0.0) for one, _ in pairs],
            [other.metrics.get(metric, 0.0) for _, other in pairs],
        )
        for metric in metrics
    }
    return {metric: one for metric, one in found.items() if one is not None}
