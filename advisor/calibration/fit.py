"""What a unit of each kind of CPU work costs, from runs that say how much of each they did and how
long it took.

The costs are fitted to all runs at once. A few dozen runs cannot tell every kind apart: kinds that
always come together, such as a call and its first comparison, share their cost in any way that adds
up. So each cost is drawn towards what the core assumes by default, in proportion and not in
nanoseconds, which also keeps it above zero. How much the runs narrowed a cost down is part of the
answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

RUN_SPREAD = 0.05
"""Assumption: a short run repeats to 5%."""
PRIOR_SPREAD = log(3)
"""Assumption: a default is right within a factor of three."""
PRIOR_NS: Mapping[str, float] = {
    "memory_miss": 30.0,
    "tree_transaction": 500.0,
    "tree_change": 250.0,
}
"""Assumption: where the core assumes nothing, because the processor that its defaults come from did
not show it and another one may, or because the calls of a product hold it."""
DETERMINED = 0.5
"""A cost is determined where the runs leave at most this part of what the prior leaves open."""
FAR_OFF = 1.5
"""A run that the costs miss by more than this factor did work that no kind counts."""
STEPS = 100
CONVERGED = 1e-9


@dataclass(frozen=True)
class Observation:
    """One run: its name, what it did, and the CPU time that it took."""

    name: str
    work: Mapping[str, float]
    cpu_ns: float


@dataclass(frozen=True)
class Fit:
    """Costs of a unit of each kind, in nanoseconds."""

    work_ns: Mapping[str, float]
    """Only kinds that the runs did."""
    open_ratio: Mapping[str, float]
    """What the runs left open of each cost: 1 where they say nothing, 0 where they say it all."""
    ratios: Mapping[str, float]
    """By run: the CPU time by these costs, over the time it took."""

    @property
    def determined(self) -> dict[str, float]:
        """The costs that the runs determined."""
        return {
            name: cost for name, cost in self.work_ns.items() if self.open_ratio[name] <= DETERMINED
        }

    @property
    def worst(self) -> tuple[str, float]:
        """The run that the costs miss most: its CPU time by them, over measured."""
        return max(self.ratios.items(), key=lambda item: abs(item[1] - 1))

    @property
    def far_off(self) -> dict[str, float]:
        """The runs that the costs miss by more than `FAR_OFF`, and by how much: by them, over
        measured."""
        return {
            name: ratio for name, ratio in self.ratios.items() if max(ratio, 1 / ratio) > FAR_OFF
        }

    @property
    def misses(self) -> list[float]:
        """By how much of the measured the costs miss each run, the best first."""
        return sorted(abs(ratio - 1) for ratio in self.ratios.values())


def fit(observations: Sequence[Observation], default_ns: Mapping[str, float]) -> Fit:
    """The costs that are most likely given the runs and the defaults."""
    import numpy as np

    default_ns = {**default_ns, **PRIOR_NS}
    kinds = sorted({name for one in observations for name, units in one.work.items() if units > 0})
    kinds = [name for name in kinds if default_ns[name] > 0]
    # Rows are runs, columns kinds: the share of a run's time that a kind takes at its default.
    shares = np.array(
        [
            [one.work.get(name, 0) * default_ns[name] / one.cpu_ns for name in kinds]
            for one in observations
        ]
    )
    logs, hessian = _most_likely(shares)
    left_open = np.sqrt(np.diag(np.linalg.inv(hessian))) / PRIOR_SPREAD
    work_ns = {
        name: float(default_ns[name] * factor)
        for name, factor in zip(kinds, np.exp(logs), strict=True)
    }
    predicted = shares @ np.exp(logs)
    return Fit(
        work_ns=work_ns,
        open_ratio={name: float(part) for name, part in zip(kinds, left_open, strict=True)},
        ratios={one.name: float(ratio) for one, ratio in zip(observations, predicted, strict=True)},
    )


def _most_likely(shares: Matrix) -> tuple[Matrix, Matrix]:
    """Logarithms of the factors over the defaults, and the curvature there: Gauss-Newton steps on

        sum over runs ((shares @ exp(logs) - 1) / RUN_SPREAD)^2 + sum (logs / PRIOR_SPREAD)^2,

    each shortened until it leads downhill."""
    import numpy as np

    def loss(logs: Matrix) -> float:
        misses = (shares @ np.exp(logs) - 1) / RUN_SPREAD
        return float(misses @ misses + logs @ logs / PRIOR_SPREAD**2)

    prior = np.eye(shares.shape[1]) / PRIOR_SPREAD**2
    logs = np.zeros(shares.shape[1])
    for _ in range(STEPS):
        slopes = shares * np.exp(logs) / RUN_SPREAD
        misses = (shares @ np.exp(logs) - 1) / RUN_SPREAD
        hessian = slopes.T @ slopes + prior
        step = -np.linalg.solve(hessian, slopes.T @ misses + prior @ logs)
        now, length = loss(logs), 1.0
        while loss(logs + length * step) > now and length > CONVERGED:
            length /= 2
        logs = logs + length * step
        if float(np.abs(length * step).max()) < CONVERGED:
            break
    slopes = shares * np.exp(logs) / RUN_SPREAD
    return logs, slopes.T @ slopes + prior
