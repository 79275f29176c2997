"""Queries of the results file as the workbench asks them."""

from __future__ import annotations

from advisor.errors import InputError
from advisor.store import Store
from tui import format as fmt
from tui.views import AnswerView

MOST_ROWS = 500
"""Of an answer that is shown."""


def answer(query: str, store: Store) -> AnswerView:
    """The answer as text. Raises `ValueError` with what is wrong in the query, without the list of
    what there is to read, which stands beside it."""
    try:
        found = store.sql(query, most=MOST_ROWS + 1)
    except InputError as error:
        raise ValueError(error.found) from error
    shown = found.rows[:MOST_ROWS]
    return AnswerView(
        columns=found.columns,
        rows=tuple(tuple(map(_cell, row)) for row in shown),
        numbers=tuple(
            all(isinstance(row[at], int | float) for row in shown)
            for at in range(len(found.columns))
        ),
        is_cut=len(found.rows) > MOST_ROWS,
    )


def tables(store: Store) -> dict[str, tuple[str, ...]]:
    """The columns of every view and table, the views first."""
    found: dict[str, tuple[str, ...]] = {}
    for table, column, _ in store.tables().rows:
        found[table] = (*found.get(table, ()), column)
    return found


def _cell(value: object) -> str:
    if value is None:
        return fmt.NOT_MEASURED
    return f"{value:.6g}" if isinstance(value, float) else str(value)
