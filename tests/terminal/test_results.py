"""What `results` does with a study, a sweep or a run: tags, reports, tables, and deletion."""

import csv
from pathlib import Path

import duckdb
import pytest

from advisor.goal import METRICS
from advisor.knobs import defaults
from advisor.store import Store
from advisor.sweep import Asked, parse_axis, sweep
from tests.support.fake_core import FakeCore
from tests.support.problems import problem, record, trial
from tests.terminal.test_commands import document, invoke, refused
from tests.terminal.test_completion import offered


def test_a_study_is_tagged_listed_by_its_tag_and_untagged(own_results: Path) -> None:
    for name in ("night", "day"):
        Store(own_results).add_study(record(name))
    assert document("results", "night", "--tag", "kept") == {"study": "night", "tags": ["kept"]}
    assert document("results", "night", "--tag", "kept")["tags"] == ["kept"]
    document("results", "night", "--tag", "a b")
    assert "a b, kept" in invoke("results").stdout
    assert [one["tags"] for one in document("results")["studies"]] == [[], ["a b", "kept"]]
    assert document("results", "night")["tags"] == ["a b", "kept"]
    assert [s["name"] for s in document("results", "--tagged", "kept")["studies"]] == ["night"]
    assert document("results", "night", "--untag", "kept")["tags"] == ["a b"]
    assert "nothing is tagged kept" in invoke("results", "--tagged", "kept").stderr


def test_tags_that_cannot_be_are_refused(own_results: Path) -> None:
    Store(own_results).add_study(record("night"))
    assert "'day'" in refused("results", "day", "--tag", "x")
    assert "--tag" in refused("results", "night", "--tag", "\n")
    assert "no name" in refused("results", "--tag", "x")
    assert "it has none" in refused("results", "night", "--untag", "x")
    assert "also --untag" in refused("results", "night", "--tag", "x", "--untag", "x")
    assert "also the name" in refused("results", "night", "--tagged", "x")


def test_tags_are_offered(own_results: Path) -> None:
    assert offered("results", "--tagged", "") == []
    Store(own_results).add_study(record("night"))
    Store(own_results).tag("night", "kept")
    assert offered("results", "--tagged", "") == ["kept"]
    assert offered("results", "night", "--untag", "k") == ["kept"]


def test_the_trials_of_a_study_become_a_table(own_results: Path, tmp_path: Path) -> None:
    store = Store(own_results)
    store.add_study(record("night"))
    store.add_trial(trial(), "night")
    store.add_trial(trial(engine="btree", settings={"innodb_io_capacity": 5}), "night")
    store.add_trial(trial(), None)
    target = tmp_path / "it's" / "trials.parquet"
    made = document("results", "night", "--export", target)
    assert made == {"study": "night", "trials": 2, "written": [str(target)]}
    with duckdb.connect() as memory:
        rows = memory.read_parquet(str(target)).order("number")
        assert {*METRICS, "number", "clock", "block_cache", "sync"} <= set(rows.columns)
        assert "settings" not in rows.columns
        told = rows.select("number, ops_per_s, block_cache, sync, innodb_io_capacity").fetchall()
    assert told == [(1, 1000.0, 1 << 20, False, None), (2, 1000.0, None, None, 5)]


def test_all_that_is_stored_becomes_a_table(own_results: Path, tmp_path: Path) -> None:
    store = Store(own_results)
    for study in (None, "night", None):
        store.add_trial(trial(settings=dict(defaults("lsm"))), study)
    target = tmp_path / "all.csv"
    assert document("results", "--export", target)["trials"] == 3
    with target.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["study"] for row in rows) == ["", "", "night"]
    assert all(row["compression"] == defaults("lsm")["compression"] for row in rows)


def test_a_table_goes_over_no_file_unasked(own_results: Path, tmp_path: Path) -> None:
    Store(own_results).add_trial(trial())
    target = tmp_path / "all.csv"
    target.write_text("mine")
    assert "--force" in refused("results", "--export", target)
    assert target.read_text() == "mine"
    assert invoke("results", "--export", target, "--force").exit_code == 0
    assert target.read_text().startswith("id,")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.csv", own_results.name]


def test_a_table_that_cannot_be_made_is_refused(own_results: Path, tmp_path: Path) -> None:
    assert "no results yet" in refused("results", "--export", tmp_path / "all.csv")
    Store(own_results).add_trial(trial())
    assert ".parquet or .csv" in refused("results", "--export", tmp_path / "all.xlsx")
    assert "'gone'" in refused("results", "gone", "--export", tmp_path / "all.csv")
    assert [path.name for path in tmp_path.iterdir()] == [own_results.name]


@pytest.fixture
def night(own_results: Path) -> Store:
    """A sweep, and a run that belongs to nothing."""
    store, profile = Store(own_results), problem(hardware="nvme-2024")
    asked = Asked("night", profile, parse_axis("memory=4GiB,8GiB"), profile.engines)
    sweep(asked, store, core=FakeCore())
    store.add_trial(trial(role="run"))
    return store


