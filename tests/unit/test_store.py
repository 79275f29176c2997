"""What is stored comes back, is only appended, and can be asked."""

import hashlib
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from advisor.errors import InputError, TunebenchError
from advisor.goal import METRICS
from advisor.store import Store, default_path, schema
from advisor.store.lease import leased
from advisor.store.schema import MIGRATIONS
from advisor.trial import Problem
from tests.support.problems import record, trial


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "folder" / "results.duckdb")


def test_a_trial_comes_back_as_it_was(store: Store) -> None:
    stored = store.add_trial(trial(), "mine")
    assert store.trials("mine") == [stored]
    assert stored == replace(trial(id=stored.id), number=1)


def test_trials_come_without_their_intervals_and_the_intervals_of_some_apart(store: Store) -> None:
    first, second = (store.add_trial(trial(), "mine") for _ in range(2))
    bare = store.trials("mine", intervals=False)
    assert bare == [replace(one, intervals=()) for one in (first, second)]
    assert store.intervals([second.id]) == {second.id: second.intervals}


def test_a_rejected_trial_without_metrics_comes_back(store: Store) -> None:
    stored = store.add_trial(trial(outcome="rejected", metrics={}, error="too large"), "mine")
    assert store.trials("mine") == [stored]


@pytest.mark.parametrize("steady", [True, False, None])
def test_the_verdict_on_steadiness_comes_back(store: Store, steady: bool | None) -> None:
    store.add_trial(trial(steady=steady), "mine")
    assert store.trials("mine")[0].steady is steady
    assert store.sql("SELECT steady FROM run").rows == ((steady,),)


def older(path: Path, version: int) -> None:
    """Makes a results file of this version, with one trial from version 1 on. It has the view that
    the first version made."""
    path.parent.mkdir(exist_ok=True)
    with duckdb.connect(str(path)) as connection:
        if version == 0:
            return
        schema.migrate(connection, 0, 1)
        connection.execute(
            "INSERT INTO trial VALUES (uuid(), 'mine', 0, 'lsm', 'run', 'finished', NULL, 'ycsb', "
            "'{}', 1, 'measured', 1.0, 1.0, 0, 1.0, now()::TIMESTAMP, 'old', 'here', [])"
        )
        connection.execute(
            "CREATE VIEW run AS SELECT trial.*, m.ops_per_s FROM trial LEFT JOIN (PIVOT "
            "trial_metric ON metric IN ('ops_per_s') USING any_value(value) GROUP BY trial) AS m "
            "ON m.trial = trial.id"
        )
        schema.migrate(connection, 1, version)


def test_a_file_from_before_the_verdict_opens_and_has_none(store: Store) -> None:
    older(store.path, 1)
    assert [old.steady for old in store.trials("mine")] == [None]
    store.add_trial(trial(steady=True), "mine")
    assert [one.steady for one in store.trials("mine")] == [None, True]
    assert store.sql("SELECT steady FROM run ORDER BY number").rows == ((None,), (True,))


def test_trials_are_numbered_within_their_study(store: Store) -> None:
    for study in ("a", "b", "a", None):
        store.add_trial(trial(), study)
    assert [t.number for t in store.trials("a")] == [1, 2]
    assert [t.number for t in store.trials("b")] == [1]
    assert len(store.trials(None)) == 1


def test_a_study_comes_back_and_its_name_is_taken(store: Store) -> None:
    store.add_study(record())
    found = store.study("mine")
    assert found is not None
    assert replace(found, created="") == record()
    with pytest.raises(InputError, match="a new name"):
        store.add_study(record())
    assert store.study("other") is None


def test_studies_are_listed_with_the_number_of_their_trials(store: Store) -> None:
    store.add_study(record("old"))
    store.add_study(record("new"))
    store.add_trial(trial(), "old")
    listed = {summary.name: summary for summary in store.studies()}
    assert listed["old"].trials == 1
    assert listed["old"].last_trial == "2026-01-02T03:04:05"
    assert (listed["new"].trials, listed["new"].last_trial) == (0, None)


def test_the_best_trial_of_a_metric_is_found_in_both_directions(store: Store) -> None:
    for ops in (5.0, 9.0, 7.0):
        store.add_trial(trial(metrics={"ops_per_s": ops}), "mine")
    highest = store.best("mine", "ops_per_s")
    lowest = store.best("mine", "ops_per_s", maximize=False)
    assert highest is not None and highest.metrics == {"ops_per_s": 9.0}
    assert lowest is not None and lowest.metrics == {"ops_per_s": 5.0}
    assert store.best("mine", "space_amp") is None


def test_a_trial_is_found_by_the_beginning_of_its_id(store: Store) -> None:
    stored = store.add_trial(trial(), None)
    store.add_trial(trial(), None)
    assert store.trial(stored.id[:13]) == stored
    with pytest.raises(InputError, match="no trial"):
        store.trial("zzz")
    with pytest.raises(InputError, match="more than one"):
        store.trial("")


