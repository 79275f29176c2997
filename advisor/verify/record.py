"""How far predictions have been from real engines so far."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from advisor.store import Store


@dataclass(frozen=True)
class Errors:
    """Predicted over real, of one metric's ratio to the base of comparison."""

    metric: str
    comparisons: int
    median_factor: float
    """The usual miss, in either direction, as a factor of at least 1."""
    worst_factor: float


def errors_so_far(store: Store, product: str) -> list[Errors]:
    """The errors of all verifications of a product that are stored, such as `RocksDB`."""
    rows = store.verified_ratios(product)
    by_metric: dict[str, list[float]] = {}
    for metric, predicted, real in rows:
        by_metric.setdefault(metric, []).append(abs(math.log(predicted / real)))
    return [_errors(metric, misses) for metric, misses in sorted(by_metric.items())]


def _errors(metric: str, misses: Iterable[float]) -> Errors:
    found = list(misses)
    return Errors(metric, len(found), math.exp(statistics.median(found)), math.exp(max(found)))
