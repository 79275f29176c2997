"""`tunebench sweep`: its name, its runs, and how it goes on."""

from pathlib import Path

import pytest

from advisor import core
from advisor.store import Store
from tests.support.fake_core import FakeCore
from tests.terminal.test_commands import document, invoke, refused
from tests.terminal.test_completion import offered

WORDS = ("sweep", "linkbench", "--over", "memory=4GiB,8GiB", "--data", "20GiB")
ON = (*WORDS, "--hardware", "nvme-2024", "--sweep", "night")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCore:
    fake = FakeCore()
    monkeypatch.setattr(core, "load", lambda: fake)
    return fake


def test_a_sweep_has_the_name_and_the_runs_that_were_asked_for(
    fake: FakeCore, own_results: Path
) -> None:
    told = document(*ON, "--runs", 3)
    assert told["sweep"] == "night" and {point["runs"] for point in told["points"]} == {3}
    assert [one["label"] for one in told["cells"]] == ["4GiB", "8GiB"]
    assert offered("sweep", "--sweep", "n") == ["night"]
    assert "runs: found 2; accepted: 3 as stored" in refused(*ON)


def test_a_sweep_that_is_whole_is_told_again_and_runs_no_more(fake: FakeCore) -> None:
    told, runs = document(*ON), len(fake.specs)
    assert document(*ON) == told
    assert len(fake.specs) == runs


def test_an_interrupted_sweep_says_how_to_go_on(
    fake: FakeCore, own_results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.commands.sweep.Event", Set)
    done = invoke(*ON)
    assert done.exit_code == 130
    assert "to go on: tunebench sweep linkbench --over memory=4GiB,8GiB" in done.stderr
    assert done.stderr.strip().endswith("--sweep night")
    assert Store(own_results).sweep_points("night") == []


class Set:
    """Asked to stop before it begins."""

    def set(self) -> None: ...

    def is_set(self) -> bool:
        return True
