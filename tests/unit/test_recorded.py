"""The search of a study, judged on recorded tables."""

import random
import statistics
from pathlib import Path

import pytest

from advisor.knobs import Engine, check, defaults
from tests.support.recorded import METRICS, TABLES, profile_of, recorded, scale_of
from tests.support.recorded_study import Table, looks_until_near

SEEDS = range(1, 21)
MOST = 60

HELD = {
    ("linkbench", "lsm"): 8,
    ("linkbench", "btree"): 55,
    ("overwrite", "lsm"): 20,
    ("overwrite", "btree"): 5,
    ("ycsb-b", "lsm"): 35,
    ("ycsb-b", "btree"): 10,
}
"""Looks that the median of the seeds stays below."""


@pytest.mark.parametrize(("workload", "engine"), TABLES)
def test_a_table_holds_settings_of_today_that_ran(workload: str, engine: Engine) -> None:
    rows = recorded(workload, engine)
    assert len(rows) >= 500
    assert all(one.finished and set(METRICS) == set(one.metrics) for one in rows)
    assert {one.scale for one in rows} == {scale_of(profile_of(workload)).factor}
    for one in rows:
        check(engine, one.settings)
        assert set(one.settings) == set(defaults(engine))


@pytest.mark.parametrize(("workload", "engine"), HELD)
def test_a_search_comes_near_the_best_of_a_table(
    workload: str, engine: Engine, tmp_path: Path
) -> None:
    table = Table.of(workload, engine)
    looks = [looks_until_near(table, workload, seed, MOST, tmp_path) or MOST + 1 for seed in SEEDS]
    assert statistics.median(looks) < HELD[workload, engine]


def test_where_few_rows_are_near_the_best_random_order_needs_more(tmp_path: Path) -> None:
    found, blind = [], []
    for workload, engine in HELD:
        table = Table.of(workload, engine)
        if table.near_best <= len(table.trials) / 20:
            found.append(looks_until_near(table, workload, 1, MOST, tmp_path) or MOST + 1)
            blind.append(table.random_looks())
    assert len(found) >= 3
    assert 2 * sum(found) < sum(blind)


def test_the_median_of_a_random_order_is_that_of_drawing_without_return() -> None:
    table = Table.of("linkbench", "btree")
    near = [one.metrics["ops_per_s"] >= table.target for one in table.trials]
    assert sum(near) == table.near_best

    def looks(seed: int) -> int:
        order = random.Random(seed).sample(near, len(near))
        return order.index(True) + 1

    assert abs(statistics.median(map(looks, range(2000))) - table.random_looks()) <= 1
