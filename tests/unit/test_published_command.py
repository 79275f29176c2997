"""`tunebench published`: what stands on stdout, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import advisor.published
from advisor import core
from advisor.published import EXPERIMENTS, Experiment, Replay
from advisor.published.replay import Row
from tui.cli import app

RUNNER = CliRunner()


def answered(value: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replays whose every row has this figure."""

    def replay_all(chosen: Iterable[Experiment], **_: Any) -> Iterator[Replay]:
        for one in chosen:
            rows = tuple(Row(plan.metric, plan.published, value) for plan in one.rows)
            yield Replay(one, 0.5, rows, (), ("all runs: no result: no engine",))

    monkeypatch.setattr(advisor.published, "replay_all", replay_all)
    monkeypatch.setattr(core, "load", lambda: None)


def test_without_a_name_it_lists_the_experiments() -> None:
    shown = RUNNER.invoke(app, ["published"])
    assert shown.exit_code == 0
    assert all(name in shown.stdout for name in EXPERIMENTS)


def test_json_is_one_document_of_all_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    answered(1.0, monkeypatch)
    shown = RUNNER.invoke(app, ["published", "--all", "--json"])
    document = json.loads(shown.stdout)
    assert list(document) == ["experiments"]
    assert [one["name"] for one in document["experiments"]] == list(EXPERIMENTS)


def test_one_experiment_is_shown_as_a_scorecard(monkeypatch: pytest.MonkeyPatch) -> None:
    answered(1.0, monkeypatch)
    shown = RUNNER.invoke(app, ["published", "flash-waf"])
    assert shown.exit_code == 0
    assert "| flash_waf myrocks | 1.03 | 1 | 0.97 |" in shown.stdout


def test_a_replay_without_any_figure_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    answered(None, monkeypatch)
    shown = RUNNER.invoke(app, ["published", "flash-waf"])
    assert shown.exit_code == 1
    assert "no run gave a figure: all runs: no result: no engine" in shown.stderr


@pytest.mark.parametrize("arguments", [["flash"], ["flash-waf", "--all"]])
def test_a_wrong_name_is_a_wrong_input(arguments: list[str]) -> None:
    assert RUNNER.invoke(app, ["published", *arguments]).exit_code == 2


def test_the_scorecard_goes_to_a_file_and_never_over_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answered(1.0, monkeypatch)
    written = tmp_path / "card.md"
    arguments = ["published", "flash-waf", "-o", str(written)]
    shown = RUNNER.invoke(app, arguments)
    assert (shown.exit_code, shown.stdout) == (0, "")
    assert "| flash_waf myrocks | 1.03 | 1 | 0.97 |" in written.read_text()
    again = RUNNER.invoke(app, arguments)
    assert again.exit_code != 0
    assert RUNNER.invoke(app, [*arguments, "--force"]).exit_code == 0
