"""What settings do to a flash drive, in a day and until it is worn out."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from advisor import report
from advisor.evidence import Evidence
from advisor.goal import parse_goal
from advisor.profile import Profile, Workload
from advisor.recommend import Recommendation, endurance, recommend
from advisor.search import Question
from advisor.store import Store
from tests.support.fake_core import FakeCore
from tests.support.problems import problem, record, study, trial
from tui import delivery
from tui.advice_session import outcome_of

DAY_S = 86_400
CAPACITY = 3_840_000_000_000
RUN: dict[str, Any] = {"clock": "simulated", "hardware": "nvme-2024"}
METRICS = {"ops_per_s": 1000.0, "write_kb_per_op": 2.0, "flash_waf": 1.5, "drive_years": 12.0}


class Wearing(FakeCore):
    """Its flash is worn out in proportion to what each engine writes."""

    def _answer(self, spec: Mapping[str, Any]) -> dict[str, float]:
        metrics = super()._answer(spec)
        written = metrics["ops_per_s"] * metrics["write_kb_per_op"]
        return metrics | {"drive_years": 1e6 / written}


def paced(kind: str = "key_value", **parameters: Any) -> Profile:
    asked = {"kind": kind, "requests_per_second": 500, **parameters}
    return problem(hardware="nvme-2024", workload=Workload.model_validate(asked))


def row(folder: Path, profile: Profile, metrics: Mapping[str, float]) -> dict[str, float]:
    """Of one run in a study of this profile."""
    store = Store(folder / "results.duckdb")
    asked = {"profile": profile.model_dump(mode="json", by_alias=True, exclude_none=True)}
    store.add_study(replace(record(), identity=asked))
    made = store.add_trial(trial(metrics=metrics, **RUN), "mine")
    return store.endurance("mine").get(made.id, {})


def test_without_a_pace_a_day_goes_on_as_the_run_did(tmp_path: Path) -> None:
    found = row(tmp_path, problem(hardware="nvme-2024"), METRICS)
    assert found["written_bytes_per_day"] == pytest.approx(1000 * 2048 * DAY_S)
    assert found["drive_writes_per_day"] == pytest.approx(1000 * 2048 * DAY_S / CAPACITY)
    assert (found["rate_per_s"], found["years"]) == (1000.0, 12.0)
    assert not found["is_paced"]


def test_at_half_the_rate_a_drive_lasts_twice_as_long(tmp_path: Path) -> None:
    found = row(tmp_path, paced(), METRICS)
    assert found["is_paced"]
    assert found["written_bytes_per_day"] == pytest.approx(500 * 2048 * DAY_S)
    assert found["years"] == pytest.approx(24.0)


def test_a_pace_of_readers_alone_is_not_that_of_the_operations(tmp_path: Path) -> None:
    for place, profile in enumerate(
        (
            paced(writers=1),
            paced("insert_benchmark", query_clients=1, inserts_per_second=100),
            paced("db_bench", benchmark="readwhilewriting", write_rate=1_000_000),
        )
    ):
        found = row(tmp_path / str(place), profile, METRICS)
        assert not found["is_paced"] and found["years"] == 12.0


def test_a_run_without_wear_has_no_row(tmp_path: Path) -> None:
    assert row(tmp_path, problem(), {"ops_per_s": 1000.0, "write_kb_per_op": 2.0}) == {}


def answered(folder: Path, core: FakeCore, **changes: Any) -> tuple[Recommendation, Store]:
    question = Question(problem(**{"hardware": "nvme-2024", **changes}), clock="simulated")
    made = study(folder, question=question, core=core, trials=24)
    made.run()
    return recommend(made), Store(folder / "results.duckdb")


def test_recommended_defaults_and_the_other_engine_stand_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    advice, store = answered(tmp_path, Wearing())
    found = endurance(advice, store)
    rows = {one.title: one for one in found.rows}
    assert {"default", "recommended", "best btree"} <= set(rows)
    assert rows["best btree"].engine != advice.engine
    mine, other = rows["recommended"].figures, rows["best btree"].figures
    # Both wear in proportion to what they write, so that their product is of the drive alone; a
    # median of an even number of runs lies between two of them.
    assert mine["written_bytes_per_day"] * mine["years"] == pytest.approx(
        other["written_bytes_per_day"] * other["years"], rel=1e-3
    )
    assert "the profile holds its clients to none" in found.how
    assert "3.49TiB with 7,000 rated cycles, as nvme-2024 says" in found.how
    delivery.print_advice(advice)
    shown = capsys.readouterr().out
    assert "written a day" in shown and "best btree" in shown
    text = report.markdown(Evidence(advice, wear=found))
    assert "## Endurance of the drive" in text and "| best btree | btree |" in text
    told = delivery.document(advice)["endurance"]
    assert told["rows"][-1]["title"] == "best btree"
    assert told["rows"][-1]["years"] == other["years"]


def test_the_workbench_has_it_before_and_after(tmp_path: Path) -> None:
    question = Question(problem(hardware="nvme-2024"), clock="simulated")
    made = study(tmp_path, question=question, core=Wearing(), trials=24)
    made.run()
    advice = recommend(made)
    rows = {one.title: one for one in endurance(advice, Store(tmp_path / "results.duckdb")).rows}
    shown = outcome_of(advice, "", made).columns
    assert {one.title for one in shown} <= set(rows)
    for column in shown:
        for name in ("written_bytes_per_day", "drive_writes_per_day", "years"):
            assert column.metrics[name] == rows[column.title].figures[name]


def test_the_other_engine_is_the_best_that_keeps_the_limits(tmp_path: Path) -> None:
    advice, _ = answered(tmp_path, Wearing(), goal="minimize write_kb_per_op")
    assert advice.goal == parse_goal("minimize write_kb_per_op")
    assert advice.rival is not None and advice.rival.engine != advice.engine
    others = [t for t in advice.trials if t.engine == advice.rival.engine]
    low = min(t.metrics["write_kb_per_op"] for t in others)
    assert advice.rival.metrics["write_kb_per_op"].median == low


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"hardware": "disk-array-2016"}, "disk-array-2016 has no flash drive that wears"),
        ({"hardware": "this-machine"}, "how the drive of this machine wears is not known"),
        ({}, "no run that is compared wrote to the drive"),
    ],
)
def test_where_nothing_can_be_told_a_line_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, str], says: str
) -> None:
    advice, store = answered(tmp_path, FakeCore(), **changes)
    found = endurance(advice, store)
    assert (found.rows, found.why_not) == ((), says)
    delivery.print_advice(advice)
    assert f"endurance of the drive: not told, {says}" in capsys.readouterr().out
    assert f"Not told: {says}." in report.markdown(Evidence(advice, wear=found))


def test_measured_runs_count_no_wear(tmp_path: Path) -> None:
    made = study(tmp_path, question=Question(problem(), clock="measured"), trials=4)
    made.run()
    found = endurance(recommend(made), Store(tmp_path / "results.duckdb"))
    assert found.why_not == "no wear is counted in measured runs"
