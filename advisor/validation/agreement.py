"""What a table says: how well predictions order settings, how far they are off, and whose winner is
the wrong one."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from advisor.goal import METRICS
from advisor.noise import Noise
from advisor.validation.cases import SUITES
from advisor.validation.dataset import Row

LEAST_DIFFERENCE = 0.10
"""A winner by less than this, or by less than the noise, is none."""


_DECIDING = list(
    dict.fromkeys((case.name, case.metric) for suite in SUITES.values() for case in suite.cases)
)
"""Each case with the metric that decides it."""


@dataclass(frozen=True)
class Agreement:
    """Predicted against real, of one metric in one case."""

    case: str
    metric: str
    configurations: int
    spearman: float | None
    """Correlation of ranks; None for fewer than three, or where nothing differs."""
    median_ratio: float
    """Predicted over real."""
    worst_ratio: float
    """The farthest from 1, in either direction."""


class Sides(NamedTuple):
    """One configuration, predicted and real: geometric means over its runs."""

    configuration: str
    predicted: float
    real: float


@dataclass(frozen=True)
class Winner:
    """The settings that are best by prediction beside those that are."""

    case: str
    metric: str
    predicted: Sides
    real: Sides
    loss: float
    """How much worse, relatively, the predicted winner is on the real engine than the real one."""
    noise: float
    """What two runs may differ by, by the repeated configuration."""

    @property
    def is_wrong(self) -> bool:
        """Whether the loss is one."""
        return self.loss > max(LEAST_DIFFERENCE, self.noise)

    @property
    def verdict(self) -> str:
        """In words."""
        if self.is_wrong:
            return "wrong winner"
        if self.loss > LEAST_DIFFERENCE:
            return "not told from the noise"
        return "right" if self.loss == 0 else "right within 10%"


class _Name(NamedTuple):
    """A configuration and what it did: the same names may stand for other settings, and for other
    work, in an older table."""

    configuration: str
    settings: str
    work: str


_Values = dict[str, dict[_Name, float]]


def agreement(rows: Iterable[Row]) -> list[Agreement]:
    """Every metric of every case that has both sides."""
    found = []
    for (case, metric), pairs in sorted(sides(rows).items()):
        if pairs:
            ratios = [pair.predicted / pair.real for pair in pairs]
            ranks = spearman([pair.predicted for pair in pairs], [pair.real for pair in pairs])
            worst = max(ratios, key=lambda ratio: abs(math.log(ratio)))
            median = statistics.median(ratios)
            found.append(Agreement(case, metric, len(pairs), ranks, median, worst))
    return found


def wrong_winners(rows: Iterable[Row]) -> list[Winner]:
    """The winner of every case by the metric that decides it, those that lose most first."""
    return _winners(list(rows), _DECIDING)


def failures(rows: Iterable[Row]) -> list[Winner]:
    """The wrong winners of all cases by all metrics, those that lose most first."""
    rows = list(rows)
    cells = dict.fromkeys((row.case, row.metric) for row in rows)
    return [one for one in _winners(rows, cells) if one.is_wrong]


def _winners(rows: Sequence[Row], cells: Iterable[tuple[str, str]]) -> list[Winner]:
    """Of each case by a metric, those that lose most first."""
    known = sides(rows)
    found = []
    for case, metric in cells:
        pairs = known.get((case, metric), [])
        if len(pairs) < 2:
            continue
        sign = 1 if METRICS[metric].direction == "maximize" else -1
        predicted = max(pairs, key=lambda pair: sign * pair.predicted)
        real = max(pairs, key=lambda pair: sign * pair.real)
        loss = sign * (real.real - predicted.real) / real.real
        found.append(Winner(case, metric, predicted, real, loss, _noise(rows, case, metric)))
    return sorted(found, key=lambda one: -one.loss)


def spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's correlation, ties at their mean rank."""
    if len(one) < 3 or len(set(one)) < 2 or len(set(other)) < 2:
        return None
    return statistics.correlation(_ranks(one), _ranks(other))


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(values)
    first = {value: place for place, value in reversed(list(enumerate(order)))}
    return [first[value] + (order.count(value) - 1) / 2 for value in values]


def sides(rows: Iterable[Row]) -> dict[tuple[str, str], list[Sides]]:
    """By case and metric: the configurations that have both sides, as they come in the table."""
    return {cell: _pairs(values) for cell, values in _by_metric(rows).items()}


def _by_metric(rows: Iterable[Row]) -> dict[tuple[str, str], _Values]:
    """Geometric means over repeats, by case and metric, then by source and configuration."""
    logs: dict[tuple[str, str], dict[tuple[str, _Name], list[float]]] = defaultdict(dict)
    for row in rows:
        if row.value > 0:
            where = logs[row.case, row.metric]
            name = _Name(row.configuration, row.settings, row.work)
            where.setdefault((row.source, name), []).append(math.log(row.value))
    found: dict[tuple[str, str], _Values] = {}
    for key, where in logs.items():
        values: _Values = {"real": {}, "predicted": {}}
        for (source, name), several in where.items():
            values[source][name] = math.exp(statistics.fmean(several))
        found[key] = values
    return found


def _pairs(values: _Values) -> list[Sides]:
    predicted, real = values.get("predicted", {}), values.get("real", {})
    return [
        Sides(name.configuration, predicted[name], real[name]) for name in predicted if name in real
    ]


def _noise(rows: Iterable[Row], case: str, metric: str) -> float:
    groups: dict[_Name, list[float]] = defaultdict(list)
    for row in rows:
        if (row.case, row.metric, row.source) == (case, metric, "real"):
            groups[_Name(row.configuration, row.settings, row.work)].append(row.value)
    return Noise.pooled(groups.values()).bound(1, 1)
