"""All trials of a study, or of the file, as a table of their own: a row for each, metrics and
settings as columns. DuckDB writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.errors import InputError

if TYPE_CHECKING:
    import duckdb

FORMATS = {".parquet": "parquet", ".csv": "csv"}
"""What the end of a file's name says of it."""


def format_of(path: Path) -> str:
    """The format that a file's name asks for. Raises `InputError` for any other."""
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        raise InputError(path, None, "a name of another kind", "one ending in .parquet or .csv")
    return found


def write(connection: duckdb.DuckDBPyConnection, study: str | None, beside: Path, kind: str) -> int:
    """Writes the trials of a study, or all of them, and returns how many there are. The connection
    may write to this file."""
    which = "" if study is None else "WHERE study = $study"
    given = {} if study is None else {"study": study}
    found = connection.execute(
        f"SELECT json_group_structure(settings) FROM trial {which}", given
    ).fetchall()
    structure = found[0][0] or "{}"
    # Where no trial has a setting, DuckDB calls the structure plain JSON.
    has_knobs = isinstance(known := json.loads(structure), dict) and known
    knobs = f", unnest(json_transform(settings, {_text(structure)}))" if has_knobs else ""
    written = connection.execute(
        f"COPY (SELECT * EXCLUDE (settings){knobs} FROM run {which} "
        f"ORDER BY study NULLS FIRST, number, id) TO {_text(str(beside))} (FORMAT {kind})",
        given,
    ).fetchall()
    return int(written[0][0])


def _text(value: str) -> str:
    """The value as a literal: COPY and the structure of JSON take no parameters."""
    return "'" + value.replace("'", "''") + "'"
