"""The tables of the results file, as numbered migrations in `sql/`, and the views on them.

Rows are appended, and removed only with their whole study; tags alone come and go. A change of the
tables is a new file, and its name a new entry at the end of `MIGRATIONS`; what has shipped keeps
its meaning. The views are made anew after the last of them.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

MIGRATIONS = (
    "1.sql", "2.sql", "3.sql", "4.sql", "5.sql", "6.sql", "7.sql", "8.sql", "9.sql", "10.sql",
    "11.sql",
    "12.sql", "13.sql", "14.sql", "15.sql", "16.sql",
)  # fmt: skip
VIEWS = "views.sql"

_FIRST_TABLES = (
    "study", "trial", "trial_metric", "trial_operation", "trial_bytes", "trial_interval",
)  # fmt: skip
_VERSION_COLUMNS = [("version", "INTEGER"), ("applied", "TIMESTAMP")]
_EVERYTHING = """
    SELECT table_name FROM duckdb_tables() WHERE database_name = current_database()
    UNION ALL SELECT view_name FROM duckdb_views()
        WHERE database_name = current_database() AND NOT internal
    UNION ALL SELECT sequence_name FROM duckdb_sequences() WHERE database_name = current_database()
"""

INTERVAL_COLUMNS: tuple[str, ...] = (
    "phase", "t_s", "seconds", "operations", "ops_per_s", "p99_us", "read_kb_per_op",
    "write_kb_per_op", "cache_hit_ratio", "stall_s", "disk_bytes", "memory_bytes", "shape",
)  # fmt: skip


def version_of(connection: duckdb.DuckDBPyConnection) -> int | None:
    """Number of the last migration that this file has seen; 0 for an empty file, None for one whose
    tables are not ours."""
    names = {name for (name,) in connection.execute(_EVERYTHING).fetchall()}
    if not names:
        return 0
    if "schema_version" not in names:
        return None
    steps = connection.execute("SELECT * FROM main.schema_version")
    if [(one[0], str(one[1])) for one in steps.description] != _VERSION_COLUMNS:
        return None
    version = max((row[0] for row in steps.fetchall()), default=0)
    known = 0 < version <= len(MIGRATIONS)
    return None if known and not names.issuperset(_FIRST_TABLES) else version


def columns(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str]]:
    """What can be asked: table or view, column, type; the views first, `run` before all."""
    found = connection.execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal "
        "AND database_name = current_database() AND table_name <> 'schema_version' "
        "ORDER BY table_name NOT IN (SELECT view_name FROM duckdb_views() WHERE NOT internal), "
        "NOT starts_with(table_name, 'run'), table_name, column_index"
    ).fetchall()
    return [(table, column, kind) for table, column, kind in found]


def migrate(connection: duckdb.DuckDBPyConnection, version: int, to: int = len(MIGRATIONS)) -> None:
    """Brings a file from one version to another, the newest if none is named, in one transaction.
    An older version is without views."""
    connection.execute("BEGIN")
    try:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_version ("
            "version INTEGER NOT NULL, applied TIMESTAMP NOT NULL)"
        )
        for number, name in enumerate(MIGRATIONS[version:to], start=version + 1):
            connection.execute(_statements(name))
            connection.execute(
                "INSERT INTO schema_version VALUES (?, now()::TIMESTAMPTZ AT TIME ZONE 'UTC')",
                [number],
            )
        if to == len(MIGRATIONS):
            connection.execute(_statements(VIEWS))
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _statements(name: str) -> str:
    return (resources.files("advisor.store") / "sql" / name).read_text(encoding="utf-8")
