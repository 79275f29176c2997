"""The commands: what goes to stdout, what to stderr, how they end. The core is closed-form."""

import json
import re
import shlex
import signal
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner, Result

import tui.commands.results as command_of_results
from advisor import core
from advisor.calibration import machine
from advisor.calibration.calls import Calls
from advisor.calibration.clients import Statements
from advisor.calibration.fit import Observation, fit
from advisor.profile import load, shipped
from advisor.real import Library, Server
from advisor.store import Store
from tests.support.calibration_core import WorkingCore
from tests.support.drives import PLACE, probed, storage
from tests.support.fake_core import FakeCore, FakeRun
from tests.support.problems import record
from tui.cli import app
from tui.profile_text import profile_text

MY_CNF = """\
[mysqld]
innodb_buffer_pool_size = 512M
innodb_flush_neighbors = 0
max_connections = 500
"""


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCore:
    fake = FakeCore()
    monkeypatch.setattr(core, "load", lambda: fake)
    return fake


@pytest.fixture
def my_cnf(tmp_path: Path) -> Path:
    path = tmp_path / "my.cnf"
    path.write_text(MY_CNF)
    return path


def invoke(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def refused(*words: object) -> str:
    """The one line that a wrong input is answered with."""
    result = invoke(*words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("tunebench: ")
    return lines[0]


def document(*words: object) -> dict:
    result = invoke(*words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


# run


def test_run_reports_what_was_measured(fake: FakeCore) -> None:
    result = invoke("run", "linkbench", "--engine", "lsm", "--seconds", 1, "--measure")
    assert result.exit_code == 0, result.output
    assert "measured on this machine" in result.stdout
    assert re.search(r"ops/s +[\d,]+", result.stdout)


def test_a_run_that_is_not_yet_steady_says_so_in_its_report_and_in_the_lists(
    fake: FakeCore,
) -> None:
    seen = {"is_warm": True, "changed_in_warmup": [], "changed_in_run": None}
    fake.steadiness = {"steady": False, "steadiness": seen}
    assert "not yet steady\n" in invoke("run", "linkbench", "--engine", "lsm").stdout
    assert "not yet steady" in invoke("results").stdout
    tuned = invoke("tune", "linkbench", "--trials", "4")
    assert "not yet steady" in tuned.stderr
    assert "the recommended settings were not yet steady" in tuned.stdout


def test_run_hands_the_settings_to_the_core(fake: FakeCore) -> None:
    invoke("run", "linkbench", "--engine", "lsm", "--set", "max_background_jobs=7")
    assert fake.specs[0]["options"]["max_background_jobs"] == 7


def test_run_starts_from_the_users_file(fake: FakeCore, my_cnf: Path) -> None:
    result = invoke("run", "linkbench", "--engine", "btree", "--from", my_cnf, "--json")
    assert json.loads(result.stdout)["settings"]["innodb_flush_neighbors"] in (0, "0", "off")


def test_run_prints_one_document_and_stores_the_run(fake: FakeCore, own_results: Path) -> None:
    told = document("run", "linkbench", "--engine", "btree")
    assert told["engine"] == "btree"
    assert [trial.id for trial in Store(own_results).runs()] == [told["id"]]


def test_hardware_that_is_not_this_machine_is_simulated_unless_told(fake: FakeCore) -> None:
    assert document("run", "linkbench", "--engine", "lsm")["clock"] == "simulated"
    assert document("run", "ycsb-a", "--engine", "lsm")["clock"] == "measured"


def test_a_simulated_run_asks_the_core_for_the_virtual_clock(fake: FakeCore) -> None:
    told = document(
        "run", "linkbench", "--engine", "lsm", "--simulate", "--hardware", "sata-ssd-2018"
    )
    assert told["clock"] == "simulated"
    assert fake.specs[0]["clock"] == "simulated"
    assert fake.specs[0]["hardware"]["cores"] == 56


def test_a_run_that_fails_ends_with_exit_code_one(fake: FakeCore) -> None:
    def fail(spec: object) -> None:
        raise fake.RunError("the log is broken", False)

    fake.fail = fail
    result = invoke("run", "linkbench", "--engine", "lsm")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == "tunebench: the run failed: the log is broken"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["linkbnch"], "linkbnch"),
        (["linkbench", "--data", "much"], "--data: found 'much'"),
        (["linkbench", "--memory", "0"], "--memory"),
        (["linkbench", "--set", "write_buffer_size"], "--set: found 'write_buffer_size'"),
        (["linkbench", "--engine", "lsm", "--set", "write_bufer_size=1"], "write_buffer_size"),
        (["linkbench", "--engine", "lsm", "--set", "write_buffer_size=lots"], "--set"),
        (["linkbench", "--from", "/no/such/my.cnf"], "/no/such/my.cnf"),
        (["linkbench", "--measure", "--hardware", "pcie-flash-2016"], "--measure"),
        (["linkbench", "--simulate", "--hardware", "abacus"], "abacus"),
        (["linkbench", "--engine", "lsm", "--set", "block_cache=900GiB"], "memory"),
    ],
)
def test_run_refuses_a_wrong_input_in_one_line(fake: FakeCore, words: list[str], told: str) -> None:
    assert told in refused("run", *words)


