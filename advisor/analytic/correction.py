"""What simulated trials say about the closed forms: by how much these are off, and how that depends
on what they predict.

The logarithm of simulated / predicted is fitted by ridge regression. Its terms are the logarithms
of a few predictions; how much they may say is decided by leaving each trial out in turn, and so is
the error that is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from advisor.analytic.columns import Numbers

TERMS = ("ops_per_s", "reads_per_op", "write_kb_per_op", "cpu_us_per_op")
"""Predictions whose logarithms a correction may follow, besides that of its own metric."""
PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
LEAST_TRIALS_OF_TERMS = 6
"""With fewer trials only the mean ratio is corrected."""
SMALLEST = 1e-6
"""Stands for 0 in a logarithm."""


@dataclass(frozen=True)
class Correction:
    """Of one metric."""

    metric: str
    terms: tuple[str, ...]
    mean: float
    """Of log(simulated / predicted)."""
    centers: Numbers
    scales: Numbers
    slopes: Numbers
    misses: Numbers
    """Of each trial, by a correction that was made without it: log(simulated / corrected)."""
    blind_misses: Numbers
    """Of each trial, by the mean of the others, without any prediction."""

    @classmethod
    def of(
        cls, metric: str, predicted: dict[str, Numbers], simulated: Sequence[float]
    ) -> Correction | None:
        """From the predictions of trials and what they gave; None with fewer than two."""
        if len(simulated) < 2 or metric not in predicted:
            return None
        told = _log(np.asarray(simulated, dtype=np.float64))
        ratios = told - _log(predicted[metric])
        n = len(ratios)
        mean = float(ratios.mean())
        blind = (told - told.mean()) * n / (n - 1)
        nothing = cls(
            metric,
            (),
            mean,
            np.zeros(0),
            np.zeros(0),
            np.zeros(0),
            (ratios - mean) * n / (n - 1),
            blind,
        )
        if n < LEAST_TRIALS_OF_TERMS:
            return nothing
        terms = tuple(dict.fromkeys((metric, *TERMS)))
        values = np.stack([_log(predicted[name]) for name in terms], axis=1)
        centers, scales = values.mean(axis=0), values.std(axis=0)
        scales = np.where(scales > 1e-9, scales, np.inf)
        matrix = (values - centers) / scales
        found = [nothing]
        for penalty in PENALTIES:
            inverse = np.linalg.inv(matrix.T @ matrix + penalty * np.eye(len(terms)))
            slopes = inverse @ matrix.T @ (ratios - mean)
            leverage = 1.0 / n + np.einsum("ij,jk,ik->i", matrix, inverse, matrix)
            misses = (ratios - mean - matrix @ slopes) / (1.0 - leverage).clip(1e-6)
            found.append(cls(metric, terms, mean, centers, scales, slopes, misses, blind))
        return min(found, key=lambda one: one.error)

    @property
    def error(self) -> float:
        """Root mean square of the misses: 0.1 is 10%."""
        return float(np.sqrt(np.mean(self.misses**2)))

    @property
    def median(self) -> float:
        """Half of the trials are missed by less than this part."""
        return float(np.median(np.expm1(np.abs(self.misses))))

    @property
    def worst(self) -> float:
        """The trial that is missed most, likewise."""
        return float(np.max(np.expm1(np.abs(self.misses))))

    @property
    def blind_error(self) -> float:
        """What knowing nothing of the settings would miss by."""
        return float(np.sqrt(np.mean(self.blind_misses**2)))

    def log(self, predicted: dict[str, Numbers]) -> Numbers:
        """Logarithms of the corrected metric."""
        own = _log(predicted[self.metric]) + self.mean
        for i, name in enumerate(self.terms):
            # Beyond twice what the trials spanned, nobody knows how a ratio goes on.
            distance = ((_log(predicted[name]) - self.centers[i]) / self.scales[i]).clip(-3.0, 3.0)
            own = own + self.slopes[i] * distance
        return own


def _log(values: Numbers) -> Numbers:
    return np.log(np.maximum(values, SMALLEST))
