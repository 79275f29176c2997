"""The library in one line, on a core whose best settings are known."""

import inspect
import json
import runpy
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pytest

import advisor
from advisor import core, evaluate
from advisor.api import Tuned
from advisor.errors import InputError
from advisor.real import trial_run
from advisor.store import Store
from tests.support import notebook
from tests.support.fake_core import FakeCore
from tests.support.problems import trial

ROOT = Path(__file__).parents[2]
GOAL = "maximize ops_per_s subject to p99_us <= 5000"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("api")


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(core, "load", FakeCore)
    monkeypatch.setenv("TUNEBENCH_RESULTS", str(folder / "results.duckdb"))


@pytest.fixture(scope="module")
def tuned(folder: Path) -> Tuned:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "load", FakeCore)
        return advisor.tune(
            "linkbench",
            data="20GiB",
            memory="4GiB",
            goal=GOAL,
            current={"innodb_io_capacity": 400},
            trials=30,
            results=folder / "results.duckdb",
        )


def test_a_study_in_one_line_is_stored_and_explains_itself(tuned: Tuned) -> None:
    advice = tuned.recommend()
    assert str(advice.goal) == GOAL and advice.profile.memory_bytes == 4 << 30
    text = tuned.explain()
    assert text.startswith("Engine: ") and all(one.knob in text for one in advice.changes)
    again = advisor.study(tuned.name)
    assert again.explain() == text
    assert [one.name for one in advisor.studies()] == [tuned.name]
    assert tuned.name in tuned._repr_html_()
    assert repr(tuned.recommend()).startswith(f"<recommendation of {tuned.name}: ")


def test_its_trials_are_a_relation_that_holds_nobody_up(tuned: Tuned) -> None:
    trials = tuned.trials()
    assert isinstance(trials, duckdb.DuckDBPyRelation)
    (count, best) = trials.aggregate("count(*), max(ops_per_s)").fetchall()[0]
    stored = advisor.study(tuned.name)
    assert count == len(stored.trials()) >= 30 and best > 0
    settings = trials.project("settings").fetchall()[0][0]
    assert "innodb_io_capacity" in settings or "block_cache" in json.loads(settings)


@pytest.mark.parametrize(
    ("package", "frame"),
    [
        ("pandas", lambda found: found.df()),
        ("polars", lambda found: found.pl()),
        ("pyarrow", lambda found: found.arrow().read_all().to_pandas()),
    ],
)
def test_trials_are_a_frame_of_whatever_is_installed(
    tuned: Tuned, package: str, frame: Callable[[duckdb.DuckDBPyRelation], Any]
) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed")
    trials = tuned.trials()
    made = frame(trials)
    assert list(made.columns) == trials.columns
    speeds = [row[0] for row in tuned.trials().project("ops_per_s").fetchall()]
    assert made["ops_per_s"].to_list() == speeds and len(speeds) >= 30


def test_the_file_is_asked_in_one_line(tuned: Tuned, folder: Path) -> None:
    query = "SELECT engine, max(ops_per_s) AS most FROM run GROUP BY ALL ORDER BY ALL"
    found = advisor.sql(query)
    assert found.columns == ["engine", "most"]
    assert tuple(found.fetchall()) == Store(folder / "results.duckdb").sql(query).rows
    with pytest.raises(InputError, match="one query that only reads: run"):
        advisor.sql("DELETE FROM trial")