def test_a_missing_core_is_work_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise core.WorkError("the compiled core cannot be loaded: it is not built")

    monkeypatch.setattr(core, "load", absent)
    result = invoke("run", "linkbench", "--engine", "lsm")
    assert result.exit_code == 1
    assert "not built" in result.stderr


# tune and export


def test_tune_narrates_on_stderr_and_answers_on_stdout(fake: FakeCore) -> None:
    result = invoke("tune", "linkbench", "--trials", 8)
    assert result.exit_code == 0, result.output
    assert "trial    1/8" in result.stderr
    assert "recommended" in result.stdout
    assert "trial    1/8" not in result.stdout


def test_trials_count_from_one_everywhere(fake: FakeCore, tmp_path: Path) -> None:
    target = tmp_path / "my.cnf"
    words = ["--trials", 3, "--engine", "btree", "--study", "mine", "-o", target]
    told = invoke("tune", "linkbench", *words)
    assert re.findall(r"trial +(\d)/3", told.stderr) == ["1", "2", "3"]
    report = (tmp_path / "report.md").read_text().split("## All trials")[1]
    assert re.findall(r"^\| (\d) \|", report, re.M) == ["1", "2", "3"]
    assert re.findall(r"^ +(\d) ", invoke("results", "mine").stdout, re.M) == ["1", "2", "3"]
    assert [trial["number"] for trial in document("results", "mine")["trials"]] == [1, 2, 3]
    rows = document("results", "--sql", "SELECT number FROM run ORDER BY number")
    assert [row["number"] for row in rows] == [1, 2, 3]


def test_tune_prints_one_document(fake: FakeCore) -> None:
    told = document("tune", "linkbench", "--trials", 8, "--study", "mine")
    assert told["study"] == "mine"
    assert [column["title"] for column in told["columns"]][-2:] == [
        "default",
        "recommended",
    ]
    assert {change["knob"] for change in told["changes"]} <= set(told["settings"])


def test_tune_writes_the_file_and_its_report(fake: FakeCore, tmp_path: Path) -> None:
    target = tmp_path / "tuned" / "my.cnf"
    words = ["--trials", 6, "--engine", "btree", "--to", "mariadb-10.11", "-o", target]
    result = invoke("tune", "linkbench", *words)
    assert result.exit_code == 0, result.output
    assert "innodb_buffer_pool_size" in target.read_text()
    assert (target.parent / "report.md").read_text().startswith("#")


def test_tune_writes_a_losing_engine_when_asked_and_names_the_loss(
    fake: FakeCore, tmp_path: Path
) -> None:
    target = tmp_path / "my.cnf"
    result = invoke("tune", "linkbench", "--trials", 8, "--to", "mysql-8.4", "-o", target)
    assert result.exit_code == 0, result.output
    assert "mysql-8.4 is for B-tree" in result.stderr
    assert "innodb" in target.read_text()


