"""The page of the views that the results file can be asked, made of the schema.

`python -m tests.support.results_page` writes `docs/results.md`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, get_args

import duckdb

from advisor.goal import METRICS
from advisor.store import schema
from advisor.trial import Role
from tests.support.pages import WIDEST

PAGE = Path(__file__).parents[2] / "docs" / "results.md"

HEAD = """\
# What the results file can be asked

Made by `python -m tests.support.results_page` from the schema in `advisor/store/sql/`; a test
holds that it is what the schema says, and that every example can be asked.

`tunebench results --sql QUERY` asks it in DuckDB's SQL and prints the answer, with `--json` as
JSON; with `--export FILE` it writes it as Parquet or CSV. From Python, `advisor.sql(QUERY)` gives a
relation of DuckDB (`.df()`, `.pl()`, `.arrow()`), and `Store(path).arrow(QUERY)` a table of Arrow.
A query only reads. These are the views; the tables behind them, which `tunebench results --tables`
lists, may change with the program.

What was not measured is NULL. Numbers of different clocks are not to be compared.
"""


class View(NamedTuple):
    """What a view is, and what it may be asked."""

    text: str
    query: str


VIEWS: Mapping[str, View] = {
    "run": View(
        "Every trial, be it of a study, of a sweep or a single run, with its metrics as columns.",
        "SELECT study, engine, max(ops_per_s) AS best, count(*) AS trials\n"
        "FROM run WHERE outcome = 'finished' AND clock = 'simulated'\n"
        "GROUP BY ALL ORDER BY best DESC",
    ),
    "run_bytes": View(
        "What bytes were read and written for, by trial.",
        "SELECT engine, purpose, sum(value) / 1024 ** 3 AS gib\n"
        "FROM run_bytes WHERE metric = 'written_bytes'\nGROUP BY ALL ORDER BY gib DESC",
    ),
    "run_interval": View(
        "The measured phase of each trial over time.",
        "SELECT t_s, ops_per_s, stall_s FROM run_interval\n"
        "WHERE phase = 'run' AND trial = (SELECT id FROM run ORDER BY started DESC LIMIT 1)\n"
        "ORDER BY sequence",
    ),
    "run_shape": View(
        "How the engine of each trial looked from within: levels and memtables of an LSM, "
        "pages and log of a B-tree, over time.",
        "SELECT t_s, gauge, value FROM run_shape\n"
        "WHERE phase = 'run' AND gauge LIKE 'level_%'\nORDER BY trial, sequence, gauge",
    ),
    "run_operation": View(
        "Latencies by kind of operation, by trial.",
        "SELECT engine, operation, median(value) AS p99_us\n"
        "FROM run_operation WHERE metric = 'p99_us'\nGROUP BY ALL ORDER BY p99_us DESC",
    ),
    "run_statement": View(
        "Latencies by statement of a SQL server, by trial.",
        "SELECT product, statement, median(value) AS p99_us\n"
        "FROM run_statement WHERE metric = 'p99_us'\nGROUP BY ALL ORDER BY p99_us DESC",
    ),
    "endurance": View(
        "What each trial of a study means for a flash drive whose wear is known.",
        "SELECT engine, min(drive_writes_per_day) AS least, max(years) AS longest\n"
        "FROM endurance GROUP BY ALL",
    ),
    "robust": View(
        "Candidates of `tunebench robust` at what was asked and at its neighbours: medians by "
        "candidate, neighbour and metric.",
        "SELECT neighbour, candidate, median FROM robust\n"
        "WHERE metric = 'ops_per_s' AND NOT again ORDER BY point, median DESC",
    ),
    "swept": View(
        "Medians of the runs at each place of a sweep, by engine and metric.",
        "SELECT sweep, label, across_label, engine, median FROM swept\n"
        "WHERE metric = 'cost' ORDER BY sweep, across_value, value, engine",
    ),
    "verified": View(
        "Predicted beside real, by session of `tunebench verify`, contender and metric.",
        "SELECT study, contender, predicted_ratio, real_ratio, product FROM verified\n"
        "WHERE metric = 'ops_per_s' ORDER BY session, place",
    ),
}

COLUMNS: Mapping[str, str] = {
    "id": "Of the trial; every other table and view calls it `trial`.",
    "trial": "The `id` in `run`.",
    "study": "Its study; NULL for a single run and for those of sweeps and verifications.",
    "number": "Its place in the study, from 1.",
    "engine": "`lsm` or `btree`.",
    "role": f"Why it was made: {', '.join(f'`{role}`' for role in get_args(Role))}.",
    "outcome": "`finished`, `failed`, or `rejected`: the settings do not fit the memory.",
    "error": "Why it did not finish.",
    "workload": "Its kind.",
    "settings": "By knob, complete, at full size.",
    "seed": "Of all its random numbers.",
    "clock": "`simulated`, `measured` or `real`.",
    "seconds": "Length of the measured phase.",
    "scale": "Data of the run / data of the profile.",
    "budget_bytes": "Memory that the settings need at full size.",
    "wall_seconds": "Time that the trial took, loading included.",
    "started": "UTC.",
    "core_version": "Of this program.",
    "host": "The machine that the program ran on.",
    "notes": "What the reader must know to judge the numbers.",
    "hardware": "The machine that the numbers are of.",
    "steady": "Whether nothing changed any more when it was measured; NULL if nobody judged.",
    "product": "The real engine and its version; NULL for our own.",
    "rule": "The rule of thumb, or the earlier study, that the settings are of.",
    "problem": "What was asked: workload, data, memory and clients, at full size.",
    "purpose": "What the bytes were for, such as `wal` or `compaction`.",
    "operation": "Its kind, such as `get_node`.",
    "statement": "Of SQL.",
    "metric": "Its name.",
    "value": "Of the metric.",
    "sequence": "Place of the interval, from 0.",
    "gauge": "Its name, such as `level_1_bytes` or `dirty_pages_share`.",
    "phase": "`load`, `warmup` or `run`.",
    "t_s": "End of the interval, from the begin of its phase.",
    "operations": "That ended in the interval.",
    "is_paced": "Whether the profile holds its clients to a rate.",
    "rate_per_s": "That rate, else the one that the run reached.",
    "written_bytes_per_day": "At that rate.",
    "drive_writes_per_day": "Of the capacity that the host may address.",
    "years": "Until the rated cycles of the flash are used.",
    "session": "One call of the command.",
    "place": "Of the contender or candidate; the first has 0.",
    "candidate": "Its name.",
    "contender": "Its name.",
    "point": "Number of the neighbour; 0 is what was asked.",
    "neighbour": "Its name.",
    "again": "Whether the runs were made after the choice.",
    "median": "Of the metric, over the runs there.",
    "runs": "How many there are.",
    "sweep": "Its name.",
    "axis": "What is swept.",
    "label": "The value as people write it.",
    "across": "The second axis of a map; NULL along a single one.",
    "across_value": "On the second axis.",
    "across_label": "The same as people write it.",
    "predicted_on": "The machine that predictions are of.",
    "predicted": "Geometric mean of the predictions.",
    "real": "Geometric mean of the rounds on the real engine.",
    "rounds": "On the real engine.",
    "predicted_ratio": "Predicted, to the base of comparison, which has place 0.",
    "real_ratio": "Real, to the base of comparison.",
}
OWN: Mapping[tuple[str, str], str] = {
    ("swept", "value"): "On the axis; of settings without an order their place in the list.",
    ("run_interval", "seconds"): "Length of the interval.",
    ("endurance", "ops_per_s"): "That the run reached.",
}
"""Columns that mean something of their own in a view."""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(_section(view) for view in columns())])


def columns() -> dict[str, list[tuple[str, str]]]:
    """Columns and types of every view, as the schema has them."""
    found: dict[str, list[tuple[str, str]]] = {}
    with duckdb.connect() as connection:
        schema.migrate(connection, 0)
        names = "SELECT view_name FROM duckdb_views() WHERE NOT internal"
        views = {name for (name,) in connection.execute(names).fetchall()}
        for table, column, kind in schema.columns(connection):
            if table in views:
                found.setdefault(table, []).append((column, kind))
    return found


def _section(view: str) -> str:
    text, query = VIEWS[view]
    rows = [f"| `{name}` | `{kind}` | {_text(view, name)} |" for name, kind in columns()[view]]
    told = textwrap.fill(text, WIDEST)
    head = [f"## {view}\n", f"{told}\n", f"```sql\n{query}\n```\n"]
    return "\n".join([*head, "| column | type | |", "|---|---|---|", *rows, ""])


def _text(view: str, column: str) -> str:
    if (view, column) in OWN:
        return OWN[view, column]
    return METRICS[column].text if column in METRICS else COLUMNS[column]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