def test_the_latest_runs_come_first(store: Store) -> None:
    store.add_trial(trial(started="2026-01-01T00:00:00"), "a")
    store.add_trial(trial(started="2026-01-03T00:00:00"), None)
    assert [run.started[:10] for run in store.runs()] == ["2026-01-03", "2026-01-01"]
    assert len(store.runs(limit=1)) == 1


def test_nothing_stored_is_an_empty_answer_and_makes_no_file(store: Store) -> None:
    assert (store.studies(), store.trials("mine"), store.runs()) == ([], [], [])
    assert store.study("mine") is None
    assert not store.path.exists()


def test_sql_reads_metrics_as_columns(store: Store) -> None:
    store.add_trial(trial(), "mine")
    table = store.sql("SELECT study, ops_per_s, space_amp FROM run")
    assert table.columns == ("study", "ops_per_s", "space_amp")
    assert table.rows == (("mine", 1000.0, None),)


@pytest.mark.parametrize("view", ["run", "run_operation", "run_bytes", "run_interval"])
def test_every_row_says_which_clock_and_hardware_it_is_of(store: Store, view: str) -> None:
    store.add_trial(trial(clock="simulated", hardware="pcie-flash-2016"))
    store.add_trial(trial())
    rows = store.sql(f"SELECT DISTINCT clock, hardware FROM {view} ORDER BY clock").rows
    assert rows == (("measured", "this-machine"), ("simulated", "pcie-flash-2016"))


def test_sql_has_a_column_for_every_metric(store: Store) -> None:
    store.add_trial(trial(metrics=dict.fromkeys(METRICS, 1.5)))
    table = store.sql(f"SELECT {', '.join(METRICS)} FROM run")
    assert table.rows == (tuple(1.5 for _ in METRICS),)


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
def test_a_file_of_an_older_version_keeps_its_rows(store: Store, version: int) -> None:
    older(store.path, version)
    assert [(old.workload, old.hardware) for old in store.trials("mine")] == [("ycsb", "")]
    assert store.trials("mine")[0].number == 1
    new = store.add_trial(trial(), "mine")
    assert new.number == 2
    assert store.trials("mine")[1] == new
    assert store.sql("SELECT drive_years FROM run").rows == ((None,), (None,))


@pytest.mark.parametrize(
    "query",
    [
        "INSERT INTO trial_metric VALUES (uuid(), 'x', 1)",
        "DROP TABLE trial",
        "COPY trial TO '/tmp/stolen.csv'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELEC 1",
    ],
)
def test_sql_neither_writes_nor_reads_other_files(store: Store, query: str) -> None:
    store.add_trial(trial(), "mine")
    with pytest.raises(InputError, match="--sql"):
        store.sql(query)
    assert len(store.trials("mine")) == 1


def test_a_file_that_holds_no_results_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("some notes")
    with pytest.raises(InputError, match="something else than results"):
        Store(path).add_study(record())
    assert path.read_text() == "some notes"


def state(path: Path) -> dict[str, tuple[str, int]]:
    """Everything in the folder of a file, so that whatever is written there is seen."""
    return {
        file.name: (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns)
        for file in path.parent.iterdir()
    }


READINGS: dict[str, Callable[[Store], object]] = {
    "studies": lambda store: store.studies(),
    "study": lambda store: store.study("mine"),
    "trials": lambda store: store.trials("mine"),
    "runs": lambda store: store.runs(),
    "best": lambda store: store.best("mine", "ops_per_s"),
    "sql": lambda store: store.sql("SELECT * FROM run"),
    "tables": lambda store: store.tables(),
}


def foreign(path: Path, *statements: str) -> None:
    path.parent.mkdir(exist_ok=True)
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)


FOREIGN = {
    "tables": ["CREATE TABLE mine (a INTEGER)", "INSERT INTO mine VALUES (1)"],
    "a view": ["CREATE VIEW mine AS SELECT 1"],
    "a sequence": ["CREATE SEQUENCE mine"],
    "a schema of its own": ["CREATE SCHEMA s", "CREATE TABLE s.study (name VARCHAR)"],
    "versions of its own": ["CREATE TABLE schema_version (version VARCHAR)"],
    "versions as ours": [
        "CREATE TABLE schema_version (version INTEGER, applied TIMESTAMP)",
        "INSERT INTO schema_version VALUES (1, now()::TIMESTAMP)",
        "CREATE TABLE trial (a INTEGER)",
    ],
}


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("version", [0, 1, len(MIGRATIONS)])
def test_what_reads_never_writes(store: Store, version: int, reading: str) -> None:
    older(store.path, version)
    untouched = state(store.path)
    READINGS[reading](store)
    assert state(store.path) == untouched


