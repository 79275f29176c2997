"""The published tables: one observation per row, and how precise its source says that it is."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from advisor.data import data_path

BOUNDS = {"exact": "", "approx": "about ", "lower": "at least ", "upper": "at most "}
"""What the column `bound` says, as words before a number."""


@dataclass(frozen=True)
class Figure:
    """A published number."""

    value: float
    bound: str = "exact"

    def __str__(self) -> str:
        return f"{BOUNDS[self.bound]}{self.value:g}"


@dataclass(frozen=True)
class Claim:
    """A statement of a post, numbered in `claims.csv`."""

    id: str
    source: str
    text: str
    check: str
    """What makes it true, as a formula."""


@cache
def rows(table: str) -> tuple[Mapping[str, str], ...]:
    """All rows of `datasets/published/<table>.csv`."""
    path = data_path("datasets", "published", f"{table}.csv")
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def figure(table: str, metric: str, **columns: str | float) -> Figure:
    """The one number of that metric whose other columns are as given; numbers compare as numbers.

    Raises `LookupError` unless exactly one row fits.
    """
    found = [
        row
        for row in rows(table)
        if row["metric"] == metric
        and all(_same(row[name], wanted) for name, wanted in columns.items())
    ]
    if len(found) != 1:
        raise LookupError(f"{table}.csv has {len(found)} rows of {metric} with {columns}")
    return Figure(float(found[0]["value"]), found[0]["bound"])


@cache
def claims() -> Mapping[str, Claim]:
    """Every numbered claim by its identifier."""
    return {
        row["id"]: Claim(row["id"], row["source"], row["statement"], row["check"])
        for row in rows("claims")
    }


def _same(cell: str, wanted: str | float) -> bool:
    if isinstance(wanted, str):
        return cell == wanted
    try:
        return float(cell) == wanted
    except ValueError:
        return False
