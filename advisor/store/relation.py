"""The answer to a query as a relation of DuckDB, for whoever goes on with it.

It holds a copy in memory, not the file: a connection that lives as long as a notebook would keep
everybody else from writing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb


def copied(
    source: duckdb.DuckDBPyConnection, query: str, parameters: Mapping[str, object]
) -> duckdb.DuckDBPyRelation:
    """The rows of a query of ours, apart from where they came from."""
    import duckdb

    found = source.sql(query, params=dict(parameters))
    columns = ", ".join(
        f'"{name}" {kind}' for name, kind in zip(found.columns, found.types, strict=True)
    )
    rows = found.fetchall()
    memory = duckdb.connect()
    memory.execute(f"CREATE TABLE answer ({columns})")
    if rows:
        places = ", ".join("?" * len(rows[0]))
        memory.executemany(f"INSERT INTO answer VALUES ({places})", rows)
    return memory.table("answer")
