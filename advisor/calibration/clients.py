"""What the clients of a server take for a statement, which hangs on how long the server computed
since the one before: it runs on the client's core, and what the client needs leaves the caches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

COOLS_US = np.geomspace(5.0, 1000.0, 61)
"""From a statement that reads one cached row to one that reads thousands."""

ROUNDING = 1e-9
"""A part of the law that is smaller, relatively, is what solving it left: it differs from one
processor to the other."""


@dataclass(frozen=True)
class Statements:
    """What a load's statements took, microseconds of CPU time for each."""

    load: str
    server_us: float
    client_us: float


@dataclass(frozen=True)
class Clients:
    """`warm_us + cold_us (1 - exp(-server_us / cools_us))` for each statement: caches forget in
    proportion to what they still have."""

    warm_us: float
    cold_us: float
    cools_us: float
    ratios: Mapping[str, float]
    """By load, of that to what was measured."""

    @cached_property
    def misses(self) -> list[float]:
        """How far off it is, sorted: 0.1 is 10%, either way."""
        return sorted(max(ratio, 1.0 / ratio) - 1.0 for ratio in self.ratios.values())


def fit_clients(seen: Sequence[Statements]) -> Clients:
    """The law that is relatively nearest to what was seen, which is not empty."""
    best = min((_at(seen, float(cools_us)) for cools_us in COOLS_US), key=lambda one: one[0])[1]
    # What rounding leaves is none.
    if best.cold_us > ROUNDING * best.warm_us:
        return best
    return Clients(best.warm_us, 0.0, 0.0, best.ratios)


def _at(seen: Sequence[Statements], cools_us: float) -> tuple[float, Clients]:
    """The best with these caches, and how far off it is; neither of its parts is negative."""
    client_us = np.array([one.client_us for one in seen])
    lost = 1.0 - np.exp(-np.array([one.server_us for one in seen]) / cools_us)
    parts = np.column_stack([np.ones_like(lost), lost]) / client_us[:, None]
    found = []
    for chosen in ([0, 1], [0], [1]):
        some = np.linalg.lstsq(parts[:, chosen], np.ones_like(lost), rcond=None)[0]
        if (some < 0.0).any():
            continue
        both = np.zeros(2)
        both[chosen] = some
        ratios = parts @ both
        named = dict(zip((one.load for one in seen), map(float, ratios), strict=True))
        law = Clients(float(both[0]), float(both[1]), cools_us, named)
        found.append((float(((ratios - 1.0) ** 2).sum()), law))
    return min(found, key=lambda one: one[0])
