"""The bridge starts, watches, cancels, and words what the core raises."""

from collections.abc import Mapping
from typing import Any

import pytest

from advisor import core
from advisor.core import Cancelled, DiskFull
from advisor.errors import InputError, WorkError
from tests.support.fake_core import FakeCore, RunError, SpecError

SPEC: dict[str, Any] = {
    "engine": "btree",
    "clock": "simulated",
    "seed": 1,
    "workload": {"kind": "linkbench", "ids": 1000},
    "options": {
        "innodb_buffer_pool_size": 1000,
        "innodb_redo_log_capacity": 1000,
        "innodb_page_size": 16384,
    },
}


def failing(error: Exception) -> FakeCore:
    def fail(spec: Mapping[str, Any]) -> None:
        raise error

    return FakeCore(fail=fail)


def test_the_report_is_returned_and_every_interval_seen_once() -> None:
    seen: list[float] = []
    report = core.run(SPEC, on_interval=lambda row: seen.append(row["t_s"]), core=FakeCore())
    assert report["metrics"]["ops_per_s"] > 0
    assert seen == [0.1, 0.2, 0.3]


def test_a_refused_spec_names_field_found_and_accepted() -> None:
    with pytest.raises(InputError) as raised:
        core.run(SPEC, core=failing(SpecError("seconds", "-1", "a number above 0")))
    assert (raised.value.where, raised.value.found) == ("seconds", "-1")


def test_a_full_disk_is_told_from_other_failures() -> None:
    with pytest.raises(DiskFull, match="no space"):
        core.run(SPEC, core=failing(RunError("no space", True)))
    with pytest.raises(WorkError, match="corruption") as raised:
        core.run(SPEC, core=failing(RunError("corruption in 7.sst", False)))
    assert not isinstance(raised.value, DiskFull)


def test_a_cancelled_run_ends_and_says_so() -> None:
    fake = FakeCore()
    with pytest.raises(Cancelled):
        core.run(SPEC, cancelled=lambda: True, core=fake)
    assert fake.runs[0].cancelled


def test_a_watcher_that_raises_stops_the_run() -> None:
    fake = FakeCore()

    def broken(interval: Mapping[str, Any]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        core.run(SPEC, on_interval=broken, core=fake)
    assert fake.runs[0].cancelled
