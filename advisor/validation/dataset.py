"""The table: one row for each metric of each run, real or predicted, as tidy CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

from advisor.atomic import write_text
from advisor.data import data_path
from advisor.errors import InputError


@dataclass(frozen=True)
class Row:
    """One number."""

    case: str
    work: str
    """Digest of the case: what it does, on how much data, in how much memory."""
    configuration: str
    settings: str
    """Digest of the configuration's settings."""
    source: str
    """`real` or `predicted`."""
    repeat: int
    """Number of the run, from 1: only some are repeated, for the noise."""
    metric: str
    value: float
    product: str
    """Name and version, of real runs."""
    core: str
    """Version of the core that predicted."""
    host: str
    """The machine that ran, or that was predicted: its processor and the probe of its drive."""

    @property
    def run(self) -> tuple[str, ...]:
        """Which run it is of."""
        return self.work, self.settings, self.source, str(self.repeat)


_COLUMNS = [field.name for field in fields(Row)]


def shipped(file: str) -> list[Row]:
    """The rows of a table that comes with the program; none where it does not."""
    path = data_path("datasets", "validation") / file
    return read(path) if path.is_file() else []


def read(path: Path) -> list[Row]:
    """The rows of a table. Raises `InputError` for a file that is none."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        try:
            if reader.fieldnames != _COLUMNS:
                found = ", ".join(reader.fieldnames or ())
                raise InputError(path, 1, found, ", ".join(_COLUMNS))
            return [_row(row) for row in reader]
        except (TypeError, ValueError, csv.Error) as error:
            accepted = "a table of `tunebench validation`"
            raise InputError(path, reader.line_num, str(error), accepted) from error


def _row(row: dict[str, str]) -> Row:
    if row["source"] not in ("real", "predicted"):
        raise ValueError(f"the source {row['source']!r}")
    return Row(**{**row, "repeat": int(row["repeat"]), "value": float(row["value"])})  # type: ignore[arg-type]


def add(path: Path, rows: Iterable[Row]) -> None:
    """Appends rows; a table that is new begins with its columns."""
    is_new = not path.exists() or not path.stat().st_size
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", newline="") as file:
        file.write(_text(rows, is_new))


def replace(path: Path, rows: Iterable[Row]) -> None:
    """Writes a table of these rows alone, whole or not at all. Raises as `atomic.write_text`."""
    write_text(path, _text(rows, with_columns=True), force=True)


def _text(rows: Iterable[Row], with_columns: bool) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if with_columns:
        writer.writerow(_COLUMNS)
    for row in rows:
        values = [getattr(row, name) for name in _COLUMNS]
        writer.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in values])
    return text.getvalue()
