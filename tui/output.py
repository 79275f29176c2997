"""Data for stdout: aligned tables for people, one JSON document for programs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from datetime import date, datetime
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Any

import typer

from advisor.errors import printable

WIDEST = 1 << 24
"""Cells of a table: whoever reads it folds its lines, or not."""


@dataclass(frozen=True)
class Column:
    """A column of a table; numbers go to the right."""

    title: str
    right: bool = False


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Aligned columns under a dim header, as wide as they need. The last one is never padded."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(Text(column.title), justify="right" if column.right else "left")
    for row in rows:
        table.add_row(*(Text(printable(text), no_wrap=True) for text in row))
    console = Console(file=StringIO(), width=WIDEST, color_system=None)
    with console.capture() as drawn:
        console.print(table)
    header, *lines = [line.rstrip() for line in drawn.get().splitlines()]
    typer.echo(typer.style(header, dim=True))
    for line in lines:
        typer.echo(line)


def print_json(value: object) -> None:
    """The one document of `--json`."""
    text = json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    # Bytes of names that are not UTF-8 stand as surrogates: JSON has escapes for them.
    typer.echo(text.encode("utf-8", "backslashreplace"))


def plain(value: Any) -> Any:
    """A value as JSON knows it. A number that is not finite becomes null: it was not measured."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "model_dump"):
        return plain(value.model_dump(mode="json"))
    return str(value)


def narrate(text: str) -> None:
    """One line for the person who watches; stdout stays data."""
    typer.echo(printable(text), err=True)
