"""How a trial is spread over the tables, and put together again."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from advisor.store.schema import INTERVAL_COLUMNS
from advisor.trial import Problem, Trial

if TYPE_CHECKING:
    import duckdb

TRIAL_COLUMNS = (
    "id", "study", "number", "engine", "role", "outcome", "error", "workload", "settings", "seed",
    "clock", "seconds", "scale", "budget_bytes", "wall_seconds", "started", "core_version", "host",
    "notes", "hardware", "steady", "product", "rule", "problem",
)  # fmt: skip

_OF_TRIALS = (
    "trial_metric", "trial_operation", "trial_statement", "trial_bytes", "trial_interval",
)  # fmt: skip


def fetch(
    connection: duckdb.DuckDBPyConnection,
    which: str,
    parameters: Sequence[object],
    *,
    with_intervals: bool = True,
) -> list[Trial]:
    """The trials that a condition on the table `trial` names, with all they measured; their
    intervals, which may be by far the most of it, if they are asked for."""
    rows = connection.execute(
        f"SELECT {', '.join(TRIAL_COLUMNS)} FROM trial WHERE {which}", parameters
    ).fetchall()
    ids = [row[0] for row in rows]
    measured = _Measured(connection, ids)
    passed = intervals(connection, ids) if with_intervals else {}
    return [_trial(dict(zip(TRIAL_COLUMNS, row, strict=True)), measured, passed) for row in rows]


def append(connection: duckdb.DuckDBPyConnection, trial: Trial, study: str | None) -> None:
    """Adds a trial to its tables, inside the transaction of the caller."""
    with connection.appender("trial", columns=list(TRIAL_COLUMNS)) as rows:
        rows.append_row(
            trial.id,
            study,
            trial.number,
            trial.engine,
            trial.role,
            trial.outcome,
            trial.error,
            trial.workload,
            json.dumps(dict(trial.settings), sort_keys=True),
            trial.seed,
            trial.clock,
            trial.seconds,
            trial.scale,
            trial.budget_bytes,
            trial.wall_seconds,
            datetime.fromisoformat(trial.started),
            trial.core_version,
            trial.host,
            list(trial.notes),
            trial.hardware,
            trial.steady,
            trial.product,
            trial.rule,
            None if trial.problem is None else json.dumps(asdict(trial.problem), sort_keys=True),
        )
    _append(connection, "trial_metric", ((trial.id, *pair) for pair in trial.metrics.items()))
    _append(connection, "trial_operation", _long_form(trial.id, trial.by_operation))
    _append(connection, "trial_statement", _long_form(trial.id, trial.by_statement))
    _append(connection, "trial_bytes", _long_form(trial.id, trial.bytes_by_purpose))
    _append(
        connection,
        "trial_interval",
        (
            (trial.id, sequence, *(_flat(interval.get(column)) for column in INTERVAL_COLUMNS))
            for sequence, interval in enumerate(trial.intervals)
        ),
    )


def delete(connection: duckdb.DuckDBPyConnection, study: str) -> int:
    """Removes a study and its trials inside the transaction of the caller; returns how many trials
    there were."""
    beside = (
        "SELECT trial FROM verification WHERE study = $study "
        "UNION ALL SELECT trial FROM robust_run WHERE study = $study"
    )
    of_study = "SELECT id FROM trial WHERE study = $study"
    ((trials,),) = connection.execute(
        f"SELECT count(*) FROM ({of_study})", {"study": study}
    ).fetchall()
    delete_trials(connection, f"{of_study} UNION ALL {beside}", {"study": study})
    sessions = "SELECT session FROM robust_run WHERE study = ?"
    connection.execute(f"DELETE FROM robust_point WHERE session IN ({sessions})", [study])
    connection.execute("DELETE FROM robustness WHERE study = ?", [study])
    connection.execute("DELETE FROM robust_run WHERE study = ?", [study])
    connection.execute("DELETE FROM verification WHERE study = ?", [study])
    connection.execute("DELETE FROM final WHERE study = ?", [study])
    connection.execute("DELETE FROM tag WHERE study = ?", [study])
    connection.execute("DELETE FROM study WHERE name = ?", [study])
    return int(trials)


def delete_trials(
    connection: duckdb.DuckDBPyConnection, which: str, parameters: Mapping[str, object]
) -> None:
    """Removes the trials whose ids a query gives, with all they measured, inside the transaction of
    the caller."""
    for table, column in (*((table, "trial") for table in _OF_TRIALS), ("trial", "id")):
        query = f"DELETE FROM {table} WHERE {column} IN ({which})"
        connection.execute(query, dict(parameters))


def _long_form(
    trial: str, table: Mapping[str, Mapping[str, float]]
) -> Iterable[tuple[object, ...]]:
    return (
        (trial, name, metric, value) for name, row in table.items() for metric, value in row.items()
    )


def _flat(value: object) -> object:
    return json.dumps(value) if isinstance(value, Mapping) else value


def _append(
    connection: duckdb.DuckDBPyConnection, table: str, rows: Iterable[tuple[object, ...]]
) -> None:
    with connection.appender(table) as appender:
        appender.append_rows(rows)


_WANTED = "WHERE trial IN (SELECT unnest(?::UUID[]))"


class _Measured:
    """What belongs to some trials in the other tables, fetched with one query each."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, ids: list[object]) -> None:
        self.metrics: dict[object, dict[str, float]] = defaultdict(dict)
        self.operations: dict[object, dict[str, dict[str, float]]] = defaultdict(dict)
        self.statements: dict[object, dict[str, dict[str, float]]] = defaultdict(dict)
        self.bytes: dict[object, dict[str, dict[str, float]]] = defaultdict(dict)
        for trial, metric, value in connection.execute(
            f"SELECT trial, metric, value FROM trial_metric {_WANTED}", [ids]
        ).fetchall():
            self.metrics[trial][metric] = value
        for table, into in (
            ("trial_operation", self.operations),
            ("trial_statement", self.statements),
            ("trial_bytes", self.bytes),
        ):
            for trial, name, metric, value in connection.execute(
                f"SELECT * FROM {table} {_WANTED}", [ids]
            ).fetchall():
                into[trial].setdefault(name, {})[metric] = value


