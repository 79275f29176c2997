"""What the runs of an advice say beyond the metrics that are compared: how the search went, and
operations, purposes and intervals of what was compared."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from advisor.evidence.evidence import Evidence
from advisor.knobs import Engine
from advisor.recommend import Column
from advisor.search.ranking import signed
from advisor.trial import Trial

LATENCIES = ("p50_us", "p95_us", "p99_us", "max_us")
"""What is told of an operation."""
MOVED = ("written_bytes", "read_bytes")
"""What is told of a purpose."""


@dataclass(frozen=True)
class History:
    """The trials of an engine on copies of one kind."""

    engine: Engine
    decides: bool
    """Whether they are of the size that decides; a smaller copy is for the search alone."""
    trials: tuple[Trial, ...]
    best: tuple[Trial, ...]
    """Those that were better than all before them, of such as keep the limits."""


def histories(found: Evidence) -> list[History]:
    """How the search went by the goal's metric."""
    metric, trials = found.advice.goal.metric, found.advice.trials
    told = []
    for engine in dict.fromkeys(trial.engine for trial in trials):
        for decides in (False, True):
            mine = tuple(
                trial
                for trial in trials
                if trial.engine == engine
                and trial.finished
                and metric in trial.metrics
                and found.decides(trial) == decides
            )
            if mine:
                told.append(History(engine, decides, mine, _improvements(found, mine)))
    return told


def last_run(column: Column) -> Sequence[dict[str, Any]]:
    """The intervals of the measured phase of the column's last trial that has any."""
    for trial in reversed(column.trials):
        rows = [dict(one) for one in trial.intervals if one.get("phase") == "run"]
        if rows:
            return rows
    return []


def shape_of(column: Column) -> dict[str, list[tuple[float, float]]]:
    """How the engine looked from within over the column's last run: second and value, by the name
    of the number; bytes of levels as of the full size."""
    told: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in last_run(column):
        for name, value in row.get("shape", {}).items():
            told[name].append((float(row["t_s"]), float(value)))
    return {name: told[name] for name in sorted(told) if any(value for _, value in told[name])}


def operations(columns: Iterable[Column]) -> list[str]:
    """The operations that any of the columns measured, by name."""
    return sorted({name for one in columns for t in one.trials for name in t.by_operation})


def purposes(columns: Iterable[Column]) -> list[str]:
    """What bytes were written for, or read."""
    return sorted(
        {
            name
            for one in columns
            for trial in one.trials
            for name, row in trial.bytes_by_purpose.items()
            if row.get("written_bytes") or row.get("read_bytes")
        }
    )


def operation_of(column: Column, operation: str, metric: str) -> float | None:
    """The median over the column's trials."""
    return _median(trial.by_operation.get(operation, {}).get(metric) for trial in column.trials)


def bytes_of(column: Column, purpose: str, metric: str) -> float | None:
    """The median over the column's trials."""
    return _median(trial.bytes_by_purpose.get(purpose, {}).get(metric) for trial in column.trials)


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _improvements(found: Evidence, trials: Sequence[Trial]) -> tuple[Trial, ...]:
    goal, best, steps = found.advice.goal, -math.inf, []
    for trial in trials:
        reached = signed(goal, trial.metrics[goal.metric])
        if goal.kept(trial.metrics) and reached > best:
            best = reached
            steps.append(trial)
    return tuple(steps)
