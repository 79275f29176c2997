"""Which plots a study has: its history, what its lines buy, and how the recommended settings ran.
Each is absent where nothing of it is stored."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

from advisor.goal import Goal, described
from advisor.html.evidence import Evidence
from advisor.html.plots import ONE, THREE, TWO, Line, Plot, bars, lines
from advisor.knobs import ENGINES, Engine
from advisor.recommend import Column
from advisor.search.ranking import signed
from advisor.trial import Trial

MOST_BARS = 16
LATENCY = "p99_us"
OVER_TIME = ("ops_per_s", "p99_us", "disk_bytes")
"""What is drawn over the run of the recommended settings."""
MIB = 1 << 20
_COLOURS: dict[Engine, str] = dict(zip(ENGINES, (ONE, TWO), strict=True))


def history(found: Evidence) -> Plot | None:
    """The goal's metric of every finished trial, and the best so far among those of one size."""
    goal, trials = found.advice.goal, found.advice.trials
    told = []
    for engine in dict.fromkeys(trial.engine for trial in trials):
        for decides, look in ((False, "small points"), (True, "points")):
            mine = [
                trial
                for trial in trials
                if trial.engine == engine
                and trial.finished
                and goal.metric in trial.metrics
                and found.decides(trial) == decides
            ]
            if not mine:
                continue
            x = [float(trial.number) for trial in mine]
            y = [trial.metrics[goal.metric] for trial in mine]
            size = "" if decides else ", smaller copy"
            told.append(Line(f"{engine}{size}", x, y, _COLOURS[engine], look))
            best = _best_so_far(goal, mine)
            if len(best) > 1:
                bx, by = [n for n, _ in best], [v for _, v in best]
                label = f"{engine}{size}, best so far"
                told.append(Line(label, bx, by, _COLOURS[engine], "steps"))
    if not told:
        return None
    return lines(told, title="History of the search", x="trial", y=_label(goal.metric))


def front(found: Evidence) -> Plot | None:
    """What was tried by the first two objectives, on the size that decides, and the front of each
    engine among it."""
    known = found.advice.front
    if known is None or not known.members:
        return None
    x, y = known.goal.objectives[:2]
    told = []
    for engine in dict.fromkeys(one.engine for one in known.members):
        tried = [
            one.metrics
            for one in found.advice.trials
            if one.engine == engine and one.finished and found.decides(one)
            if x in one.metrics and y in one.metrics
        ]
        members = sorted(
            (one.metrics[x], one.metrics[y]) for one in known.members if one.engine == engine
        )
        at, colour = [one[x] for one in tried], _COLOURS[engine]
        told.append(Line(f"{engine}, runs", at, [one[y] for one in tried], colour, "small points"))
        at, over = [point[0] for point in members], [point[1] for point in members]
        told.append(Line(f"{engine}, front", at, over, colour, "points"))
        told.append(Line("", at, over, colour))
    if (chosen := found.advice.member) is not None:
        own = chosen.metrics
        told.append(Line(f"number {chosen.number}", [own[x]], [own[y]], THREE, "points"))
    return lines(told, title="The front", x=_label(x), y=_label(y))


def gains(found: Evidence) -> Plot | None:
    """What each line buys of the goal's metric, on its own and beside the others."""
    changes = [one for one in found.advice.changes if (one.alone, one.company) != (None, None)]
    if not changes:
        return None
    groups = {
        "on its own": [100 * (one.alone or 0.0) for one in changes],
        "beside the others": [100 * (one.company or 0.0) for one in changes],
    }
    x = f"% of {found.advice.goal.metric}"
    return bars([one.knob for one in changes], groups, title="What each line buys", x=x)


def importance(found: Evidence) -> Plot | None:
    """The share of each knob of the recommended engine in good scores."""
    shares = found.importance.get(found.advice.engine, {})
    shown = sorted(shares.items(), key=lambda pair: -pair[1])[:MOST_BARS]
    if not shown:
        return None
    names, values = [name for name, _ in shown], [100 * value for _, value in shown]
    return bars(names, {"share": values}, title="Importance", x="% of what reaches good scores")


def latency(found: Evidence) -> Plot | None:
    """The 99th percentile by operation, of base and recommended."""
    names = operations(found.compared)
    groups = {
        column.title: [_operation(column, name, LATENCY) for name in names]
        for column in found.compared
    }
    groups = {title: values for title, values in groups.items() if any(values)}
    if not names or not groups:
        return None
    return bars(names, groups, title="Latency by operation", x=_label(LATENCY))


def written(found: Evidence) -> Plot | None:
    """The share of each purpose in the bytes written, of base and recommended."""
    names = purposes(found.compared)
    groups = {}
    for column in found.compared:
        values = [bytes_of(column, name, "written_bytes") or 0.0 for name in names]
        if total := sum(values):
            groups[column.title] = [100 * value / total for value in values]
    if not names or not groups:
        return None
    return bars(names, groups, title="Bytes written by purpose", x="% of its bytes written")


def over_time(found: Evidence, metric: str) -> Plot | None:
    """A metric over the last run of base and recommended."""
    told = []
    unit = MIB if described(metric).unit == "bytes" else 1
    for column in found.compared:
        rows = [one for one in last_run(column) if metric in one and "t_s" in one]
        if len(rows) > 1:
            x, y = [float(one["t_s"]) for one in rows], [one[metric] / unit for one in rows]
            colour = ONE if column is found.final else THREE
            told.append(Line(column.title, x, y, colour))
    if not told:
        return None
    y_label = f"{metric}, MiB" if unit == MIB else _label(metric)
    return lines(told, title=f"{metric} over the run", x="s", y=y_label)


def last_run(column: Column) -> Sequence[dict[str, float]]:
    """The intervals of the measured phase of the column's last trial that has any."""
    for trial in reversed(column.trials):
        rows = [dict(one) for one in trial.intervals if one.get("phase") == "run"]
        if rows:
            return rows
    return []


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


def _operation(column: Column, operation: str, metric: str) -> float:
    return operation_of(column, operation, metric) or 0.0


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _best_so_far(goal: Goal, trials: Sequence[Trial]) -> list[tuple[float, float]]:
    best, steps = -math.inf, []
    for trial in trials:
        value = trial.metrics[goal.metric]
        if goal.kept(trial.metrics) and signed(goal, value) > best:
            best = signed(goal, value)
            steps.append((float(trial.number), value))
    if steps:
        steps.append((float(trials[-1].number), steps[-1][1]))
    return steps


def _label(metric: str) -> str:
    return f"{metric}, {described(metric).unit}" if described(metric).unit != "ops/s" else metric
