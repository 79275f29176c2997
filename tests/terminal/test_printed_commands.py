"""Every command that the program, its reports or its pages print can be typed as it stands."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.testing import CliRunner

from advisor import core, dialects
from tests.support.fake_core import FakeCore
from tui.cli import app

ROOT = Path(__file__).parents[2]
GROUP = typer.main.get_command(app)
assert isinstance(GROUP, TyperGroup)
PAGES = ("README.md", "ARCHITECTURE.md", "Makefile", "datasets/published/README.md")
CODE = re.compile(r"`(tunebench[^`]*)`|^(?:\s*| {4}.*/)(tunebench [a-z-].*)$", re.MULTILINE)
MENTION = re.compile(r"\btunebench (--?\w[\w-]*|[a-z]+)")
FILLED_IN = "1"
"""In place of what a message fills in: a text, and a number too."""


def commands_of(text: str) -> Iterator[str]:
    """What stands between backticks, or on a line of its own."""
    text = re.sub(r"\\\n\s*", "", text)
    for quoted, line in CODE.findall(text):
        yield " ".join((quoted or line).split())


def texts_of(path: Path) -> Iterator[str]:
    """The string literals of a module."""
    inner: set[ast.AST] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            inner.update(node.values)
            parts = [v.value if isinstance(v, ast.Constant) else FILLED_IN for v in node.values]
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inner:
            yield node.value


def source_texts() -> list[tuple[str, str]]:
    modules = [*(ROOT / "advisor").rglob("*.py"), *(ROOT / "tui").rglob("*.py")]
    return [(str(m.relative_to(ROOT)), text) for m in sorted(modules) for text in texts_of(m)]


def refusal(command: str) -> str:
    """Why the command line is not understood; empty if it is. A command alone is its name."""
    _, *words = shlex.split(command, comments=True)
    if not words or words[0].startswith("-"):
        return _refused(GROUP, "tunebench", words)
    known = GROUP.commands.get(words[0])
    if known is None:
        return f"no command {words[0]!r}"
    return _refused(known, words[0], words[1:]) if len(words) > 1 else ""


def _refused(command: Any, name: str, words: list[str]) -> str:
    try:
        command.make_context(name, words, help_option_names=["-h", "--help"])
    except typer.Exit:
        return ""
    except TyperException as error:
        return str(error)
    return ""


def wrong(commands: Iterator[str]) -> dict[str, str]:
    return {command: why for command in commands if (why := refusal(command))}


def test_a_command_that_cannot_be_typed_is_noticed() -> None:
    assert refusal("tunebench export mine --to rocksdb-10.4 -o OPTIONS") == ""
    assert "No such option" in refusal("tunebench export --name mine")
    assert "Missing parameter" in refusal("tunebench tune --trials 4")
    assert refusal("tunebench exprot mine") == "no command 'exprot'"
    assert list(commands_of("see `tunebench tune x`, or\n    tunebench run y \\\n  -z\n")) == [
        "tunebench tune x",
        "tunebench run y -z",
    ]


def test_every_command_in_a_text_of_the_program_can_be_typed() -> None:
    found = [command for _, text in source_texts() for command in commands_of(text)]
    assert "tunebench doctor --calibrate" in found
    assert wrong(iter(found)) == {}


def test_every_command_in_a_text_of_the_program_stands_in_backticks() -> None:
    bare = [
        (module, match[0])
        for module, text in source_texts()
        for match in MENTION.finditer(CODE.sub("", text))
        if match[1] in GROUP.commands or match[1].startswith("-")
    ]
    assert bare == []


@pytest.mark.parametrize("page", PAGES)
def test_every_command_in_a_page_can_be_typed(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert wrong(commands_of(text)) == {}


@pytest.mark.parametrize("name", ["mine", "two words", "-x", "it's; rm"])
def test_the_commands_of_a_report_write_the_files_that_they_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(core, "load", FakeCore)
    run = CliRunner().invoke
    words = ["tune", "linkbench", "--trials", "3", "--engine", "lsm", f"--study={name}"]
    assert run(app, [*words, "-o", "out/OPTIONS", "--results", "mine.duckdb"]).exit_code == 0
    told = (tmp_path / "out" / "report.md").read_text()
    commands = list(commands_of(told.split("The file for a product:")[1].split("## ")[0]))
    assert len(commands) == len(dialects.for_engine("lsm"))
    for command in commands:
        result = run(app, shlex.split(command)[1:])
        assert result.exit_code == 0, result.output
    written = {path.relative_to(tmp_path).parts[0] for path in tmp_path.glob("*-*/*")}
    assert written == set(dialects.for_engine("lsm"))
