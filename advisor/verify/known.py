"""What a prediction of a ratio has to allow for: how far such ratios were off on real engines, in
the tables that ship and in the user's own verifications."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from advisor.profile import Profile
from advisor.recommend import Asked, KnownErrors, Misses
from advisor.store import Store
from advisor.trial import Clock
from advisor.validation import SUITES, Sides, rivalries, shipped, sides

_NAMES = {"rocksdb": "RocksDB", "innodb": "InnoDB", "myrocks": "MyRocks"}
"""What the products call themselves in stored runs."""


def known_errors(profile: Profile, clock: Clock, store: Store) -> KnownErrors:
    """Of the goal's first metric on the products that the engines stand for. Nothing is known of
    trials that were not simulated: the predictions that real engines were asked about were."""
    if clock != "simulated":
        return KnownErrors()
    metric = profile.goal.metric
    has_tables = profile.workload.info.has_tables
    other = "rocksdb" if has_tables else "myrocks"
    product = {suite.engine: name for name, suite in SUITES.items() if name != other}
    within = {}
    for engine, name in product.items():
        ratios = [*_within(name, metric), *_stored(store, _NAMES[name], metric)]
        within[engine] = Misses(ratios)
    between = list(_between(metric)) if has_tables else []
    return KnownErrors(within, Misses(between))


def _within(product: str, metric: str) -> Iterator[Asked]:
    """Of every two settings in the same case on the same machine."""
    for cell, found in sides(shipped(SUITES[product].file)).items():
        if cell.metric == metric:
            yield from (_asked(one, other) for one, other in combinations(found, 2))


def _between(metric: str) -> Iterator[Asked]:
    """Of settings of MyRocks and of InnoDB on the same work, with the same memory."""
    myrocks, innodb = (shipped(SUITES[product].file) for product in ("myrocks", "innodb"))
    for one in rivalries(myrocks, innodb):
        if one.metric == metric:
            yield from (Asked(ratio.predicted, ratio.real) for ratio in one.ratios)


def _stored(store: Store, product: str, metric: str) -> Iterable[Asked]:
    rows = store.verified_ratios(product)
    return (Asked(predicted, real) for name, predicted, real in rows if name == metric)


def _asked(one: Sides, other: Sides) -> Asked:
    return Asked(one.predicted / other.predicted, one.real / other.real)
