"""Every workload that ships is tuned on the real core: both engines, three sizes of memory."""

from pathlib import Path

import pytest

from advisor import evaluate, profile
from advisor.knobs import ENGINES
from advisor.profile import Profile
from advisor.scale import MIB, factor
from advisor.search import Bounds, Question, Study
from advisor.store import Store
from advisor.workload import kinds

DATA = "20GiB"
MEMORIES = ("1GiB", "4GiB", "16GiB")
PROBLEMS = {
    **{f"kind-{kind}": {"kind": kind} for kind in kinds()},
    "kind-tpcc": {"kind": "tpcc", "customers_per_district": 60, "items": 2000},
    **{name: one.workload.model_dump() for name, one in profile.shipped().items()},
    "large-commits": {"kind": "insert_benchmark", "rows_per_commit": 5000},
    "large-batches": {"kind": "db_bench", "benchmark": "fillrandom", "batch": 10_000},
}


@pytest.fixture(autouse=True)
def small_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousandth of the data and few operations: floors of the scale are met all the sooner."""
    monkeypatch.setattr(factor, "SMALLEST_DATA", MIB)
    monkeypatch.setattr(factor, "LARGEST_DATA", MIB)
    monkeypatch.setattr(evaluate, "SIMULATED_OPERATIONS", 200)


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_shipped_workload_is_tuned_on_both_engines(
    tmp_path: Path, name: str, memory: str
) -> None:
    problem = {"name": name, "workload": PROBLEMS[name], "data": DATA, "memory": memory}
    question = Question(
        Profile.model_validate(problem | {"hardware": "nvme-2024"}), clock="simulated", seconds=0.05
    )
    bounds = Bounds(trials=4)
    study = Study("all", question, Store(tmp_path / "results.duckdb"), bounds=bounds)
    assert study.run() == "complete"
    assert {trial.engine for trial in study.trials} == set(ENGINES)
    assert [trial.error for trial in study.trials if not trial.finished] == []
