"""The operations that a workload's file names are those that the core reports, and a goal may be
for one of them."""

from pathlib import Path
from typing import Any

import pytest

from advisor import evaluate
from advisor.evaluate import Setup, choose_scale
from advisor.profile import Profile
from advisor.scale import MIB, factor
from advisor.search import Bounds, Question, Study
from advisor.store import Store
from advisor.trial import Trial
from advisor.workload import kinds

WORKLOADS: dict[str, dict[str, Any]] = {
    **{f"db_bench-{one}": {"kind": "db_bench", "benchmark": one} for one in (
        "fillseq", "fillrandom", "overwrite", "readrandom", "readwhilewriting", "seekrandom",
    )},
    **{f"ycsb-{one}": {"kind": "ycsb", "mix": one} for one in "ABCDEF"},
    **{f"linkbench-{one}": {"kind": "linkbench", "mix": one} for one in ("facebook", "fork2020")},
    **{f"sysbench-{one}": {"kind": "sysbench", "script": one} for one in (
        "oltp_point_select", "oltp_read_only", "oltp_read_write", "oltp_write_only",
        "oltp_update_index", "oltp_update_non_index", "oltp_insert", "oltp_delete",
    )},
    "tpcc": {"kind": "tpcc", "customers_per_district": 60, "items": 2000},
    "inserts": {"kind": "insert_benchmark"},
    "queries": {"kind": "insert_benchmark", "query_clients": 2, "rows_per_commit": 10},
    "queries-2": {
        "kind": "insert_benchmark", "query_clients": 2, "rows_per_commit": 10,
        "secondary_indexes": 2,
    },
    "key_value": {"kind": "key_value"},
    "key_value-all": {"kind": "key_value", "inserts": 1, "scans": 1, "absent_share": 0.5},
    "key_value-absent": {"kind": "key_value", "absent_share": 1.0},
}  # fmt: skip


@pytest.fixture(autouse=True)
def small_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """A megabyte of data and as many operations as show the rarest."""
    monkeypatch.setattr(factor, "SMALLEST_DATA", MIB)
    monkeypatch.setattr(factor, "LARGEST_DATA", MIB)
    monkeypatch.setattr(evaluate, "SIMULATED_OPERATIONS", 3000)


def problem(workload: dict[str, Any], **changes: Any) -> Profile:
    fields = {"name": "test", "workload": workload, "data": "20GiB", "memory": "4GiB"}
    return Profile.model_validate(fields | {"hardware": "nvme-2024"} | changes)


def tried(asked: Profile) -> Trial:
    setup = Setup(asked, choose_scale(asked), 20.0, "simulated")
    return evaluate.evaluate(setup, "lsm", {}, seed=1)


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_operations_of_a_workload_are_those_that_occur(name: str) -> None:
    asked = problem(WORKLOADS[name])
    assert set(tried(asked).by_operation) == set(asked.workload.operations)


def test_every_kind_is_looked_at() -> None:
    assert {one["kind"] for one in WORKLOADS.values()} == set(kinds())


def test_a_trial_has_the_percentiles_that_its_goal_speaks_of() -> None:
    goal = "minimize p99_us[update] subject to p50_us[read] <= 1s"
    trial = tried(problem(WORKLOADS["ycsb-A"], goal=goal))
    for name, operation in (("p99_us", "update"), ("p50_us", "read")):
        assert trial.metrics[f"{name}[{operation}]"] == trial.by_operation[operation][name]
    assert "p99_us[update]" not in tried(problem(WORKLOADS["ycsb-A"])).metrics


def test_a_study_is_decided_by_one_operation_alone(tmp_path: Path) -> None:
    asked = problem(WORKLOADS["ycsb-A"], goal="minimize p99_us[update]")
    store = Store(tmp_path / "results.duckdb")
    question = Question(asked, engines=("lsm",), clock="simulated", seconds=0.2)
    study = Study("updates", question, store, bounds=Bounds(trials=8))
    study.run()
    best = study.best()
    assert best is not None
    again = Study.load("updates", store)
    assert again.trials == study.trials
    looks = [trial.by_operation["update"]["p99_us"] for trial in best.judged]
    assert best.score(asked.goal) == pytest.approx(sorted(looks)[len(looks) // 2], rel=0.5)
    assert all("p99_us[update]" in trial.metrics for trial in study.trials if trial.finished)