@pytest.mark.parametrize("made_of", FOREIGN)
def test_a_duckdb_file_of_something_else_is_refused_by_what_reads_and_what_writes(
    store: Store, made_of: str
) -> None:
    foreign(store.path, *FOREIGN[made_of])
    untouched = state(store.path)
    for use in (store.studies, lambda: store.sql("SELECT 1"), lambda: store.add_trial(trial())):
        with pytest.raises(InputError, match=r"results.duckdb: found a DuckDB file of something"):
            use()
    assert state(store.path) == untouched


def test_what_another_program_left_in_its_log_stays_there(store: Store) -> None:
    store.path.parent.mkdir()
    program = (
        f"import duckdb, os; c = duckdb.connect({str(store.path)!r}); "
        "c.execute('CREATE TABLE mine (a INTEGER)'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    untouched = state(store.path)
    assert f"{store.path.name}.wal" in untouched
    for use in (store.studies, lambda: store.add_trial(trial())):
        with pytest.raises(InputError, match="a DuckDB file of something else"):
            use()
    assert state(store.path) == untouched


def test_a_database_of_another_product_is_refused_without_asking_the_network(store: Store) -> None:
    store.path.parent.mkdir()
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("CREATE TABLE mine (a INTEGER)")
    for use in (store.studies, lambda: store.add_trial(trial())):
        with pytest.raises(InputError, match="something else than results"):
            use()


def test_a_file_that_was_cut_off_is_wrong_input(store: Store) -> None:
    store.add_study(record())
    whole = store.path.read_bytes()
    for length in (0, 10, 100, 5000, 20000):
        store.path.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"results.duckdb"):
            store.studies()


@pytest.mark.parametrize("name", [":memory:", "md:mine"])
def test_every_name_is_that_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Store(name).add_study(record())
    assert [one.name for one in Store(tmp_path / name).studies()] == ["mine"]


def test_results_of_an_older_version_are_not_changed_by_a_query_either(store: Store) -> None:
    older(store.path, 1)
    for query in ("DELETE FROM study", "SELECT * FROM read_text('/etc/hostname')"):
        with pytest.raises(InputError, match="--sql"):
            store.sql(query)
    assert len(store.trials("mine")) == 1


def test_a_relation_holds_a_copy_of_whatever_a_query_answers(store: Store) -> None:
    store.add_study(record("mine"))
    store.add_trial(trial(), "mine")
    found = store.query('SELECT 1 AS n, 2 AS N, \'x\' AS "a""b", notes, settings, id FROM trial')
    assert found.columns == ["n", "N_1", 'a"b', "notes", "settings", "id"]
    assert [str(kind) for kind in found.types[3:]] == ["VARCHAR[]", "JSON", "UUID"]
    store.delete_study("mine")
    assert found.fetchall()[0][:4] == (1, 2, "x", ["write_buffer_size hit the floor"])


def test_ten_thousand_rows_are_copied_in_a_moment(store: Store) -> None:
    store.add_trial(trial())
    query = "SELECT i, i / 3 AS third, 'row ' || i AS label FROM range(10_000) AS rows(i)"
    begun = time.perf_counter()
    assert store.query(query).aggregate("count(*), max(third)").fetchall() == [(10_000, 3333.0)]
    # Row by row it takes a quarter of a minute.
    assert time.perf_counter() - begun < 5


def test_views_are_told_before_tables() -> None:
    with duckdb.connect() as connection:
        schema.migrate(connection, 0)
        told = list(dict.fromkeys(table for table, _, _ in schema.columns(connection)))
        found = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal")
        views = {name for (name,) in found.fetchall()}
    assert set(told[: len(views)]) == views and "swept" in views
    assert told[0] == "run"


@pytest.mark.parametrize("query", ["", " ", ";", "-- nothing", "SELECT 1; SELECT 2", "\udcff"])
def test_sql_takes_one_query(store: Store, query: str) -> None:
    store.add_trial(trial())
    with pytest.raises(InputError, match=r"--sql: found .*; accepted: one query"):
        store.sql(query)


def test_a_query_that_is_wrong_is_told_the_tables(store: Store) -> None:
    store.add_trial(trial())
    with pytest.raises(InputError) as caught:
        store.sql("SELECT ops FROM runs")
    named = {row[0] for row in store.tables().rows}
    assert {"run", "run_interval", "study", "trial"} <= named
    assert all(name in caught.value.accepted for name in named)
    with pytest.raises(InputError, match=r'Candidate bindings: .*"ops_per_s"'):
        store.sql("SELECT ops FROM run")