def test_the_dialect_follows_the_users_own_file(
    fake: FakeCore, my_cnf: Path, tmp_path: Path
) -> None:
    target = tmp_path / "tuned" / "my.cnf"
    words = ["--trials", 6, "--engine", "lsm", "--set", "max_background_jobs=2"]
    result = invoke("tune", "linkbench", *words, "-o", target)
    assert result.exit_code == 0, result.output
    assert "rocksdb" in target.read_text()
    assert "[mariadbd]" in target.read_text()


def test_tune_refuses_before_the_search_to_write_over_a_file(fake: FakeCore, my_cnf: Path) -> None:
    assert "--force" in refused("tune", "linkbench", "-o", my_cnf)
    assert fake.runs == []
    assert my_cnf.read_text() == MY_CNF


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--to", "mariadb-10.11"], "--to: found no -o"),
        (["--force"], "--force: found no -o"),
        (["--to", "oracle-7", "-o", "x"], "mariadb-10.11"),
        (["--engine", "lsm", "--to", "mysql-8.4", "-o", "x"], "rocksdb-10.4"),
        (["--goal", "maximise ops_per_s"], "maximize"),
        (["--goal", "minimize p99"], "p99_us"),
    ],
)
def test_tune_refuses_a_wrong_input_in_one_line(
    fake: FakeCore, words: list[str], told: str
) -> None:
    assert told in refused("tune", "linkbench", *words)


def test_a_study_resumes_by_its_name_and_refuses_another_question(fake: FakeCore) -> None:
    invoke("tune", "linkbench", "--trials", 4, "--study", "mine", "--seconds", 1)
    told = document("tune", "linkbench", "--trials", 6, "--study", "mine", "--seconds", 1)
    assert told["trials"] >= 6
    assert "mine" in refused("tune", "linkbench", "--study", "mine", "--clients", 3)


def test_an_interrupt_ends_the_study_after_its_trial_and_tells_what_was_measured(
    fake: FakeCore, own_results: Path
) -> None:
    def interrupt_the_third(spec: object) -> None:
        if len(fake.specs) == 3:
            signal.raise_signal(signal.SIGINT)

    fake.fail = interrupt_the_third
    result = invoke("tune", "linkbench", "--trials", 20, "--study", "mine")
    assert result.exit_code == 130
    assert "recommended" in result.stdout
    assert len(Store(own_results).trials("mine")) == 3


def test_an_interrupted_study_says_the_command_that_goes_on_with_it(
    fake: FakeCore, my_cnf: Path, tmp_path: Path
) -> None:
    def interrupt_the_third(spec: object) -> None:
        if len(fake.specs) == 3:
            signal.raise_signal(signal.SIGINT)

    fake.fail = interrupt_the_third
    results = tmp_path / "my results.duckdb"
    words = ["--from", my_cnf, "--set", "innodb_page_size=8K", "--set", "sync=true"]
    words += ["--goal", "minimize p99_us", "--measure", "--trials", 6, "--seconds", 1]
    first = invoke("tune", "linkbench", *words, "--results", results, "-o", tmp_path / "out.cnf")
    last = first.stderr.splitlines()[-1]
    assert first.exit_code == 130
    assert last.startswith("to go on: tunebench tune linkbench ")
    _, *again = shlex.split(last.removeprefix("to go on: "))
    assert again[again.index("--study") + 1] == "linkbench-1"
    second = invoke(*again)
    assert second.exit_code == 0, second.output
    assert [study.name for study in Store(results).studies()] == ["linkbench-1"]
    assert [one.number for one in Store(results).trials("linkbench-1")][:6] == [*range(1, 7)]


