"""One product beside the other on the same work with the same memory: by how much MyRocks is ahead
of InnoDB, predicted and real, whatever the settings of either."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from advisor.goal import METRICS
from advisor.validation.agreement import LEAST_DIFFERENCE, Cell, Sides, sides
from advisor.validation.cases import SUITES
from advisor.validation.dataset import Row

MOST_APART = 1.25
"""A predicted ratio that is farther from the real one in either direction is none of a product."""


@dataclass(frozen=True)
class Ratio:
    """MyRocks over InnoDB in a metric, each at settings of its own."""

    predicted: float
    real: float

    @classmethod
    def of(cls, myrocks: Sides, innodb: Sides) -> Ratio:
        return cls(myrocks.predicted / innodb.predicted, myrocks.real / innodb.real)

    @property
    def is_near(self) -> bool:
        """Whether the prediction is one."""
        return max(self.predicted / self.real, self.real / self.predicted) <= MOST_APART

    @property
    def has_winner(self) -> bool:
        """Whether the real products differ."""
        return abs(math.log(self.real)) > math.log1p(LEAST_DIFFERENCE)

    @property
    def is_right(self) -> bool:
        """Whether the same product is predicted to be ahead."""
        return (self.predicted > 1) == (self.real > 1)


@dataclass(frozen=True)
class Rivalry:
    """The products on one workload, by the metric that decides it."""

    case: str
    metric: str
    first: Ratio
    """At the first settings of each."""
    ratios: tuple[Ratio, ...]
    """At all settings of the one with all of the other."""

    @property
    def near(self) -> float:
        """Part of the ratios that are predicted within `MOST_APART`."""
        return sum(one.is_near for one in self.ratios) / len(self.ratios)

    @property
    def told(self) -> int:
        """Ratios whose real products differ."""
        return sum(one.has_winner for one in self.ratios)

    @property
    def wrong(self) -> int:
        """Of these, those whose winner is predicted to be the other one."""
        return sum(one.has_winner and not one.is_right for one in self.ratios)


def rivalries(myrocks: Iterable[Row], innodb: Iterable[Row]) -> list[Rivalry]:
    """Every workload that both products ran, and were predicted on, with the same memory on the
    same machine."""
    ours, theirs = _by_work(myrocks), _by_work(innodb)
    found = []
    for case in SUITES["innodb"].cases:
        for key in sorted(ours.keys() & theirs.keys()):
            cell = Cell(case.name, case.metric, key[1])
            mine, other = (sides(of[key]).get(cell) for of in (ours, theirs))
            if not mine or not other:
                continue
            assert METRICS[case.metric].better == "higher", "a ratio above 1 is ahead"
            ratios = tuple(Ratio.of(*pair) for pair in product(mine, other))
            found.append(Rivalry(case.name, case.metric, Ratio.of(mine[0], other[0]), ratios))
    return found


def _by_work(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        found[row.work, row.host].append(row)
    return found