def intervals(
    connection: duckdb.DuckDBPyConnection, ids: Sequence[object]
) -> dict[str, tuple[dict[str, Any], ...]]:
    """The intervals of trials in their order, by the trial's id; of those alone that have any."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    columns = ", ".join(INTERVAL_COLUMNS)
    for trial, *values in connection.execute(
        f"SELECT trial, {columns} FROM trial_interval {_WANTED} ORDER BY trial, sequence", [ids]
    ).fetchall():
        pairs = zip(INTERVAL_COLUMNS, values, strict=True)
        interval = {name: value for name, value in pairs if value is not None}
        if "shape" in interval:
            interval["shape"] = json.loads(interval["shape"])
        found[str(trial)].append(interval)
    return {trial: tuple(measured) for trial, measured in found.items()}


def _trial(
    row: Mapping[str, Any],
    measured: _Measured,
    passed: Mapping[str, tuple[Mapping[str, Any], ...]],
) -> Trial:
    key = row["id"]
    return Trial(
        engine=row["engine"],
        settings=json.loads(row["settings"]),
        role=row["role"],
        outcome=row["outcome"],
        seed=row["seed"],
        clock=row["clock"],
        seconds=row["seconds"],
        scale=row["scale"],
        metrics=measured.metrics[key],
        by_operation=measured.operations[key],
        by_statement=measured.statements[key],
        bytes_by_purpose=measured.bytes[key],
        intervals=passed.get(str(key), ()),
        notes=tuple(row["notes"]),
        steady=row["steady"],
        error=row["error"],
        budget_bytes=row["budget_bytes"],
        workload=row["workload"],
        wall_seconds=row["wall_seconds"],
        started=row["started"].isoformat(),
        core_version=row["core_version"],
        host=row["host"],
        hardware=row["hardware"] or "",
        product=row["product"] or "",
        rule=row["rule"] or "",
        problem=Problem(**json.loads(row["problem"])) if row["problem"] else None,
        number=row["number"],
        id=str(key),
    )
