"""What a table says: how well predictions order settings, how far they are off, and whose winner is
the wrong one. Settings are compared on one machine; what several machines say is put together."""

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


_DECIDING = {(case.name, case.metric) for suite in SUITES.values() for case in suite.cases}
"""Each case with the metric that decides it."""


class Cell(NamedTuple):
    """What is comparable: one metric of one case on one machine."""

    case: str
    metric: str
    host: str


@dataclass(frozen=True)
class Agreement:
    """Predicted against real, of one metric in one case."""

    case: str
    metric: str
    configurations: int
    spearman: float | None
    """Correlation of ranks, by settings the mean of all machines'; None for fewer than three on
    each, or where nothing differs."""
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
    host: str
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
    by_metric: dict[tuple[str, str], list[list[Sides]]] = defaultdict(list)
    for cell, pairs in sorted(sides(rows).items()):
        if pairs:
            by_metric[cell.case, cell.metric].append(pairs)
    found = []
    for (case, metric), machines in by_metric.items():
        ratios = [pair.predicted / pair.real for pairs in machines for pair in pairs]
        worst = max(ratios, key=lambda ratio: abs(math.log(ratio)))
        median = statistics.median(ratios)
        found.append(Agreement(case, metric, len(ratios), _ranked(machines), median, worst))
    return found


def _ranked(machines: Iterable[Sequence[Sides]]) -> float | None:
    """The mean correlation of ranks of those machines that have one, by their settings."""
    told = []
    for pairs in machines:
        ranks = spearman([pair.predicted for pair in pairs], [pair.real for pair in pairs])
        if ranks is not None:
            told.append((ranks, len(pairs)))
    return sum(ranks * n for ranks, n in told) / sum(n for _, n in told) if told else None


def wrong_winners(rows: Iterable[Row]) -> list[Winner]:
    """The winner of every case by the metric that decides it, on the machine where it loses most;
    those that lose most first."""
    worst: dict[str, Winner] = {}
    for one in _winners([row for row in rows if (row.case, row.metric) in _DECIDING]):
        worst.setdefault(one.case, one)
    return list(worst.values())


def failures(rows: Iterable[Row]) -> list[Winner]:
    """The wrong winners of all cases by all metrics, those that lose most first."""
    return [one for one in _winners(list(rows)) if one.is_wrong]


def _winners(rows: Sequence[Row]) -> list[Winner]:
    """Of each cell, those that lose most first."""
    found = []
    noise = _noise(rows)
    for cell, pairs in sides(rows).items():
        if len(pairs) < 2:
            continue
        sign = 1 if METRICS[cell.metric].direction == "maximize" else -1
        predicted = max(pairs, key=lambda pair: sign * pair.predicted)
        real = max(pairs, key=lambda pair: sign * pair.real)
        loss = sign * (real.real - predicted.real) / real.real
        found.append(Winner(*cell, predicted, real, loss, noise[cell]))
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


def sides(rows: Iterable[Row]) -> dict[Cell, list[Sides]]:
    """By cell: the configurations that have both sides, as they come in the table."""
    return {cell: _pairs(values) for cell, values in _by_cell(rows).items()}


def _by_cell(rows: Iterable[Row]) -> dict[Cell, _Values]:
    """Geometric means over repeats, by cell, then by source and configuration."""
    logs: dict[Cell, dict[tuple[str, _Name], list[float]]] = defaultdict(dict)
    for row in rows:
        if row.value > 0:
            name = _Name(row.configuration, row.settings, row.work)
            where = logs[_cell(row)]
            where.setdefault((row.source, name), []).append(math.log(row.value))
    found: dict[Cell, _Values] = {}
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


def _noise(rows: Iterable[Row]) -> dict[Cell, float]:
    """What two real runs of the same settings may differ by."""
    groups: dict[Cell, dict[_Name, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.source == "real":
            name = _Name(row.configuration, row.settings, row.work)
            groups[_cell(row)][name].append(row.value)
    return {cell: Noise.pooled(values.values()).bound(1, 1) for cell, values in groups.items()}


def _cell(row: Row) -> Cell:
    return Cell(row.case, row.metric, row.host)
