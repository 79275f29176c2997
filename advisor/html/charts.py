"""Which plots a study has: its history, what its lines buy, and how the recommended settings ran.
Each is absent where nothing of it is stored."""

from __future__ import annotations

from itertools import cycle

from advisor.evidence import (
    Evidence,
    bytes_of,
    histories,
    last_run,
    operation_of,
    operations,
    purposes,
    shape_of,
)
from advisor.goal import described
from advisor.html.plots import COLOURS, ONE, THREE, TWO, Line, Plot, bars, lines
from advisor.knobs import ENGINES, Engine
from advisor.recommend import Column

MOST_BARS = 16
LATENCY = "p99_us"
OVER_TIME = ("ops_per_s", "p99_us", "disk_bytes")
"""What is drawn over the run of the recommended settings."""
MIB = 1 << 20
_COLOURS: dict[Engine, str] = dict(zip(ENGINES, (ONE, TWO), strict=True))


def history(found: Evidence) -> Plot | None:
    """The goal's metric of every finished trial, and the best so far among those of one size."""
    metric, told = found.advice.goal.metric, []
    for one in histories(found):
        x = [float(trial.number) for trial in one.trials]
        y = [trial.metrics[metric] for trial in one.trials]
        size, look = ("", "points") if one.decides else (", smaller copy", "small points")
        told.append(Line(f"{one.engine}{size}", x, y, _COLOURS[one.engine], look))
        if one.best:
            bx = [*(float(trial.number) for trial in one.best), x[-1]]
            by = [trial.metrics[metric] for trial in one.best]
            label = f"{one.engine}{size}, best so far"
            told.append(Line(label, bx, [*by, by[-1]], _COLOURS[one.engine], "steps"))
    if not told:
        return None
    return lines(told, title="History of the search", x="trial", y=_label(metric))


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


def shape(found: Evidence) -> Plot | None:
    """Levels and memtables, or pages and log, over the last run of the recommended settings."""
    told = shape_of(found.final)
    is_bytes = any(name.endswith("_bytes") for name in told)
    shown = {
        name.removesuffix("_bytes").removesuffix("_share"): points
        for name, points in told.items()
        if len(points) > 1 and name.endswith("_bytes") == is_bytes
    }
    if not shown:
        return None
    unit = MIB if is_bytes else 0.01
    drawn = [
        Line(name, [t for t, _ in points], [value / unit for _, value in points], colour)
        for (name, points), colour in zip(shown.items(), cycle(COLOURS), strict=False)
    ]
    what = "Levels and memtables over the run" if is_bytes else "Pages and log over the run"
    return lines(drawn, title=what, x="s", y="MiB" if is_bytes else "%")


def _operation(column: Column, operation: str, metric: str) -> float:
    return operation_of(column, operation, metric) or 0.0


def _label(metric: str) -> str:
    return f"{metric}, {described(metric).unit}" if described(metric).unit != "ops/s" else metric
