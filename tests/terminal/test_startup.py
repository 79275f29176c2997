"""The command line answers at once: what is slow to import is imported by the commands that need
it."""

import subprocess
import sys

HEAVY = ("textual", "optuna", "duckdb", "numpy", "advisor.profile", "advisor._core")


def _modules_after(statement: str) -> set[str]:
    program = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_the_command_line_loads_nothing_heavy() -> None:
    assert not _modules_after("import tui.cli").intersection(HEAVY)


def test_printing_the_help_loads_nothing_heavy() -> None:
    statement = (
        "from typer.testing import CliRunner\nimport tui.cli\n"
        "assert CliRunner().invoke(tui.cli.app, ['tune', '--help']).exit_code == 0"
    )
    assert not _modules_after(statement).intersection(HEAVY)


def test_the_workbench_paints_before_the_search_and_the_charts_are_loaded() -> None:
    loaded = _modules_after("import tui.app, tui.screens.study, tui.session")
    assert not loaded.intersection({"optuna", "duckdb", "numpy", "textual_plot"})
