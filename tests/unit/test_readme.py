"""The README names every command."""

from pathlib import Path

import pytest
from typer.main import get_command

from tests.support.readme_scorecard import SUMMARIES, quoted
from tui.cli import app

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", sorted(get_command(app).commands))  # type: ignore[attr-defined]
def test_the_readme_shows_every_command(name: str) -> None:
    assert f"tunebench {name}" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_page_names_every_module_of_the_library() -> None:
    text = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    modules = [path.name for path in (ROOT / "advisor").iterdir() if path.name[0].isalpha()]
    own = [name for name in modules if name.endswith(".py") or "." not in name]
    assert [name for name in own if f"`advisor/{name}" not in text] == []


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_readme_quotes_what_ships(name: str) -> None:
    assert quoted((ROOT / "README.md").read_text(encoding="utf-8"), name) == SUMMARIES[name]()
