"""Metrics of a replay that are arithmetic on its report."""

from __future__ import annotations

import pytest

from advisor.published.observation import Observation
from advisor.scale import Scale

REPORT = {
    "operations": 1_000,
    "metrics": {"write_kb_per_op": 2.0, "ops_per_s": 1e6 / 1024, "flash_waf": 1.5},
    "engine_details": {
        "leaf_fill": 0.6,
        "level0_files": 2.0,
        "level_0_bytes": 0.0,
        "level_5_bytes": 100.0,
        "level_6_bytes": 900.0,
    },
    "bytes": {"compaction_l5": {"reads": 300}, "user_read": {"reads": 500}},
}
SEEN = Observation(REPORT, Scale(0.5), 8)


def test_old_versions_lie_above_the_last_level() -> None:
    assert SEEN.of("upper_levels_share") == pytest.approx(0.1)


def test_leaves_are_as_full_as_the_engine_says() -> None:
    assert SEEN.of("leaf_fill") == 0.6


def test_clients_read_what_is_read_for_them() -> None:
    assert SEEN.of("client_reads_per_op") == 0.5
    silent = Observation({**REPORT, "bytes": {"wal": {"writes": 1}}}, Scale(1.0), 8)
    assert silent.of("client_reads_per_op") == 0


def test_the_device_writes_what_the_host_writes_and_what_it_moves() -> None:
    assert SEEN.of("device_write_mb_per_s") == pytest.approx(3.0)


def test_what_a_report_does_not_hold_makes_no_figure() -> None:
    empty = Observation({"metrics": {}, "intervals": []}, Scale(0.5), 8)
    absent = ("upper_levels_share", "leaf_fill", "client_reads_per_op", "device_write_mb_per_s")
    assert [empty.of(metric) for metric in absent] == [None] * 4