def test_a_study_that_is_interrupted_before_it_measured_anything_can_go_on(
    fake: FakeCore,
) -> None:
    def interrupt_twice(self: FakeRun) -> list[dict[str, object]]:
        signal.raise_signal(signal.SIGINT)
        return []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeRun, "poll", interrupt_twice)
        result = invoke("tune", "linkbench", "--trials", 20, "-o", "never.cnf")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr.splitlines()[-1] == (
        "to go on: tunebench tune linkbench --trials 20 --study linkbench-1 --output never.cnf"
    )


def test_a_second_interrupt_drops_the_running_trial(fake: FakeCore, own_results: Path) -> None:
    def interrupt_twice(self: FakeRun) -> list[dict[str, object]]:
        if len(fake.specs) == 3:
            signal.raise_signal(signal.SIGINT)
        return []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeRun, "poll", interrupt_twice)
        result = invoke("tune", "linkbench", "--trials", 20, "--study", "mine")
    assert result.exit_code == 130
    assert len(Store(own_results).trials("mine")) == 2


def test_an_interrupted_run_leaves_no_traceback(fake: FakeCore) -> None:
    def interrupt(spec: object) -> None:
        raise KeyboardInterrupt

    fake.fail = interrupt
    result = invoke("run", "linkbench", "--engine", "lsm")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr.strip() == "tunebench: interrupted"


def test_export_writes_a_stored_study_to_stdout(fake: FakeCore) -> None:
    invoke("tune", "linkbench", "--trials", 6, "--engine", "btree")
    result = invoke("export", "--to", "mysql-8.4")
    assert result.exit_code == 0, result.output
    assert "innodb_buffer_pool_size" in result.stdout


def test_export_keeps_a_file_that_exists(fake: FakeCore, my_cnf: Path) -> None:
    invoke("tune", "linkbench", "--trials", 6, "--engine", "btree")
    assert "--force" in refused("export", "-o", my_cnf)
    assert invoke("export", "-o", my_cnf, "--force").exit_code == 0
    assert "tunebench" in my_cnf.read_text()


OPTIONS = """\
[Version]
  rocksdb_version=10.4.2
  options_file_version=1.1
[DBOptions]
  bytes_per_sync=1048576
[CFOptions "default"]
  merge_operator=StringAppendOperator
  write_buffer_size=67108864
"""


def test_the_users_own_file_comes_back_with_the_changes_in_it(
    fake: FakeCore, tmp_path: Path
) -> None:
    mine, tuned, again = (tmp_path / name for name in ("OPTIONS", "tuned", "again"))
    mine.write_text(OPTIONS)
    mine.chmod(0o600)
    words = ["--engine", "lsm", "--from", mine, "--force", "--trials", 8]
    done = invoke("tune", "linkbench", *words, "--study", "mine", "-o", tuned / "OPTIONS")
    assert done.exit_code == 0, done.output
    assert "rocksdb-10.4 file. As it stands:" in done.stdout
    text = (tuned / "OPTIONS").read_text()
    for line in OPTIONS.splitlines():
        assert line in text.splitlines() or line.startswith("  write_buffer_size")
    assert "As it stands:" in text
    assert stat.S_IMODE((tuned / "OPTIONS").stat().st_mode) == 0o600
    assert invoke("export", "--study", "mine", "-o", again / "OPTIONS").exit_code == 0
    assert (again / "OPTIONS").read_text() == text
    assert "As it stands:" in (tuned / "report.md").read_text()


def test_export_takes_the_study_by_place_too(fake: FakeCore) -> None:
    for name in ("first", "second"):
        invoke("tune", "linkbench", "--trials", 3, "--engine", "btree", "--study", name)
    assert document("export", "first")["study"] == document("export", "--study", "first")["study"]
    assert document("export")["study"] == "second"
    assert "one study" in refused("export", "first", "--study", "second")