def test_every_listed_column_can_be_asked(store: Store) -> None:
    store.add_trial(trial())
    columns: dict[str, list[str]] = {}
    for table, column, _ in store.tables().rows:
        columns.setdefault(table, []).append(f'"{column}"')
    for table, names in columns.items():
        store.sql(f'SELECT {", ".join(names)} FROM "{table}"')


def test_a_deleted_study_takes_its_trials_along_and_nothing_else(store: Store) -> None:
    for name in ("mine", "other"):
        store.add_study(record(name))
        store.add_trial(trial(), name)
    store.add_trial(trial(), "mine")
    single = store.add_trial(trial())
    assert store.delete_study("mine") == 2
    assert [one.name for one in store.studies()] == ["other"]
    assert store.trials(None) == [single]
    assert len(store.trials("other")) == 1
    for table in ("trial", "trial_metric", "trial_operation", "trial_bytes", "trial_interval"):
        key = "id" if table == "trial" else "trial"
        left = store.sql(f"SELECT count(DISTINCT {key}) FROM {table}").rows
        assert left == ((2,),)
    store.add_study(record())


def test_a_deleted_study_takes_its_tags_along(store: Store) -> None:
    for name in ("mine", "other"):
        store.add_study(record(name))
        store.tag(name, "kept")
    store.delete_study("mine")
    store.add_study(record("mine"))
    assert (store.tags("mine"), store.tags("other"), store.tags()) == ((), ("kept",), ("kept",))


def test_the_problem_of_a_trial_comes_back(store: Store) -> None:
    problem = Problem({"kind": "ycsb", "mix": "A"}, 1 << 30, 1 << 28, 4)
    store.add_trial(trial(problem=problem), "mine")
    assert store.trials("mine")[0].problem == problem


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
def test_trials_of_an_older_version_are_written_as_a_table(store: Store, version: int) -> None:
    older(store.path, version)
    before = store.path.read_bytes()
    target = store.path.with_name("all.csv")
    assert store.export(target) == 1
    assert "mine" in target.read_text()
    assert store.path.read_bytes() == before


def test_a_table_of_trials_opens_no_other_file(store: Store, tmp_path: Path) -> None:
    """Whoever sends a results file may have put anything into its views."""
    store.add_trial(trial())
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    with duckdb.connect(str(store.path)) as connection:
        connection.execute(
            "CREATE OR REPLACE VIEW run AS SELECT trial.*, s.a FROM trial, "
            f"read_csv('{secret}') AS s"
        )
    with pytest.raises(TunebenchError):
        store.export(tmp_path / "all.csv")
    assert not (tmp_path / "all.csv").exists()


def test_a_study_that_runs_is_not_deleted(store: Store) -> None:
    store.add_study(record())
    with (
        leased(store.path, "mine"),
        pytest.raises(InputError, match=r"process \d+.* is running; accepted: its end"),
    ):
        store.delete_study("mine")
    assert [one.name for one in store.studies()] == ["mine"]
    store.delete_study("mine")


def test_a_study_that_is_not_there_cannot_be_deleted(store: Store) -> None:
    store.add_study(record())
    with pytest.raises(InputError, match="no study 'other'"):
        store.delete_study("other")


@pytest.mark.parametrize("name", ["", " ", "x" * 300, "a\nb", "\x1b[2J", "\udcff"])
def test_a_study_has_a_name_that_can_be_written(store: Store, name: str) -> None:
    with pytest.raises(InputError, match="--study"):
        store.add_study(record(name))
    assert not store.path.exists()


def test_a_name_of_another_encoding_is_wrong_input(store: Store) -> None:
    store.add_study(record())
    for ask in (store.study, store.trials, store.trial):
        with pytest.raises(InputError, match="UTF-8"):
            ask("\udcff")


def test_a_file_of_a_newer_version_is_refused(store: Store) -> None:
    store.add_study(record())
    with duckdb.connect(str(store.path)) as connection:
        connection.execute("INSERT INTO schema_version VALUES (?, now()::TIMESTAMP)", [99])
    for use in (store.studies, lambda: store.add_study(record("other"))):
        with pytest.raises(InputError, match="newer tunebench"):
            use()


def test_an_empty_database_is_taken_for_results(store: Store) -> None:
    store.path.parent.mkdir()
    duckdb.connect(str(store.path)).close()
    assert store.studies() == []
    store.add_study(record())
    versions = store.sql("SELECT version FROM schema_version ORDER BY version").rows
    assert versions == tuple((number + 1,) for number in range(len(MIGRATIONS)))


def test_the_default_path_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TUNEBENCH_RESULTS", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert default_path() == Path("/data/tunebench/results.duckdb")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert default_path() == Path("/home/me/.local/share/tunebench/results.duckdb")
    monkeypatch.setenv("TUNEBENCH_RESULTS", "~/mine.duckdb")
    assert default_path() == Path("/home/me/mine.duckdb")
