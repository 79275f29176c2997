"""Sweeps in the results file: what was asked, the points of the axis, and their runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from advisor.store import rows
from advisor.trial import Trial

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class SweepRecord:
    """One line of the list of sweeps."""

    name: str
    axis: str
    goal: str
    clock: str
    seed: int
    asked: Mapping[str, Any]
    """The question, as `advisor.sweep` puts it; empty for sweeps from before it was kept."""
    created: str = ""
    """UTC, ISO 8601; filled in when it is stored."""
    points: int = 0
    """Engines times places that were made so far."""
    across: str | None = None
    """The second axis of a map."""


@dataclass(frozen=True)
class SweepPoint:
    """An engine at a place: a value of the axis, in a map with one of the second axis."""

    value: float
    engine: str
    settings: Mapping[str, Any]
    error: str
    across: float | None = None


def add(connection: duckdb.DuckDBPyConnection, sweep: SweepRecord) -> None:
    """Appends a sweep, whose name is free."""
    created = datetime.now(UTC).replace(tzinfo=None)
    asked = json.dumps(sweep.asked, sort_keys=True)
    with connection.appender("sweep") as sweeps:
        sweeps.append_row(
            sweep.name,
            created,
            sweep.axis,
            sweep.goal,
            sweep.clock,
            sweep.seed,
            asked,
            sweep.across,
        )


def add_point(
    connection: duckdb.DuckDBPyConnection,
    sweep: str,
    point: SweepPoint,
    labels: tuple[str, str | None],
    trials: tuple[Trial, ...],
) -> None:
    """Appends a point with its runs; those of a study are there already. `labels` are its values as
    people write them."""
    label, across_label = labels
    for trial in trials:
        known = connection.execute("SELECT 1 FROM trial WHERE id = ?", [trial.id]).fetchall()
        if not known:
            rows.append(connection, trial, None)
        with connection.appender("sweep_run") as appender:
            appender.append_row(sweep, point.value, label, trial.id, point.across, across_label)
    settings = json.dumps(dict(point.settings), sort_keys=True)
    with connection.appender("sweep_point") as appender:
        appender.append_row(sweep, point.value, point.engine, settings, point.error, point.across)


def records(connection: duckdb.DuckDBPyConnection) -> list[SweepRecord]:
    """All sweeps, the newest first."""
    found = connection.execute(
        "SELECT name, axis, goal, clock, seed, asked, created, across, "
        "(SELECT count(*) FROM sweep_point WHERE sweep_point.sweep = sweep.name) "
        "FROM sweep ORDER BY created DESC"
    ).fetchall()
    return [
        SweepRecord(
            name=name,
            axis=axis,
            goal=goal,
            clock=clock,
            seed=seed,
            asked=json.loads(asked) if asked else {},
            created=created.isoformat(timespec="seconds"),
            points=points,
            across=across,
        )
        for name, axis, goal, clock, seed, asked, created, across, points in found
    ]


def points(
    connection: duckdb.DuckDBPyConnection, sweep: str
) -> list[tuple[SweepPoint, tuple[Trial, ...]]]:
    """The points of a sweep with their runs, by place and in the order in which they were made."""
    found = connection.execute(
        "SELECT value, across_value, engine, settings, error FROM sweep_point WHERE sweep = ? "
        "ORDER BY rowid",
        [sweep],
    ).fetchall()
    runs = connection.execute(
        "SELECT value, across_value, trial::VARCHAR FROM sweep_run WHERE sweep = ? ORDER BY rowid",
        [sweep],
    ).fetchall()
    which = "id IN (SELECT trial FROM sweep_run WHERE sweep = ?)"
    by_id = {trial.id: trial for trial in rows.fetch(connection, which, [sweep])}
    by_place: dict[tuple[float, float | None, str], list[Trial]] = {}
    for value, across, id_ in runs:
        if id_ in by_id:
            trial = by_id[id_]
            by_place.setdefault((value, across, trial.engine), []).append(trial)
    return [
        (
            SweepPoint(value, engine, json.loads(settings), error, across),
            tuple(by_place.get((value, across, engine), ())),
        )
        for value, across, engine, settings, error in found
    ]
