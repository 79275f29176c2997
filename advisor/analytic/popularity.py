"""How unevenly the pages of a key space are asked for, and what a cache of the least recently used
ones then holds (Che's approximation).

Ranks are grouped into geometric classes, so that a million pages are some dozens of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from advisor.analytic.columns import Numbers
from advisor.analytic.demand import Keys

CLASSES = 60
"""Of ranks, in equal steps of their logarithm."""
TIMES = np.geomspace(1e-1, 1e14, 600)
"""Characteristic times at which a cache is known, in operations."""


@dataclass(frozen=True)
class Classes:
    """Items or pages of a space by how often they are asked for."""

    count: Numbers
    """How many are in each class."""
    rate: Numbers
    """Share of the requests to the space that each of a class gets."""


def items(space: Keys) -> Classes:
    """The items of a space."""
    edges = np.concatenate(([0.0], np.geomspace(1.0, max(2.0, space.items), CLASSES)))
    if space.skew == 0.0:
        edges = np.array([0.0, max(2.0, space.items)])
    mass = _harmonic(edges, space.skew)
    count = np.diff(edges)
    return Classes(count, np.diff(mass) / mass[-1] / count)


def pages(space: Keys, per_page: float) -> Classes:
    """The pages of a space with so many items each, at least one.

    Side by side, items of one class share pages. Scattered, a page is of the class of its hottest
    item, which is beyond rank x with probability (1 - x / n)^r, and its others are of all colder
    ranks alike.
    """
    own = items(space)
    per_page = max(1.0, per_page)
    if space.gathered or len(own.count) == 1:
        return Classes(own.count / per_page, own.rate * per_page)
    ends = np.cumsum(own.count)
    total = ends[-1]
    beyond = np.concatenate(([1.0], (1.0 - ends / total).clip(0.0) ** per_page))
    colder = (own.count * own.rate)[::-1].cumsum()[::-1] - own.count * own.rate
    others = np.divide(colder, total - ends, out=own.rate.copy(), where=total - ends > 0.5)
    count = total / per_page * (beyond[:-1] - beyond[1:])
    rate = own.rate + (per_page - 1.0) * others
    return Classes(count, rate / (count * rate).sum())


def _harmonic(ranks: Numbers, shape: float) -> Numbers:
    """Sum of rank^-shape up to each of the ranks, by the midpoint rule; shape below 1."""
    rest = 1.0 - shape
    return np.asarray(((ranks + 0.5) ** rest - 0.5**rest) / rest)


@dataclass(frozen=True)
class Lru:
    """What a cache holds by its characteristic time t, the time after which a page that nobody asks
    for leaves: a page with rate l is there with probability 1 - e^(-l t) (Che, Tung, Wang 2002)."""

    held_bytes: Numbers
    """At each of `TIMES`."""
    hits: Numbers
    """Of each space, at each of `TIMES`: the part of its requests that finds its page."""

    @classmethod
    def of(cls, requests: Sequence[float], own: Sequence[Classes], page_bytes: float) -> Lru:
        """Of spaces with so many requests per operation."""
        held, hits = np.zeros(len(TIMES)), []
        for count, classes in zip(requests, own, strict=True):
            there = -np.expm1(-np.outer(TIMES, count * classes.rate))
            held += there @ classes.count * page_bytes
            hits.append(there @ (classes.count * classes.rate))
        return cls(held, np.array(hits))

    def time(self, cache_bytes: Numbers) -> Numbers:
        """The characteristic time of caches, in operations."""
        # Where everything fits nothing ever leaves, however long the curve is flat before.
        rising = np.concatenate(([True], np.diff(self.held_bytes) > 1e-9 * self.held_bytes[-1]))
        times = np.interp(
            np.maximum(cache_bytes, 0.0), self.held_bytes[rising], np.log(TIMES[rising])
        )
        full = cache_bytes >= self.held_bytes[rising][-1]
        return np.where(full, TIMES[-1], np.exp(times))

    def hit_ratio(self, space: int, time: Numbers) -> Numbers:
        """Of the requests to one space, at these characteristic times."""
        return np.asarray(np.interp(np.log(time), np.log(TIMES), self.hits[space]))
