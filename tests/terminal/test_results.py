"""What `results` does with a study: tags, and a table of its trials."""

import csv
from pathlib import Path

import duckdb

from advisor.goal import METRICS
from advisor.knobs import defaults
from advisor.store import Store
from tests.support.problems import record, trial
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
    assert "no study is tagged kept" in invoke("results", "--tagged", "kept").stderr


def test_tags_that_cannot_be_are_refused(own_results: Path) -> None:
    Store(own_results).add_study(record("night"))
    assert "'day'" in refused("results", "day", "--tag", "x")
    assert "--tag" in refused("results", "night", "--tag", "\n")
    assert "no study" in refused("results", "--tag", "x")
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
