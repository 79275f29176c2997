"""Words by which the user finds a study, a sweep or a single run again. A run has its id in the
column `study`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb


def of(connection: duckdb.DuckDBPyConnection, key: str) -> tuple[str, ...]:
    """The tags of a study, a sweep or a run, in alphabetical order."""
    found = connection.execute("SELECT name FROM tag WHERE study = ? ORDER BY name", [key])
    return tuple(str(name) for (name,) in found.fetchall())


def all_of(connection: duckdb.DuckDBPyConnection) -> tuple[str, ...]:
    """Every tag that something has, in alphabetical order."""
    found = connection.execute("SELECT DISTINCT name FROM tag ORDER BY name")
    return tuple(str(name) for (name,) in found.fetchall())


def add(connection: duckdb.DuckDBPyConnection, key: str, name: str) -> None:
    """Tags it; what has the tag keeps it once."""
    connection.execute(
        "INSERT INTO tag SELECT $key, $name WHERE NOT EXISTS "
        "(SELECT 1 FROM tag WHERE study = $key AND name = $name)",
        {"key": key, "name": name},
    )


def remove(connection: duckdb.DuckDBPyConnection, key: str, name: str) -> None:
    """Takes a tag off."""
    connection.execute("DELETE FROM tag WHERE study = ? AND name = ?", [key, name])


def by_key(connection: duckdb.DuckDBPyConnection) -> dict[str, tuple[str, ...]]:
    """The tags of all that has some."""
    found = connection.execute("SELECT study, list(name ORDER BY name) FROM tag GROUP BY study")
    return {str(key): tuple(names) for key, names in found.fetchall()}
