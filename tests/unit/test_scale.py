"""Scaling keeps ratios, leaves granularity alone, and says where it could not."""

import pytest

from advisor import knobs
from advisor.scale import LARGEST_DATA, SMALLEST_DATA, Scale

GIB, MIB, KIB = 1 << 30, 1 << 20, 1 << 10


@pytest.mark.parametrize("factor", [1 / 2, 1 / 4, 1 / 8])
@pytest.mark.parametrize("engine", knobs.ENGINES)
def test_sizes_that_scale_shrink_by_one_factor_and_nothing_else_changes(
    engine: knobs.Engine, factor: float
) -> None:
    full = knobs.defaults(engine)
    scaled = Scale(factor).settings(engine, full)
    for name, knob in knobs.catalogue(engine).items():
        expected = full[name] * factor if knob.scales else full[name]
        assert scaled.values[name] == expected, name
    assert scaled.notes == ()


def test_a_second_that_hits_its_floor_is_reported() -> None:
    found = Scale(1 / 4096).settings("btree", {}).notes
    assert found == ("InnoDB's second hits the floor of the scale, ran as 4.1 s",)
    assert Scale(1 / 1000).settings("btree", {}).notes == ()
    assert Scale(1 / 4096).settings("lsm", {}).notes == ()


def test_the_core_is_told_what_a_smaller_copy_stands_for_and_nothing_at_full_size() -> None:
    assert Scale(1 / 8).spec == {"stands_for": 8}
    assert Scale(1.0).spec is None


def test_blocks_and_pages_keep_their_size() -> None:
    assert Scale(0.01).settings("lsm", {"block_size": 16 * KIB}).values["block_size"] == 16 * KIB
    pages = Scale(0.01).settings("btree", {"innodb_page_size": 8 * KIB})
    assert pages.values["innodb_page_size"] == 8 * KIB


def test_a_size_that_hits_its_floor_is_kept_there_and_reported() -> None:
    scaled = Scale(1 / 1024).settings("lsm", {"write_buffer_size": 8 * MIB})
    assert scaled.values["write_buffer_size"] == 16 * KIB
    assert scaled.notes == ("write_buffer_size: 8MiB hits the floor of the scale, ran as 16MiB",)


def test_zero_stays_zero_because_it_means_none_or_derived() -> None:
    scaled = Scale(0.5).settings("lsm", {"max_compaction_bytes": 0})
    assert scaled.values["max_compaction_bytes"] == 0
    assert scaled.notes == ()


def test_full_size_changes_nothing() -> None:
    settings = knobs.defaults("btree")
    assert Scale(1.0).settings("btree", settings).values == settings


def test_scaled_settings_are_accepted_by_the_engine() -> None:
    for engine in knobs.ENGINES:
        knobs.check(engine, Scale(1e-4).settings(engine, knobs.defaults(engine)).values)


def test_only_sizes_are_multiplied_back() -> None:
    metrics = {"ops_per_s": 100.0, "space_amp": 1.5, "disk_bytes": 10.0, "memory_bytes": 20.0}
    assert Scale(1 / 4).carry_back(metrics) == {
        "ops_per_s": 100.0,
        "space_amp": 1.5,
        "disk_bytes": 40.0,
        "memory_bytes": 80.0,
    }


def test_the_chosen_scale_keeps_the_data_in_its_bounds() -> None:
    given = {engine: knobs.defaults(engine) for engine in knobs.ENGINES}
    for data in (SMALLEST_DATA + 1, GIB, 100 * GIB, 1000 * GIB):
        scaled = Scale.choose(data, given).size(data)
        assert SMALLEST_DATA <= scaled <= LARGEST_DATA, data


def test_a_warehouse_stays_whole() -> None:
    given = {"lsm": knobs.defaults("lsm")}
    assert Scale.choose(100 * GIB, given, unit_bytes=75 * MIB).size(100 * GIB) == 75 * MIB
    assert Scale.choose(50 * MIB, given, unit_bytes=75 * MIB).factor == 1.0


def test_small_data_runs_at_full_size() -> None:
    assert Scale.choose(SMALLEST_DATA, {"lsm": knobs.defaults("lsm")}).factor == 1.0


def test_large_memtables_and_caches_allow_a_smaller_run() -> None:
    roomy = knobs.defaults("lsm") | {"write_buffer_size": 8 * GIB, "block_cache": 80 * GIB}
    data = 100 * GIB
    assert Scale.choose(data, {"lsm": roomy}).size(data) == SMALLEST_DATA
    assert Scale.choose(data, {"lsm": knobs.defaults("lsm")}).size(data) == LARGEST_DATA


def test_a_value_below_the_floor_of_the_scale_cannot_be_told_from_the_floor() -> None:
    knob = knobs.catalogue("lsm")["write_buffer_size"]
    assert Scale(1 / 1024).holds(knob, 16 * MIB)
    assert not Scale(1 / 1024).holds(knob, 15 * MIB)