def test_the_file_is_asked_for_arrow(tuned: Tuned, folder: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    found = Store(folder / "results.duckdb").arrow(
        "SELECT engine, count(*) AS n FROM run GROUP BY ALL"
    )
    assert found.column_names == ["engine", "n"]
    assert sum(found["n"].to_pylist()) == len(tuned.trials())


def test_a_study_beside_a_run_in_one_line(tuned: Tuned, folder: Path) -> None:
    results = folder / "results.duckdb"
    run = Store(results).add_trial(replace(trial(), clock="simulated"))
    found = advisor.compare(tuned.name, run.id[:8], results=results)
    assert [side.name for side in found.sides] == [tuned.name, run.id[:8]]
    assert found.sides[0].settings == tuned.recommend().settings
    page = found._repr_html_()
    assert "ops_per_s" in page and tuned.name in page and "linkbench" in page
    with pytest.raises(InputError, match="twice"):
        advisor.compare(tuned.name, tuned.name, results=results)


def test_the_file_goes_out_in_the_words_of_a_product_of_either_engine(
    tuned: Tuned, tmp_path: Path
) -> None:
    target = tmp_path / "out" / "my.cnf"
    text = tuned.export("mysql-8.4", target)
    assert target.read_text() == text and "[mysqld]" in text
    names = {path.name for path in target.parent.iterdir()}
    assert names == {"my.cnf", "report.md", "report.html"}
    with pytest.raises(InputError, match="exists already"):
        tuned.export("mysql-8.4", target)
    assert "[CFOptions" in tuned.export("rocksdb-10.4")


def test_a_sweep_in_one_line(folder: Path) -> None:
    found = advisor.sweep("linkbench", "memory=4GiB..12GiB", steps=2, data="20GiB")
    rows = found.medians().filter("metric = 'ops_per_s'").fetchall()
    assert len(rows) == 4 and len(found.points) == 4
    assert "4GiB" in found._repr_html_()


def test_a_sweep_is_found_again_and_reported(folder: Path, tmp_path: Path) -> None:
    found = advisor.sweep("linkbench", "memory=4GiB..12GiB", steps=2, data="20GiB", name="again")
    again = advisor.stored_sweep("again")
    assert again.points == found.points and again.best("lsm") == found.best("lsm")
    target = tmp_path / "again.html"
    again.report(target)
    assert target.read_text().startswith("<!doctype html>")
    with pytest.raises(InputError, match="exists already"):
        again.report(target)
    with pytest.raises(InputError, match="no sweep 'gone'"):
        advisor.stored_sweep("gone")


def test_a_study_may_rebuild_the_data(folder: Path) -> None:
    asked = {"data": "20GiB", "memory": "4GiB", "engine": "btree", "trials": 4, "cold": True}
    current = {"innodb_page_size": "16KiB"}
    made = [
        advisor.tune("linkbench", current=current, rebuild=rebuild, **asked)  # type: ignore[arg-type]
        for rebuild in (False, True)
    ]
    stored = [Store(folder / "results.duckdb").study(one.name) for one in made]
    assert [one.identity["rebuild"] for one in stored if one] == [False, True]


def test_finalists_run_on_the_real_engine_which_picks(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (evaluate, trial_run):
        monkeypatch.setattr(module, "ProcessCore", lambda here: here)
    library = tmp_path / "librocksdb.so"
    library.write_text("for a core that opens nothing")
    asked = {"engine": "lsm", "trials": 10, "hardware": "nvme-2024", "rocksdb": library}
    study = advisor.tune("linkbench", finalists=2, **asked)  # type: ignore[arg-type]
    assert Store(folder / "results.duckdb").final(study.name) is not None
    assert "On RocksDB 0.0 itself" in " ".join(study.recommend().real)
    with pytest.raises(InputError, match="with finalists alone"):
        advisor.tune("linkbench", **asked)  # type: ignore[arg-type]
    gone = {**asked, "rocksdb": "/no/such.so"}
    with pytest.raises(InputError, match=r"/no/such\.so"):
        advisor.tune("linkbench", finalists=2, **gone)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"engine": "myisam"}, "lsm, btree or both"),
        ({"clock": "wall"}, "simulated or measured"),
        ({"current": {"no_such_knob": 1}}, "no_such_knob"),
        ({"memory": "lots"}, "lots"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(wrong: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told) as refused:
        advisor.tune("linkbench", **wrong)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)


def test_the_help_of_tune_is_enough_to_use_it() -> None:
    for function in (advisor.tune, advisor.sweep):
        told = inspect.getdoc(function) or ""
        own = set(inspect.signature(function).parameters)
        shared = set(inspect.signature(advisor.tune).parameters)
        missing = own if function is advisor.tune else own - shared
        assert [name for name in sorted(missing) if f"{name}:" not in told] == []
        assert "Example:" in told and "Returns:" in told and "Raises:" in told


def test_the_function_keeps_its_name_beside_the_module() -> None:
    import advisor.sweep.axis

    assert not isinstance(advisor.sweep, ModuleType)
    assert isinstance(sys.modules["advisor.sweep"], ModuleType)


def test_importing_the_library_loads_nothing_heavy() -> None:
    program = "import sys, advisor\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    heavy = {"optuna", "duckdb", "numpy", "pydantic", "matplotlib", "advisor.api", "advisor._core"}
    assert heavy.isdisjoint(done.stdout.split())


def test_the_script_of_ten_lines_runs_a_study_a_sweep_and_a_plot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUNEBENCH_RESULTS", str(tmp_path / "results.duckdb"))
    script = ROOT / "docs" / "study_and_sweep.py"
    code = [line for line in script.read_text().splitlines()[1:] if line]
    assert len(code) <= 10
    runpy.run_path(str(script))
    assert {"my.cnf", "memory.svg"} <= {path.name for path in tmp_path.iterdir()}
    assert "<svg" in (tmp_path / "memory.svg").read_text()
    told = capsys.readouterr().out
    assert "Engine: " in told and "Best(engine='lsm'" in told


@pytest.mark.parametrize("name", ["tune", "sweep"])
def test_the_notebooks_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUNEBENCH_RESULTS", str(tmp_path / "results.duckdb"))
    shown = notebook.run(ROOT / "docs" / f"{name}.ipynb")
    assert sum("<svg" in one for one in shown) >= 1
    assert any("ops_per_s" in one or "linkbench" in one for one in shown)
