"""One function makes the spec of a run: both clocks, data in bytes or in units, at any scale."""

from pathlib import Path
from typing import Any

from advisor import knobs
from advisor.hardware import hardware
from advisor.scale import FullRun, InBytes, InUnits, Scale, Simulated, scaled_run
from advisor.spec import Spec
from advisor.workload import Workload

MIB, GIB = 1 << 20, 1 << 30
MACHINE = hardware("pcie-flash-2016")


def spec(scale: float, **changes: Any) -> Spec:
    pieces = {
        "engine": "btree",
        "settings": knobs.defaults("btree"),
        "workload": InBytes(Workload(kind="ycsb"), GIB),
        "clients": 2,
        "seed": 3,
        "clock": Simulated(MACHINE, GIB),
        "length": {"seconds": 1.5},
    }
    return scaled_run(FullRun(**(pieces | changes)), Scale(scale)).spec


def test_at_full_size_nothing_changes_and_nothing_is_stood_for() -> None:
    full = spec(1.0)
    assert "scale" not in full
    assert full["options"] == knobs.defaults("btree")
    assert full["hardware"]["page_cache_bytes"] == GIB


def test_sizes_shrink_by_one_factor_and_the_rest_stays() -> None:
    full, small = spec(1.0), spec(1 / 8)
    pool = "innodb_buffer_pool_size"
    assert small["options"][pool] * 8 == full["options"][pool]
    assert small["hardware"]["page_cache_bytes"] * 8 == GIB
    assert small["scale"] == {"stands_for": 8}
    for kept in ("clients", "seed", "seconds", "clock"):
        assert small[kept] == full[kept]
    assert small["hardware"]["cost"] == full["hardware"]["cost"]


def test_a_measured_run_says_what_it_stands_for_too(tmp_path: Path) -> None:
    small = spec(1 / 8, clock=tmp_path)
    assert (small["clock"], small["directory"]) == ("measured", str(tmp_path))
    assert small["scale"] == {"stands_for": 8}
    assert "hardware" not in small


def test_beside_a_product_a_copy_makes_up_for_nothing_and_the_product_is_told_what_shrank(
    tmp_path: Path,
) -> None:
    full, small = spec(1.0), spec(1 / 8, beside_product=True)
    product = spec(1 / 8, beside_product=True, clock=tmp_path)
    assert small["scale"] == product["scale"] == {"stands_for": 8, "only_draws": True}
    assert small["hardware"]["device"] == full["hardware"]["device"]
    assert small["hardware"]["page_cache_bytes"] * 8 == GIB
    assert small["options"] == product["options"]
    for name, least in (("innodb_lru_scan_depth", 100), ("innodb_old_blocks_time", 0)):
        assert product["options"][name] == max(least, full["options"][name] // 8)
        assert spec(1 / 8)["options"][name] == full["options"][name]
    few = {**knobs.defaults("btree"), "innodb_lru_scan_depth": 100}
    assert spec(1 / 8, settings=few, beside_product=True)["options"]["innodb_lru_scan_depth"] == 100
    whole = spec(1.0, beside_product=True)
    assert whole == full


def test_units_stay_whole_and_what_starts_empty_has_none() -> None:
    whole = InUnits({"kind": "tpcc", "stock_level": "looped"}, "warehouses", 1000)
    assert spec(1 / 300, workload=whole)["workload"] == {
        "kind": "tpcc",
        "stock_level": "looped",
        "warehouses": 3,
    }
    empty = {"kind": "insert_benchmark", "rows": 0}
    assert spec(1 / 300, workload=InUnits(empty, None, 1000))["workload"] == empty


def test_a_load_commits_as_many_rows_as_it_is_told_and_no_more_than_by_itself() -> None:
    assert "load_batch_rows" not in spec(1 / 8)["workload"]
    assert spec(1 / 8, load_batch_rows=64)["workload"]["load_batch_rows"] == 64
    default = Workload(kind="ycsb").info.parameters["load_batch_rows"].default
    assert spec(1 / 8, load_batch_rows=10**9)["workload"]["load_batch_rows"] == default
    own = InBytes(Workload(kind="ycsb", parameters={"load_batch_rows": 7}), GIB)
    assert spec(1 / 8, workload=own, load_batch_rows=64)["workload"]["load_batch_rows"] == 7


def test_a_binary_log_shrinks_to_a_mebibyte_at_least() -> None:
    log = {"sync_binlog": 1, "max_binlog_size": 64 * MIB, "binlog_row_image": "FULL"}
    assert spec(1 / 8, binary_log=log)["binary_log"] == log | {"max_binlog_size": 8 * MIB}
    assert spec(1 / 800, binary_log=log)["binary_log"] == log | {"max_binlog_size": MIB}
