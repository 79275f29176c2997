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
from functools import cache

ASSUMED_RELATIVE_SD = 0.05
"""Taken when nothing was repeated: neighbouring wall-clock runs of two seconds differ by some
percent."""
SMALLEST_RELATIVE_SD = 0.005
"""Repetitions that agree by luck do not make a machine exact."""

MANY_DEGREES = 60
"""Degrees of freedom of an assumed noise: Student's t is the normal distribution by then."""

LEVEL = 0.05
"""Of an error where one difference is told from noise."""

# Standard error of the median of 1, 2, 3, ... normal values, over that of their mean (the integral
# over their order statistics); it grows to the square root of pi / 2.
_OF_MEDIAN = (1.0, 1.0, 1.160, 1.092, 1.198, 1.135, 1.214, 1.160, 1.223, 1.176, 1.228, 1.188)


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

    def bound(self, runs: int, other_runs: int, level: float = LEVEL) -> float:
        """Relative difference of two medians over so many runs that noise alone explains, but for
        one case in `1 / level`."""
        spread = math.hypot(_error_of_median(runs), _error_of_median(other_runs))
        return self._bound(level) * spread

    def bound_of_means(self, runs: int, other_runs: int, level: float = LEVEL) -> float:
        """The same of two means."""
        return self._bound(level) * math.sqrt(1.0 / runs + 1.0 / other_runs)

    def error(self, runs: int, other_runs: int) -> float:
        """Standard error of the relative difference of two means over so many runs."""
        return self.relative_sd * math.sqrt(1.0 / runs + 1.0 / other_runs)

    def chance(self, difference: float, runs: int, other_runs: int) -> float:
        """Probability that noise alone makes a relative difference of two means over so many runs
        as large as this one, or larger: one-sided, so above a half for a difference below 0."""
        return self._tail(difference, runs, other_runs)

    def chance_of_looks(self, difference: float, runs: int, other_runs: int, looks: int) -> float:
        """The same where whoever looked after each run, up to so many of both, would have stopped
        for as much as these runs add up to: the largest of sums of symmetric terms is beyond a
        bound at most twice as often as the last of them (Levy's inequality), which makes an early
        look the dearer one, as O'Brien and Fleming's bounds do (Biometrics 35, 1979)."""
        share = min(1.0, runs / looks, other_runs / looks)
        return min(1.0, 2.0 * self._tail(difference * math.sqrt(share), runs, other_runs))

    def _bound(self, level: float) -> float:
        return min(
            one.relative_sd * student_quantile(level / 2.0, one.degrees or MANY_DEGREES)
            for one in self._known()
        )

    def _tail(self, difference: float, runs: int, other_runs: int) -> float:
        tails = [
            student_tail(difference / one.error(runs, other_runs), one.degrees or MANY_DEGREES)
            for one in self._known()
        ]
        return min(tails) if difference > 0.0 else max(tails)

    def _known(self) -> tuple[Noise, ...]:
        """What either may be gone by. A few repetitions that spread less than is assumed of any
        machine shall not say that noise explains more than it would if there were none."""
        assumed = Noise(ASSUMED_RELATIVE_SD, 0)
        return (self, assumed) if self.relative_sd <= assumed.relative_sd else (self,)

    def with_more(self, degrees: int) -> Noise:
        """The same noise as more repetitions would know it."""
        return Noise(self.relative_sd, (self.degrees or MANY_DEGREES) + degrees)


def _error_of_median(runs: int) -> float:
    """Standard error of the median of so many values whose own is 1."""
    exact = runs <= len(_OF_MEDIAN)
    return (_OF_MEDIAN[runs - 1] if exact else math.sqrt(math.pi / 2)) / math.sqrt(runs)


@cache
def student_quantile(tail: float, degrees: int) -> float:
    """What Student's t exceeds with this probability, which is below a half."""
    low, high = 0.0, 1.0
    while student_tail(high, degrees) > tail:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = (low + high) / 2.0
        if student_tail(middle, degrees) > tail:
            low = middle
        else:
            high = middle
    return high


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
