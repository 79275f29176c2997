"""What the shell is offered, asked as a shell asks."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from advisor.dialects import for_engine
from advisor.profile import shipped, shipped_hardware
from advisor.store import Store
from tests.support.problems import record, trial
from tests.terminal.conftest import environment
from tui.cli import app


def asking(*words: str) -> dict[str, str]:
    """The environment in which bash asks for the last word."""
    line = " ".join(["tunebench", *words])
    return {
        "_TUNEBENCH_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words)),
    }


def offered(*words: str) -> list[str]:
    result = CliRunner().invoke(app, [], env=asking(*words))
    assert result.stderr == ""
    return result.stdout.split()


def test_commands_and_shipped_names_are_offered() -> None:
    assert {"tune", "results"} <= set(offered("")) | set(offered("t")) | set(offered("r"))
    assert set(offered("run", "")) == set(shipped())
    assert offered("run", "linkb") == ["linkbench"]
    assert set(shipped_hardware()) <= set(offered("run", "linkbench", "--hardware", ""))


def test_knobs_are_offered_with_their_values() -> None:
    assert "write_buffer_size=" in offered("run", "linkbench", "--set", "write_b")
    assert offered("run", "linkbench", "--set", "nothing=") == []


def test_every_dialect_is_offered() -> None:
    everything = {*for_engine("lsm"), *for_engine("btree")}
    assert set(offered("export", "--to", "")) == everything


def test_stored_studies_are_offered(own_results: Path) -> None:
    assert offered("results", "--delete", "") == []
    assert not own_results.exists()
    Store(own_results).add_study(record("night"))
    Store(own_results).add_trial(trial(), "night")
    assert offered("results", "--delete", "n") == ["night"]
    assert offered("export", "--study", "") == ["night"]
    assert offered("export", "--results", "/dev/zero", "--study", "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_shown(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    assert "complete" in CliRunner().invoke(app, ["--show-completion", shell]).stdout


def test_completing_loads_nothing_that_the_answer_does_not_need() -> None:
    program = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(*sys.modules))\n"
        "sys.argv = ['tunebench']\n"
        "from tui.cli import main\n"
        "main()"
    )
    told = environment(**asking("export", "--to", "mysql"))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=told, check=False
    )
    loaded = done.stdout.split()
    assert {"mysql-8.4", "tui.completions"} <= set(loaded)
    assert not {"textual", "optuna", "duckdb", "numpy"}.intersection(loaded)
