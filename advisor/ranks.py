"""What the ranks of repeated runs tell of a difference, however their noise is distributed.

A run that fell into another state (files that a load left in level 0, a device that collects
garbage) lies far from the others, and the spread that it makes hides what all others agree about.
In how many pairs of runs one is better does not depend on how far they lie apart (Mann and Whitney,
Annals of Mathematical Statistics 18, 1947), and the pairs bound the difference as well (Hodges and
Lehmann, the same 34, 1963). Both are exact; of few runs they say nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import product


def chance(one: Sequence[float], other: Sequence[float]) -> float:
    """Probability that runs of the same kind are ranked as far apart as these, or farther, with
    `one` above: one-sided. A tie counts against."""
    lost = sum(mine <= its for mine, its in product(one, other))
    return _tail(len(one), len(other), lost)


def least_chance(runs: int, other_runs: int) -> float:
    """That where all of so many runs lie above all of the others: ranks never tell more."""
    return _tail(runs, other_runs, 0)


def bounds(
    differences: Sequence[float], runs: int, other_runs: int, level: float
) -> tuple[float, float] | None:
    """Between what the difference lies, but for one case in `1 / level`, given that of every pair
    of so many runs; `None` where so few cannot say."""
    left_out = -1
    while _tail(runs, other_runs, left_out + 1) <= level / 2.0:
        left_out += 1
    if left_out < 0:
        return None
    ordered = sorted(differences)
    return ordered[left_out], ordered[-1 - left_out]


def _tail(runs: int, other_runs: int, lost: int) -> float:
    """Probability that at most so many pairs are lost, when all orders are as likely."""
    return sum(_orders(runs, other_runs)[: lost + 1]) / math.comb(runs + other_runs, runs)


@cache
def _orders(runs: int, other_runs: int) -> tuple[int, ...]:
    """Of how many orders of so many runs 0, 1, 2, ... pairs are lost: where the lowest of all is
    one of `runs`, it loses all its pairs, else it is lost to nobody."""
    if runs == 0 or other_runs == 0:
        return (1,)
    lowest, others = _orders(runs - 1, other_runs), _orders(runs, other_runs - 1)
    found = [*others, *(0 for _ in range(runs * other_runs + 1 - len(others)))]
    for lost, orders in enumerate(lowest):
        found[lost + other_runs] += orders
    return tuple(found)
