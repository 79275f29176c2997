"""`compare`: what stands side by side, and what is refused."""

from pathlib import Path

import pytest

import advisor
from advisor import core
from advisor.store import Store
from tests.support.fake_core import FakeCore
from tests.support.problems import record
from tests.terminal.test_commands import document, invoke, refused
from tests.terminal.test_completion import offered


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCore:
    fake = FakeCore()
    monkeypatch.setattr(core, "load", lambda: fake)
    return fake


def run(*words: object) -> str:
    """The id of a run, as lists show it."""
    return str(document("run", "linkbench", "--engine", "lsm", *words)["id"])[:8]


def test_two_runs_stand_side_by_side_with_what_differs(fake: FakeCore) -> None:
    one, other = run("--simulate"), run("--simulate", "--set", "write_buffer_size=8MiB")
    shown = invoke("compare", one, other).stdout.splitlines()
    assert f"metric {one} {other} {other} against {one}" in (" ".join(x.split()) for x in shown)
    assert any(line.startswith("ops/s") and "from a single run" in line for line in shown)
    changed = next(line for line in shown if line.startswith("write_buffer_size"))
    assert changed.split()[1:] == ["64MiB", "8MiB"]
    assert not any(line.startswith("block_size") for line in shown)


def test_head_lines_say_what_each_was_run_on(fake: FakeCore) -> None:
    one = run("--simulate")
    other = run("--hardware", "sata-ssd-2018", "--data", "1GiB", "--memory", "512MiB")
    shown = invoke("compare", one, other).stdout
    assert "linkbench on the LSM engine, simulated on sata-ssd-2018" in shown
    assert "1GiB of data, 512MiB of memory" in shown
    assert "differ in more than settings: hardware, scale, data, memory" in shown


def test_studies_stand_for_what_they_recommend(fake: FakeCore) -> None:
    words = ("--hardware", "sata-ssd-2018", "--engine", "lsm")
    for name, seed in (("one", 1), ("two", 2)):
        invoke("tune", "linkbench", *words, "--trials", 40, "--study", name, "--seed", seed)
    found = document("compare", "one", "two")
    assert [side["kind"] for side in found["compared"]] == ["study", "study"]
    assert found["compared"][0]["settings"] == advisor.study("one").recommend().settings
    ops = next(row for row in found["metrics"] if row["metric"] == "ops_per_s")
    assert ops["values"][0] == found["compared"][0]["metrics"]["ops_per_s"]
    assert ops["verdicts"][0]["outcome"] in ("better", "worse", "within noise")
    assert (found["settings"][0]["engine"], found["not_compared"]) == ("lsm", {})


def test_clocks_are_not_compared(fake: FakeCore) -> None:
    measured, simulated = run("--measure"), run("--hardware", "sata-ssd-2018")
    shown = invoke("compare", measured, simulated).stdout
    assert "simulated against measured: not compared" in shown
    assert "single run" not in shown
    found = document("compare", measured, simulated)
    assert list(found["not_compared"]) == [simulated]
    assert all(row["verdicts"] == [None] for row in found["metrics"])


def test_names_that_cannot_be_compared_are_refused_in_one_line(
    fake: FakeCore, tmp_path: Path
) -> None:
    one, other = run(), run()
    assert "twice" in refused("compare", one, one)
    assert "only" in refused("compare", one)
    assert "'nothing'" in refused("compare", one, "nothing")
    assert "more than one trial" in refused("compare", other, "")
    assert "--results" in refused("compare", one, other, "--results", tmp_path / "gone")


def test_studies_are_offered_in_every_place(own_results: Path) -> None:
    Store(own_results).add_study(record("night"))
    assert offered("compare", "n") == ["night"]
    assert offered("compare", "x", "n") == ["night"]