def test_a_report_never_replaces_that_of_another_study(fake: FakeCore, tmp_path: Path) -> None:
    def tune(study: str, *words: object) -> Result:
        words = ("--trials", 2, "--engine", "btree", "--study", study, *words)
        return invoke("tune", "linkbench", *words)

    usual, folder = tmp_path / "out" / "report.md", tmp_path / "out"
    assert tune("first", "-o", folder / "a.cnf").exit_code == 0
    first = usual.read_text()
    (folder / "b.cnf").write_text("of last week\n")
    told = tune("second", "-o", folder / "b.cnf", "--force")
    assert "b.cnf.report.md" in told.stderr
    assert usual.read_text() == first
    assert (folder / "b.cnf.report.md").read_text().startswith("# Tuning report: second\n")
    assert tune("first", "-o", folder / "a.cnf", "--force").exit_code == 0
    assert not (folder / "a.cnf.report.md").exists()
    assert tune("third", "-o", tmp_path / "report.md").exit_code == 0
    assert "[mariadbd]" in (tmp_path / "report.md").read_text()


def test_export_without_a_study_says_how_to_make_one(fake: FakeCore) -> None:
    assert "tunebench tune" in refused("export")


# import, results, profiles, doctor


def test_import_shows_what_was_understood_and_what_was_not(my_cnf: Path) -> None:
    result = invoke("import", my_cnf)
    assert result.exit_code == 0, result.output
    assert re.search(r"innodb_buffer_pool_size +512MiB", result.stdout)
    assert "max_connections" in result.stdout.split("not used")[1]


def test_import_writes_a_profile_that_can_be_loaded(my_cnf: Path, tmp_path: Path) -> None:
    target = tmp_path / "mine.toml"
    result = invoke("import", my_cnf, "--profile", "linkbench", "-o", target)
    assert result.exit_code == 0, result.output
    made = load(target)
    assert made.engines == ("btree",)
    assert made.memory_bytes > 512 * 1024**2
    assert made.data_bytes == load("linkbench").data_bytes


def test_import_needs_a_workload_to_write_a_profile(my_cnf: Path) -> None:
    assert "--profile" in refused("import", my_cnf, "-o", "x.toml")


def test_results_lists_studies_and_runs(fake: FakeCore) -> None:
    invoke("tune", "linkbench", "--trials", 4, "--study", "mine")
    run = document("run", "linkbench", "--engine", "lsm")
    result = invoke("results")
    assert "mine" in result.stdout
    assert run["id"][:8] in result.stdout


def test_the_results_file_is_said_before_the_command_or_after_it(
    fake: FakeCore, tmp_path: Path
) -> None:
    other = tmp_path / "other.duckdb"
    assert invoke("--results", other, "run", "linkbench", "--engine", "lsm").exit_code == 0
    assert "LSM" not in invoke("results").stdout
    assert "LSM" in invoke("results", "--results", other).stdout
    assert "LSM" in invoke("--results", other, "results").stdout
    assert invoke("--results", other, "profiles").exit_code == 2


def test_results_shows_a_study_and_a_run(fake: FakeCore) -> None:
    invoke("tune", "linkbench", "--trials", 4, "--study", "mine")
    assert len(document("results", "mine")["trials"]) >= 4
    run = document("run", "linkbench", "--engine", "lsm")
    assert document("results", run["id"][:8])["id"] == run["id"]


def test_results_answers_a_query(fake: FakeCore) -> None:
    document("run", "linkbench", "--engine", "lsm")
    assert document("results", "--sql", "SELECT count(*) AS n FROM trial") == [{"n": 1}]


def test_results_refuses_a_query_that_changes_something(fake: FakeCore) -> None:
    document("run", "linkbench", "--engine", "lsm")
    assert "--sql" in refused("results", "--sql", "DELETE FROM trial")


def test_results_deletes_a_study_only_when_told_twice(fake: FakeCore, own_results: Path) -> None:
    Store(own_results).add_study(record("night"))
    assert "--force" in refused("results", "--delete", "night")
    gone = document("results", "--delete", "night", "--force")
    assert gone == {"deleted": "night", "kind": "study", "trials": 0}
    assert Store(own_results).studies() == []
    assert "'night'" in refused("results", "--delete", "night", "--force")


