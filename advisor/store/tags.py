"""Words by which the user finds a study again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb


def of(connection: duckdb.DuckDBPyConnection, study: str) -> tuple[str, ...]:
    """The tags of a study, in alphabetical order."""
    found = connection.execute("SELECT name FROM tag WHERE study = ? ORDER BY name", [study])
    return tuple(str(name) for (name,) in found.fetchall())


def all_of(connection: duckdb.DuckDBPyConnection) -> tuple[str, ...]:
    """Every tag that a study has, in alphabetical order."""
    found = connection.execute("SELECT DISTINCT name FROM tag ORDER BY name")
    return tuple(str(name) for (name,) in found.fetchall())


def add(connection: duckdb.DuckDBPyConnection, study: str, name: str) -> None:
    """Tags a study; one that has the tag keeps it once."""
    connection.execute(
        "INSERT INTO tag SELECT $study, $name WHERE NOT EXISTS "
        "(SELECT 1 FROM tag WHERE study = $study AND name = $name)",
        {"study": study, "name": name},
    )


def remove(connection: duckdb.DuckDBPyConnection, study: str, name: str) -> None:
    """Takes a tag off a study."""
    connection.execute("DELETE FROM tag WHERE study = ? AND name = ?", [study, name])
