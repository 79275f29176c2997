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

MANY_DEGREES = 60
"""Degrees of freedom of an assumed noise: Student's t is the normal distribution by then."""

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
        return self._t() * self.error(runs, other_runs)

    def error(self, runs: int, other_runs: int) -> float:
        """Standard error of the relative difference of two means over so many runs."""
        return self.relative_sd * math.sqrt(1.0 / runs + 1.0 / other_runs)

    def chance(self, difference: float, runs: int, other_runs: int) -> float:
        """Probability that noise alone makes a relative difference of two means over so many runs
        as large as this one, or larger: one-sided, so above a half for a difference below 0."""
        t = difference / self.error(runs, other_runs)
        return student_tail(t, self.degrees or MANY_DEGREES)

    def with_more(self, degrees: int) -> Noise:
        """The same noise as more repetitions would know it."""
        return Noise(self.relative_sd, (self.degrees or MANY_DEGREES) + degrees)

    def _t(self) -> float:
        if self.degrees == 0 or self.degrees > len(_T95):
            return _T95_MANY
        return _T95[self.degrees - 1]


def student_tail(t: float, degrees: int) -> float:
    """Probability that Student's t is larger than `t` (Abramowitz and Stegun, 26.7.3 and 26.7.4).

    `degrees` is a whole number, at least 1.
    """
    angle = math.atan2(abs(t), math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    if degrees % 2:
        term = cosine if degrees > 1 else 0.0
        first, scale = angle, 2.0 / math.pi
    else:
        term, first, scale = 1.0, 0.0, 1.0
    total = term
    for k in range(2 + degrees % 2, degrees - 1, 2):
        term *= (k - 1) / k * cosine * cosine
        total += term
    inside = scale * (first + sine * total)
    tail = max(0.0, 1.0 - inside) / 2.0
    return tail if t >= 0 else 1.0 - tail