@pytest.mark.parametrize(("answer", "left"), [("n\n", ["night"]), ("y\n", []), ("", ["night"])])
def test_results_asks_at_a_terminal_before_it_deletes(
    answer: str, left: list[str], own_results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(own_results).add_study(record("night"))
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr(command_of_results, "sys", SimpleNamespace(stdin=terminal))
    result = CliRunner().invoke(app, ["results", "--delete", "night"], input=answer)
    assert "Delete the study night with 0 trials?" in result.stderr
    assert [one.name for one in Store(own_results).studies()] == left


def test_results_lists_what_a_query_can_ask() -> None:
    listed = document("results", "--tables")
    assert {"table": "run", "column": "ops_per_s", "type": "DOUBLE"} in listed
    assert "--tables" in refused("results", "mine", "--tables")
    assert "--tables" in refused("results", "--tables", "--sql", "SELECT 1")


def test_bytes_that_are_not_utf8_stay_in_the_users_own_file(
    fake: FakeCore, my_cnf: Path, tmp_path: Path
) -> None:
    odd = b"# caf\xe9\n[client]\npassword = caf\xe9\n"
    my_cnf.write_bytes(my_cnf.read_bytes() + odd)
    target = tmp_path / "tuned" / "my.cnf"
    words = ["--trials", 6, "--engine", "btree", "--from", my_cnf, "--study", "mine"]
    result = invoke("tune", "linkbench", *words, "-o", target)
    assert result.exit_code == 0, result.output
    assert odd in target.read_bytes()
    assert odd in invoke("export", "mine").stdout_bytes


def test_results_of_nothing_says_so_on_stderr() -> None:
    result = invoke("results")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "nothing is stored" in result.stderr


def test_profiles_lists_every_shipped_one() -> None:
    assert {profile["name"] for profile in document("profiles")} == set(shipped())


@pytest.mark.parametrize("name", sorted(shipped()))
def test_a_shown_profile_is_a_file_that_loads_to_the_same(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.toml"
    path.write_text(profile_text(load(name)))
    assert load(path) == load(name)


def test_a_profile_with_a_mistake_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(profile_text(load("linkbench")).replace('data = "', 'data = "x'))
    told = refused("profiles", path)
    assert "bad.toml" in told
    assert "data" in told


def test_doctor_says_which_rocksdb_would_judge(
    fake: FakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library, state in (("librocksdb.so.7.8", "ok"), (None, "note")):
        monkeypatch.setattr("ctypes.util.find_library", lambda name, found=library: found)
        found = {one["what"]: one for one in document("doctor")["findings"]}["librocksdb"]
        assert found["state"] == state
        assert (library or "--rocksdb PATH") in found["text"]


def test_doctor_describes_the_machine(fake: FakeCore) -> None:
    found = {one["what"]: one for one in document("doctor")["findings"]}
    assert found["core"]["state"] == "ok"
    assert "usable" in found["processors"]["text"]
    assert "--calibrate" in found["calibration"]["text"]


def test_a_calibration_is_kept_as_this_machine(
    monkeypatch: pytest.MonkeyPatch, own_config: Path
) -> None:
    monkeypatch.setattr(core, "load", WorkingCore)
    monkeypatch.setattr(machine, "probe", probed)
    server = Server("/usr/sbin/mariadbd", "innodb", "mariadb-10.11")
    library = tmp_library(own_config.parent)
    monkeypatch.setattr("advisor.real.on_this_machine", lambda: [library, server])
    asked = []

    def measured(real: Server, *_: object, **__: object) -> Calls:
        asked.append(real)
        found = fit([Observation("one load", {"statement": 2.0}, 18_000.0)], {"statement": 9000.0})
        return Calls(
            "innodb", "InnoDB of MariaDB 10.11", found, (Statements("a", 20.0, 6.0),), 85.0
        )

    monkeypatch.setattr(machine, "measure", measured)
    assert "not calibrated" in refused("run", "ycsb-a", "--engine", "lsm", "--simulate")
    told = document("doctor", "--calibrate")
    path = own_config / "tunebench" / "hardware" / "this-machine.toml"
    assert told["file"] == str(path)
    assert set(told["determined"]) <= set(told["work_ns"])
    assert asked == [server], "not the library, which has assertions"
    assert told["calls"]["innodb"]["ns"]["statement"] == pytest.approx(9000)
    assert told["storage"]["disks"] == list(PLACE.disks)
    assert told["storage"]["drive"]["random_reads"][0]["mean_us"] == pytest.approx(80)
    found = {one["what"]: one for one in document("doctor")["findings"]}
    assert found["calibration"]["state"] == "ok"
    assert PLACE.words in found["calibration"]["text"]
    assert "--force" in refused("doctor", "--calibrate")
    shown = invoke("doctor", "--calibrate", "--force")
    assert shown.exit_code == 0
    assert f"/var/tmp: {PLACE.words}; direct I/O" in shown.stdout
    assert "12,500/s, 80 µs" in shown.stdout
    assert "InnoDB of MariaDB 10.11" in shown.stdout
    assert "is built with assertions" in shown.stderr
    monkeypatch.setattr(core, "load", FakeCore)
    assert document("run", "ycsb-a", "--engine", "lsm", "--simulate")["clock"] == "simulated"


def tmp_library(folder: Path) -> Library:
    """A library whose texts are those of assertions."""
    path = folder / "librocksdb.so"
    path.write_bytes(b"!= nullptr\0" * 50)
    return Library(str(path))


def test_a_drive_that_was_not_measured_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "load", WorkingCore)
    monkeypatch.setattr("advisor.real.on_this_machine", list)
    unmeasured = storage(unmeasured="tmpfs is memory and has no drive")
    monkeypatch.setattr(machine, "probe", lambda *_: unmeasured)
    calibrated = invoke("doctor", "--calibrate")
    assert re.findall(r"^\d+ of \d+ · ", calibrated.stderr, re.MULTILINE), "no terminal is watched"
    shown = calibrated.stdout
    assert "The drive was not measured: tmpfs is memory and has no drive" in shown
    assert "MB/s" not in shown
    found = {one["what"]: one for one in document("doctor")["findings"]}
    assert found["calibration"]["state"] == "note"
    assert "the drive was not measured" in found["calibration"]["text"]


def test_an_interrupted_calibration_writes_nothing(
    monkeypatch: pytest.MonkeyPatch, own_config: Path
) -> None:
    working = WorkingCore()

    def interrupted(spec: dict) -> FakeRun:
        raise KeyboardInterrupt

    monkeypatch.setattr(working, "Run", interrupted)
    monkeypatch.setattr(core, "load", lambda: working)
    assert invoke("doctor", "--calibrate").exit_code == 130
    assert not own_config.exists()


def test_a_file_of_a_calibration_needs_a_calibration(tmp_path: Path) -> None:
    assert "--calibrate" in refused("doctor", "-o", tmp_path / "x.toml")


def test_a_place_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    below = tmp_path / "file" / "x"
    for work in (("doctor", "--calibrate"), ("published", "--all")):
        assert "can be written" in refused(*work, "-o", below)
        assert "a folder" in refused(*work, "--force", "-o", tmp_path)


def test_doctor_fails_without_a_core(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise core.WorkError("the compiled core cannot be loaded")

    monkeypatch.setattr(core, "load", absent)
    assert invoke("doctor").exit_code == 1


# the command line itself


def test_an_unknown_option_is_a_usage_error() -> None:
    assert invoke("run", "linkbench", "--fast").exit_code == 2


def test_results_belongs_after_the_command() -> None:
    assert invoke("--results", "x.duckdb", "results").exit_code == 2


def test_without_a_terminal_the_workbench_is_not_opened() -> None:
    assert "no terminal" in refused()
