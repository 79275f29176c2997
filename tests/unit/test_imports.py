"""Who may know whom in the Python sources: the contracts of `pyproject.toml` hold."""

from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

CONTRACTS = Path(__file__).parents[2] / "pyproject.toml"


def test_no_import_goes_up_the_road_or_round_in_a_circle(
    capsys: pytest.CaptureFixture[str],
) -> None:
    kept = lint_imports(str(CONTRACTS), no_cache=True) == EXIT_STATUS_SUCCESS
    assert kept, capsys.readouterr().out
