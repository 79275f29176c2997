"""The tuning problem of the tests, and studies of it on the fake core."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from advisor import profile
from advisor.profile import Profile
from advisor.search import Bounds, Event, Question, Study
from advisor.store import Store, StudyRecord
from advisor.trial import Trial
from tests.support.fake_core import FakeCore

GIB = 1 << 30


def problem(**changes: Any) -> Profile:
    """LinkBench on a fixed machine, so that no test depends on the one it runs on."""
    fixed = {"hardware": "sata-ssd-2018", "data": "20GiB", "memory": "4GiB", "clients": 4}
    return profile.load("linkbench").with_changes(**(fixed | changes))


def study(
    folder: Path,
    *,
    question: Question | None = None,
    trials: int = 40,
    core: FakeCore | None = None,
    name: str = "test",
    events: list[Event] | None = None,
) -> Study:
    """A study in the results file of `folder`; scratch folders go there too."""
    return Study(
        name,
        question or Question(problem(), seed=1),
        Store(folder / "results.duckdb"),
        bounds=Bounds(trials=trials),
        directory=folder,
        core=core or FakeCore(),
        watcher=events.append if events is not None else None,
    )


def trial(**changes: Any) -> Trial:
    """A finished trial with a little of everything."""
    fields: dict[str, Any] = {
        "engine": "lsm",
        "settings": {"block_cache": 1 << 20, "compression": "kZSTD", "sync": False},
        "role": "search",
        "outcome": "finished",
        "seed": 1,
        "clock": "measured",
        "seconds": 1.25,
        "scale": 0.5,
        "metrics": {"ops_per_s": 1000.0, "p99_us": 900.5},
        "by_operation": {"get": {"count": 10.0, "p99_us": 900.5}},
        "bytes_by_purpose": {"wal": {"written_bytes": 10.0}},
        "intervals": (
            {"phase": "run", "t_s": 0.1, "ops_per_s": 1000.0, "shape": {"level_0_bytes": 4096.0}},
        ),
        "notes": ("write_buffer_size hit the floor",),
        "budget_bytes": 1 << 22,
        "workload": "linkbench",
        "started": "2026-01-02T03:04:05",
        "core_version": "fake",
        "host": "here",
        "hardware": "this-machine",
    }
    return Trial(**(fields | changes))


def record(name: str = "mine") -> StudyRecord:
    """A study as it is stored."""
    return StudyRecord(
        name=name,
        workload="linkbench",
        goal="maximize ops_per_s",
        engines=("lsm", "btree"),
        clock="measured",
        seed=1,
        identity={"seconds": 1.25, "current": {"lsm": {"sync": False}}},
        core_version="fake",
        host="here",
    )
