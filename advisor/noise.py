"""How far two measurements must lie apart before their difference means anything.

Runs of the same settings are repetitions. Their relative spread, pooled over all settings that were
repeated, is the noise of the machine; a difference counts when it exceeds what that noise explains
with 95% confidence (Student's t).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

ASSUMED_RELATIVE_SD = 0.05
"""Taken when nothing was repeated: neighbouring wall-clock runs of two seconds differ by some
percent."""
SMALLEST_RELATIVE_SD = 0.005
"""Repetitions that agree by luck do not make a machine exact."""

# Two-sided 95% quantiles of Student's t for 1, 2, 3, … degrees of freedom.
_T95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)
_T95_MANY = 2.0


@dataclass(frozen=True)
class Spread:
    """One metric over repetitions of the same settings."""

    median: float
    low: float
    high: float
    repetitions: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The spread of at least one value."""
        return cls(statistics.median(values), min(values), max(values), len(values))


@dataclass(frozen=True)
class Noise:
    """Relative standard deviation of one run, and the degrees of freedom behind it (0: assumed)."""

    relative_sd: float
    degrees: int

    @classmethod
    def pooled(cls, groups: Iterable[Sequence[float]]) -> Noise:
        """From repeated values, one group for each settings. Groups of one say nothing and are
        skipped."""
        squares, degrees = 0.0, 0
        for values in groups:
            mean = statistics.fmean(values) if values else 0.0
            if len(values) < 2 or mean == 0.0:
                continue
            squares += sum((value / mean - 1.0) ** 2 for value in values)
            degrees += len(values) - 1
        if degrees == 0:
            return cls(ASSUMED_RELATIVE_SD, 0)
        return cls(max(math.sqrt(squares / degrees), SMALLEST_RELATIVE_SD), degrees)

    def bound(self, runs: int, other_runs: int) -> float:
        """Relative difference of two medians over so many runs that noise alone explains."""
        return self._t() * self.relative_sd * math.sqrt(1.0 / runs + 1.0 / other_runs)

    def _t(self) -> float:
        if self.degrees == 0 or self.degrees > len(_T95):
            return _T95_MANY
        return _T95[self.degrees - 1]
