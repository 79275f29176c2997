"""What the products that shipped machines speak for take of CPU time: as servers were seen to, in
proportion to one another."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from advisor.calibration.calls import CACHED, PAGE_CACHE_BYTES
from advisor.core import run
from advisor.hardware import calls, hardware
from advisor.knobs import Engine
from advisor.scale import machine_spec
from advisor.spec import Report, Spec

MIB = 1 << 20


def cached(engine: Engine, operations: int, workload: Mapping[str, Any], **options: Any) -> Report:
    machine = machine_spec(hardware("nvme-2024"), page_cache_bytes=PAGE_CACHE_BYTES)
    spec = {
        "engine": engine,
        "clock": "simulated",
        "options": {**CACHED[engine], **options},
        "workload": workload,
        "clients": 4,
        "seed": 1,
        "operations": operations,
        "hardware": machine,
    }
    return run(cast(Spec, spec))


def cpu_us(report: Report) -> float:
    return report["metrics"]["cpu_us_per_op"]


@pytest.mark.parametrize(
    ("script", "operations", "seen"),
    [
        ("oltp_point_select", 5_000, 26.7 / 10.5),
        ("oltp_read_only", 500, 41.0 / 18.6),
        ("oltp_read_write", 500, 50.4 / 26.7),
    ],
)
def test_a_cached_statement_of_myrocks_takes_as_many_times_that_of_innodb_as_was_seen(
    script: str, operations: int, seen: float
) -> None:
    workload = {"kind": "sysbench", "script": script, "table_size": 50_000}
    myrocks, innodb = (cpu_us(cached(engine, operations, workload)) for engine in ("lsm", "btree"))
    assert myrocks / innodb == pytest.approx(seen, rel=0.15)


def test_a_row_of_an_insert_of_many_takes_14_to_15_us_of_innodb() -> None:
    workload = {"kind": "insert_benchmark", "rows": 50_000, "rows_per_commit": 50}
    assert cpu_us(cached("btree", 50_000, workload)) == pytest.approx(14.5, rel=0.15)


def test_the_ranges_of_sysbench_that_no_index_orders_are_sorted() -> None:
    workload = {"kind": "sysbench", "script": "oltp_read_only", "table_size": 5_000}
    work = cached("btree", 100, workload | {"range_size": 7})["work"]
    assert work["sorted_result"] == 2 * 100
    assert work["sorted_row"] == pytest.approx(7 * 2 * 100, rel=0.02), "ranges end with the table"
    assert (work["statement"], work["transaction_control"]) == (1400, 200)
    assert work["round_trip"] == 1600


def test_a_key_costs_rocksdb_more_in_a_large_memtable_than_its_own_search_does() -> None:
    def buffered(keys: int) -> Report:
        workload = {"kind": "db_bench", "benchmark": "overwrite", "keys": 1_000, "batch": 10}
        return cached("lsm", keys, workload, write_buffer_size=512 * MIB)

    small, large = buffered(20_000), buffered(300_000)
    assert "memtable_miss" not in small["work"]
    missed = large["work"]["memtable_miss"] / 300_000
    missed_us = missed * calls("mariadb-10.11").by_product["rocksdb"]["memtable_miss"] / 1e3
    assert missed_us > 0.1
    assert cpu_us(large) - cpu_us(small) > missed_us