def test_a_sweep_is_listed_and_shown_as_it_was_told(night: Store) -> None:
    (listed,) = document("results")["sweeps"]
    assert (listed["name"], listed["axis"], listed["points"]) == ("night", "memory", 4)
    assert "night  memory" in invoke("results").stdout
    shown = document("results", "night")
    assert [one["label"] for one in shown["points"][::2]] == ["4GiB", "8GiB"]
    told = invoke("results", "night").stdout
    assert "linkbench over memory, simulated" in told and "are within noise" in told


def test_a_sweep_and_a_run_are_tagged_and_found_by_that(night: Store) -> None:
    run = document("results")["runs"][0]["id"]
    assert document("results", "night", "--tag", "kept") == {"sweep": "night", "tags": ["kept"]}
    assert document("results", run[:8], "--tag", "kept") == {"run": run[:8], "tags": ["kept"]}
    document("run", "linkbench", "--engine", "lsm", "--data", "1GiB", "--simulate")
    found = document("results", "--tagged", "kept")
    assert [one["name"] for one in found["sweeps"]] == ["night"]
    assert [one["id"] for one in found["runs"]] == [run]
    assert document("results", run)["tags"] == document("results", "night")["tags"] == ["kept"]
    assert invoke("results", "--tagged", "kept").stdout.count("kept") == 2
    assert document("results", run, "--untag", "kept")["tags"] == []


def test_the_report_of_a_sweep_is_written_by_the_name_of_its_file(
    night: Store, tmp_path: Path
) -> None:
    page, text = tmp_path / "night.html", tmp_path / "night.md"
    assert document("results", "night", "--report", page) == {
        "sweep": "night",
        "written": [str(page)],
    }
    assert invoke("results", "night", "--report", text).exit_code == 0
    assert page.read_text().startswith("<!doctype html>")
    assert text.read_text().startswith("# linkbench over memory")
    assert "--force" in refused("results", "night", "--report", text)
    run = document("results")["runs"][0]["id"]
    assert "a study or a sweep" in refused("results", run, "--report", tmp_path / "run.html")


def test_a_sweep_is_deleted_with_its_runs_and_tags_alone(night: Store) -> None:
    document("results", "night", "--tag", "kept")
    (run,) = document("results")["runs"]
    assert document("results", "--delete", "night", "--force") == {
        "deleted": "night",
        "kind": "sweep",
        "trials": 8,
    }
    assert night.sweeps() == [] and night.sweep_points("night") == [] and night.tags() == ()
    assert [one.id for one in night.runs()] == [run["id"]]
    for table in ("sweep_run", "sweep_point"):
        assert night.sql(f"SELECT count(*) FROM {table}").rows == ((0,),)
    assert night.sql("SELECT DISTINCT trial::VARCHAR FROM trial_metric").rows == ((run["id"],),)


def test_a_run_is_deleted_and_no_run_of_a_sweep(night: Store) -> None:
    (run,) = document("results")["runs"]
    swept = next(one.id for one in night.runs() if one.role == "sweep")
    assert "no study, sweep or run" in refused("results", "--delete", swept, "--force")
    assert document("results", "--delete", run["id"][:8], "--force")["kind"] == "run"
    assert {one.role for one in night.runs()} == {"sweep"}


def test_the_studies_of_the_steps_of_a_sweep_outlive_it(own_results: Path) -> None:
    store, profile = Store(own_results), problem(hardware="nvme-2024")
    axis = parse_axis("memory=4GiB,8GiB")
    sweep(Asked("s", profile, axis, profile.engines, retune=10), store, core=FakeCore())
    trials = sum(len(store.trials(one.name)) for one in store.studies())
    assert store.delete("s").trials == 0
    assert sum(len(store.trials(one.name)) for one in store.studies()) == trials > 10


def test_the_trials_of_a_sweep_become_a_table(night: Store, tmp_path: Path) -> None:
    target = tmp_path / "night.csv"
    assert document("results", "night", "--export", target) == {
        "sweep": "night",
        "trials": 8,
        "written": [str(target)],
    }
    with target.open(newline="") as file:
        assert {row["role"] for row in csv.DictReader(file)} == {"sweep"}


def test_the_answer_to_a_query_becomes_a_table(night: Store, tmp_path: Path) -> None:
    query = (
        "SELECT label, ';é' AS é, median FROM swept WHERE metric = 'ops_per_s' ORDER BY 1, 3; --;"
    )
    target = tmp_path / "answer.parquet"
    told = document("results", "--sql", query, "--export", target)
    assert told == {"rows": 4, "written": [str(target)]}
    with duckdb.connect() as memory:
        assert tuple(memory.read_parquet(str(target)).fetchall()) == night.sql(query).rows


@pytest.mark.parametrize(
    "query", ["DELETE FROM trial", "SELECT * FROM read_csv('/etc/passwd')", "SELEC 1", "", "SHOW x"]
)
def test_a_query_that_does_more_than_read_writes_no_table(
    night: Store, tmp_path: Path, query: str
) -> None:
    target = tmp_path / "answer.csv"
    assert "--sql" in refused("results", "--sql", query, "--export", target)
    assert not target.exists() and len(night.runs()) == 9


def test_names_of_studies_and_sweeps_are_offered(night: Store) -> None:
    night.add_study(record("nine"))
    assert offered("results", "ni") == ["nine", "night"]
