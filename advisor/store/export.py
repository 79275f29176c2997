"""Trials as a table of their own, a row for each, metrics and settings as columns, or the answer to
a query. DuckDB writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.errors import InputError
from advisor.store.named import Kind, Named

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


_OF: Mapping[Kind, str] = {
    "study": "WHERE study = $key",
    "sweep": "WHERE id IN (SELECT trial FROM sweep_run WHERE sweep = $key)",
    "run": "WHERE id = $key::UUID",
}


def write(
    connection: duckdb.DuckDBPyConnection, named: Named | None, beside: Path, kind: str
) -> int:
    """Writes the trials of what is named, or all of them, and returns how many there are. The
    connection may write to this file."""
    which = "" if named is None else _OF[named.kind]
    given = {} if named is None else {"key": named.key}
    found = connection.execute(
        f"SELECT json_group_structure(settings) FROM trial {which}", given
    ).fetchall()
    structure = found[0][0] or "{}"
    # Where no trial has a setting, DuckDB calls the structure plain JSON.
    has_knobs = isinstance(known := json.loads(structure), dict) and known
    knobs = f", unnest(json_transform(settings, {_text(structure)}))" if has_knobs else ""
    query = (
        f"SELECT * EXCLUDE (settings){knobs} FROM run {which} "
        "ORDER BY study NULLS FIRST, number, id"
    )
    return write_query(connection, query, beside, kind, given)


def write_query(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    beside: Path,
    kind: str,
    given: Mapping[str, object] | None = None,
) -> int:
    """Writes the rows of a query, and returns how many there are. The connection may write to this
    file."""
    # What ends a query may be a comment.
    written = connection.execute(
        f"COPY (\n{query}\n) TO {_text(str(beside))} (FORMAT {kind})", dict(given or {})
    ).fetchall()
    return int(written[0][0])


def bare(query: str) -> str:
    """The text of one query without what may end it: COPY takes no semicolon."""
    import duckdb

    text = query.encode()
    ends = (at for at, _ in duckdb.tokenize(query) if text[at : at + 1] == b";")
    return text[: next(ends, len(text))].decode()


def _text(value: str) -> str:
    """The value as a literal: COPY and the structure of JSON take no parameters."""
    return "'" + value.replace("'", "''") + "'"
