"""What the pages of `docs/` name: files, and tests of the core and of the library.

A path stands in backticks and begins at the root of the project or at `rust_core/src`. In a table
with the columns `file` and `test`, a test stands by its bare name if it is in the room of the row's
file, else behind the path of its own file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = ROOT / "rust_core" / "src"
WIDEST = 120

QUOTED = re.compile(r"`([^`]+)`")
PATH = re.compile(r"[\w.*-]+(/[\w.*-]+)*/?$")
ENDS = (".rs", ".py", ".md", ".toml", ".txt", ".csv", "/")
RUST_TEST = re.compile(r"#\[test\]\s*(?:#\[[^\]]*\]\s*)*(?:async )?fn (\w+)")
PYTHON_TEST = re.compile(r"^(?:async )?def (test_\w+)", re.MULTILINE)
NO_TEST = "none"


@dataclass(frozen=True)
class Row:
    """A row of a table that names what is modelled, where, and what holds it."""

    effect: str
    source: str
    files: tuple[str, ...]
    test: str


def prose(text: str) -> list[str]:
    """The lines outside fences and tables, which cannot be broken."""
    lines, fenced = [], False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith(("|", "    ")):
            lines.append(line)
    return lines


def named_paths(text: str) -> list[str]:
    """The paths in backticks, outside fences."""
    lines = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return [word for word in QUOTED.findall(lines) if PATH.match(word) and word.endswith(ENDS)]


def found(path: str) -> list[Path]:
    """The files and folders that a path of a page stands for."""
    return [one for base in (ROOT, CORE) for one in sorted(base.glob(path.rstrip("/")))]


def rows(text: str) -> Iterator[Row]:
    """The rows of all tables that have a column for files and one for tests."""
    columns: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line[:1] == "|" else []
        if not cells:
            columns = []
        elif not columns:
            columns = cells
        elif {"file", "test"} <= set(columns) and not line.startswith("|--"):
            cell = dict(zip(columns, cells, strict=True))
            files = tuple(QUOTED.findall(cell["file"]))
            yield Row(cells[0], cell.get("source", ""), files, cell["test"])


def missing_tests(row: Row) -> list[str]:
    """The tests of a row that are not where it says."""
    if row.test == NO_TEST:
        return []
    words = QUOTED.findall(row.test)
    own: str | None = None
    missing = [] if words else [row.test]
    for word in words:
        if word.endswith((".rs", ".py")):
            own = word
        elif word not in (_tests_of(own) if own else _tests_beside(row.files)):
            missing.append(f"{own or 'beside ' + ', '.join(row.files)}: {word}")
    return missing


def _tests_beside(files: tuple[str, ...]) -> frozenset[str]:
    return frozenset().union(*(_tests_of_room(file.split("/")[0]) for file in files))


@cache
def _tests_of_room(room: str) -> frozenset[str]:
    paths = [*found(room), *found(f"{room}.rs"), *(CORE / room).rglob("*.rs")]
    return frozenset().union(*(_tests_in(path) for path in paths if path.is_file()))


def _tests_of(path: str) -> frozenset[str]:
    return frozenset().union(*(_tests_in(one) for one in found(path)))


@cache
def _tests_in(path: Path) -> frozenset[str]:
    pattern = PYTHON_TEST if path.suffix == ".py" else RUST_TEST
    return frozenset(pattern.findall(path.read_text(encoding="utf-8")))
