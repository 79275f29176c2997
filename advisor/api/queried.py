"""`sql`: the stored results as a relation in one line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from advisor.store import Store

if TYPE_CHECKING:
    import duckdb


def sql(query: str, *, results: str | Path | None = None) -> duckdb.DuckDBPyRelation:
    """Asks the results file: which rows answer a query in DuckDB's SQL?

    Example:
        advisor.sql("SELECT engine, max(ops_per_s) FROM run GROUP BY engine").df()

    Args:
        query: One query that only reads. docs/results.md has the views and their columns.
        results: The DuckDB file that is asked; the user's usual one if absent.

    Returns:
        A relation of DuckDB with a copy of the rows: `.fetchall()`, `.df()`, `.pl()` and `.arrow()`
        where pandas, polars or pyarrow is installed.

    Raises:
        advisor.errors.InputError: There is no such file, or the query is none that only reads.
    """
    return Store(results).query(query)
