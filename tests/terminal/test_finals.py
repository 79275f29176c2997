"""`tunebench tune --finalists`, over the closed-form core and a real engine of the tests' own."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from advisor import core, evaluate
from advisor.errors import InputError
from advisor.real import trial_run
from advisor.store import Store
from tests.support.fake_core import FakeCore
from tui.cli import app
from tui.session import LibrarySession


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCore:
    """Here, without a process for every run."""
    fake = FakeCore()
    monkeypatch.setattr(core, "load", lambda: fake)
    for module in (evaluate, trial_run):
        monkeypatch.setattr(module, "ProcessCore", lambda here: here)
    return fake


@pytest.fixture
def library(tmp_path: Path) -> Path:
    path = tmp_path / "librocksdb.so"
    path.write_text("for a core that opens nothing")
    return path


def tune(*words: object) -> Result:
    fixed = ("tune", "linkbench", "--trials", "10", "--study", "s", "--finalist-minutes", "5")
    return CliRunner().invoke(app, [*fixed, *map(str, words)])


def finals(library: Path, *words: object) -> Result:
    return tune("--finalists", 2, "--rocksdb", library, "--engine", "lsm", *words)


def test_the_product_confirms_what_it_likes_as_well(
    fake: FakeCore, library: Path, tmp_path: Path
) -> None:
    target = tmp_path / "OPTIONS"
    done = finals(library, "-o", target)
    assert done.exit_code == 0, done.output
    assert "the finalists of the lsm engine will run on RocksDB 0.0" in done.stderr
    assert "ended after 3 rounds: settled" in done.stderr
    said = "None of 1 runner-up of the search was detectably better there, so this stayed."
    for text in (done.stdout, target.read_text(), (tmp_path / "report.md").read_text()):
        assert "On RocksDB 0.0 itself, with " in text
        assert said in text
    assert "## On RocksDB 0.0 itself" in (tmp_path / "report.md").read_text()
    for shown in (shown_by_the_app(), shown_by("results", "s")):
        assert "RocksDB 0.0" in shown
        assert "3 rounds" in shown
        assert "1.00x" in shown
        assert "recommended" in shown
        assert "no difference shown" in shown
    assert "RocksDB 0.0" in shown_by("results")
    stored = json.loads(shown_by("results", "s", "--json"))["verification"]
    assert [one["contender"]["name"] for one in stored["compared"]][:2] == [
        "defaults",
        "recommended",
    ]


def shown_by(*words: str) -> str:
    return CliRunner().invoke(app, list(words)).stdout


def shown_by_the_app() -> str:
    verified = LibrarySession().outcome("s").verified
    assert verified is not None
    assert LibrarySession().studies()[0].verified == verified.product
    return str(verified)


def test_the_product_picks_another_and_export_keeps_to_it(
    fake: FakeCore, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = json.loads(finals(library, "--json").stdout)
    monkeypatch.setattr(fake, "real", rather_than(asked["settings"]))
    told = json.loads(finals(library, "--json").stdout)
    assert told["settings"] != asked["settings"]
    assert "It picked runner-up 1 of the search" in told["real"][1]
    again = CliRunner().invoke(app, ["export", "s", "--to", "rocksdb-10.4"])
    assert again.exit_code == 0, again.output
    assert f"# {told['real'][0]}" in again.stdout


def rather_than(refused: Mapping[str, Any]) -> Any:
    """A product that is slow with these settings, told by knobs that no scale touches."""
    unscaled = ("level0_slowdown_writes_trigger", "max_bytes_for_level_multiplier", "block_size")
    unscaled += ("filter_policy", "compression", "max_background_jobs", "bottommost_compression")
    unscaled += ("max_write_buffer_number", "cache_index_and_filter_blocks")

    def real(options: Mapping[str, Any]) -> float:
        is_refused = all(options[name] == refused[name] for name in unscaled)
        return 100.0 if is_refused else 200.0

    return real


def test_an_interrupt_keeps_what_was_measured_and_the_searchs_answer(
    fake: FakeCore, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = []

    def interrupted(options: Mapping[str, Any]) -> float:
        ran.append(options)
        if len(ran) > 5:
            raise KeyboardInterrupt
        return 100.0

    monkeypatch.setattr(fake, "real", interrupted)
    target = tmp_path / "OPTIONS"
    done = finals(library, "-o", target)
    assert done.exit_code == 130, done.output
    assert "what they measured is kept; the recommendation is that of the search" in done.stderr
    assert "to go on: tunebench tune linkbench" in done.stderr
    assert "# The finalists decided nothing: they were interrupted." in target.read_text()
    store = Store()
    assert store.final("s") is None
    session = store.verified_session("s")
    assert session is not None
    # The trial of the library and the three runs that tell the speed of the machine are none.
    assert sum(run.round > 0 for run in store.verified_runs(session)) == 5 - 4


def test_a_product_that_fails_costs_no_answer(
    fake: FakeCore, library: Path, tmp_path: Path
) -> None:
    def fail(spec: Mapping[str, Any]) -> None:
        if spec["clock"] == "real" and spec["workload"]["kind"] == "linkbench":
            raise fake.RunError("Corruption: block checksum mismatch", False)

    fake.fail = fail
    target = tmp_path / "OPTIONS"
    done = finals(library, "-o", target)
    assert done.exit_code == 1, done.output
    assert target.exists()
    assert "# The finalists decided nothing: " in target.read_text()
    assert "Corruption: block checksum mismatch" in done.stderr.splitlines()[-1]


@pytest.fixture
def without_server(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise InputError("--server", None, "no server on this machine", "one")

    monkeypatch.setattr("advisor.real.find_server", none)


@pytest.mark.usefixtures("without_server")
def test_a_winner_that_no_real_engine_runs_is_not_judged(fake: FakeCore, library: Path) -> None:
    def fail(spec: Mapping[str, Any]) -> None:
        if spec["engine"] == "lsm":
            raise fake.RunError("no such luck", False)

    fake.fail = fail
    done = tune("--finalists", 2, "--rocksdb", library)
    assert done.exit_code == 0, done.output
    assert "the finalists did not run: btree won, which no real engine here runs" in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--finalists", 2, "--engine", "btree"), "--server: found no server on this machine"),
        (
            ("--finalists", 2, "--to", "mariadb-10.11", "-o", "unwritten"),
            "found no server on this machine",
        ),
        (
            ("--finalists", 2, "--engine", "lsm", "--rocksdb", "/no/such.so"),
            "--rocksdb: found /no/such.so",
        ),
        ((), "--finalist-minutes: found 5.0; accepted: with --finalists alone"),
    ],
)
@pytest.mark.usefixtures("without_server")
def test_what_no_real_engine_can_judge_is_refused_before_the_search(
    fake: FakeCore, words: tuple[object, ...], says: str
) -> None:
    done = tune(*words)
    assert done.exit_code == 2, done.output
    (line,) = done.stderr.strip().splitlines()
    assert says in line
    assert fake.specs == []
    assert Store().studies() == []


def test_a_setting_that_the_product_lacks_is_refused_before_the_search(
    fake: FakeCore, library: Path
) -> None:
    done = finals(library, "--set", "level_compaction_dynamic_file_size=false")
    assert done.exit_code == 2, done.output
    assert "level_compaction_dynamic_file_size: fixed: always on since" in done.stderr
    assert fake.specs == []


def test_advice_about_tables_is_judged_on_a_server(fake: FakeCore, tmp_path: Path) -> None:
    server = tmp_path / "mariadbd"
    server.write_text("#!/bin/sh\necho 'mariadbd  Ver 10.11.19-MariaDB for Linux'\n")
    server.chmod(0o755)
    done = tune("--finalists", 2, "--server", server, "--engine", "btree")
    assert done.exit_code == 0, done.output
    assert f"the finalists of the btree engine will run on innodb of {server}" in done.stderr
    real = [spec for spec in fake.specs if spec["clock"] == "real"]
    assert {spec["engine"] for spec in real} == {"innodb"}
    assert {spec["options"]["server"] for spec in real} == {str(server)}
