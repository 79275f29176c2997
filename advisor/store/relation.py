"""The answer to a query as a relation of DuckDB, for whoever goes on with it.

It holds a copy in memory, not the file: a connection that lives as long as a notebook would keep
everybody else from writing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb


def copied(answer: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
    """The rows of a query that has run, apart from where they came from. Columns of one name are
    numbered: `n`, `n_1`."""
    import duckdb

    described = answer.description or []
    names = _distinct(str(column[0]) for column in described)
    columns = ", ".join(
        f"{_quoted(name)} {column[1]}" for name, column in zip(names, described, strict=True)
    )
    memory = duckdb.connect()
    memory.execute(f"CREATE TABLE answer ({columns})")
    with memory.appender("answer") as rows:
        rows.append_rows(answer.fetchall())
    return memory.table("answer")


def _distinct(names: Iterable[str]) -> Iterator[str]:
    """DuckDB takes letters of either case for the same."""
    taken: set[str] = set()
    for name in names:
        own, number = name, 0
        while own.lower() in taken:
            number += 1
            own = f"{name}_{number}"
        taken.add(own.lower())
        yield own


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
