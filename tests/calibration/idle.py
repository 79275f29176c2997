"""Which knobs change nothing: `python -m tests.calibration.idle`.

For each knob that varies in the recorded tables, how much more of a metric's variance is told with
it than by all others, over what is left unexplained: the F statistic of a linear model of the
metric's logarithm. Its largest of all tables and metrics is printed, the most idle knob first. By
chance alone the largest of eighteen is above 9 for one knob in twenty, with one degree of freedom.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from advisor.knobs import ENGINES, Setting, catalogue
from advisor.trial import Trial
from tests.support.recorded import METRICS, WORKLOADS, recorded

Array = NDArray[np.float64]
FEW = 6
"""Values of a knob that are told apart one by one; more have a line and a curve."""


def main() -> None:
    for engine in ENGINES:
        largest: dict[str, tuple[float, str, str]] = {}
        for workload in WORKLOADS:
            for metric in METRICS:
                rows = [one for one in recorded(workload, engine) if one.metrics.get(metric)]
                for name, value in statistics_of(rows, metric).items():
                    known = largest.get(name, (0.0, "", ""))
                    largest[name] = max(known, (value, workload, metric))
        print(engine)
        for name, (value, workload, metric) in sorted(largest.items(), key=lambda one: one[1][0]):
            print(f"  {name:45} F {value:8.1f} in {metric} of {workload}")


def statistics_of(rows: list[Trial], metric: str) -> dict[str, float]:
    """The F statistic of each knob that varies."""
    target = np.log([one.metrics[metric] for one in rows])
    groups = {
        name: _columns([one.settings[name] for one in rows])
        for name in catalogue(rows[0].engine)
        if len({one.settings[name] for one in rows}) > 1
    }
    whole, rank = _left(groups, target)
    found = {}
    for name in groups:
        less, lower = _left({key: own for key, own in groups.items() if key != name}, target)
        if lower < rank:
            found[name] = (less - whole) / (rank - lower) / (whole / (len(rows) - rank))
    return found


def _columns(values: list[Setting]) -> Array:
    levels = sorted(set(values), key=str)
    if len(levels) > FEW and all(isinstance(one, int | float) for one in levels):
        line: Any = np.log1p(np.array(values, dtype=np.float64))
        line = (line - line.mean()) / line.std()
        return np.stack([line, line**2], axis=1)
    return np.stack([[float(one == level) for one in values] for level in levels[1:]], axis=1)


def _left(groups: dict[str, Array], target: Array) -> tuple[float, int]:
    """The sum of squares that a linear model leaves, and its rank."""
    matrix = np.concatenate([np.ones((len(target), 1)), *groups.values()], axis=1)
    solution, _, rank, _ = np.linalg.lstsq(matrix, target, rcond=None)
    return float(((target - matrix @ solution) ** 2).sum()), int(rank)


if __name__ == "__main__":
    main()
