"""A sweep as a page and as a plot: what either engine reaches over the axis, and where one
overtakes the other."""

from __future__ import annotations

from advisor.errors import InputError
from advisor.goal import described
from advisor.html import sweep_map
from advisor.html.background import changed
from advisor.html.element import (
    Markup,
    code,
    element,
    ids,
    joined,
    number,
    said,
    section,
    table,
)
from advisor.html.plots import ONE, TWO, Line, Plot, lines
from advisor.knobs import ENGINES
from advisor.recommend import wording
from advisor.sweep import Place, Point, Sweep, provenance, sentences, settings_of, standing
from advisor.sweep.axis import SIZES
from advisor.sweep.words import Fact

NOT_MEASURED = "-"
GIB = 1 << 30
_LEGEND = "Shaded: where noise may have moved the crossing to."


def plot(found: Sweep, metric: str | None = None) -> Plot:
    """A metric of the engines over the axis, the goal's where none is named; where one overtakes
    the other is marked. Of a map its cells, by the goal's metric alone. Raises `InputError` for
    another metric of a map, for one that no point has, or without matplotlib."""
    asked = found.asked
    if asked.across is not None:
        return sweep_map.plot(found, metric)
    metric = metric or found.goal.metric
    unit = GIB if asked.axis.name in SIZES else 1
    told = []
    for engine, colour in zip(ENGINES, (ONE, TWO), strict=True):
        known = [
            (point.value / unit, spread.median)
            for point in found.points
            if point.engine == engine and (spread := point.spread(metric))
        ]
        if known:
            look = "points" if asked.axis.choices else "line"
            told.append(Line(engine, [x for x, _ in known], [y for _, y in known], colour, look))
    if not told:
        raise InputError("plot", None, f"no point with {metric}", "a metric of the runs")
    marked = [(one.low / unit, one.value / unit, one.high / unit) for one in found.crossovers()]
    x = f"{asked.axis.name}, GiB" if unit == GIB else asked.axis.name
    names = [asked.axis.label(value) for value in asked.axis.values] if asked.axis.choices else ()
    title = f"{metric} over {asked.axis.name}"
    return lines(told, title=title, x=x, y=metric, bands=marked, names=names)


def steps(found: Sweep) -> Markup:
    """What each engine reaches at each place, and which leads."""
    asked, metric = found.asked, found.goal.metric
    rows = []
    for place in asked.places:
        points = [found.at(place, engine) for engine in asked.engines]
        if all(point is None for point in points):
            continue
        rows.append(
            (
                *_place(found, place),
                *(_reached(point, metric) for point in points),
                said(standing(found, place)),
            )
        )
    titles = (f"{one}, {described(metric).unit}" for one in asked.engines)
    return table((*_axes(found), *titles, "leads"), rows, numbers=True)


def body(found: Sweep, drawn: Markup) -> Markup:
    """All of the page: the answer, the plot, the table, the settings and the provenance."""
    answer, *_ = sentences(found) or [""]
    asked = found.asked
    return joined(
        element("h1", "Sweep: ", code(asked.name)),
        element("p", element("strong", said(f"{answer}."))) if answer else "",
        element("p", said(f"{found.goal}; {asked.clock}."), class_="note"),
        drawn,
        section(f"Over {asked.over}", *_walked(found)),
        _settings(found),
        section(
            "Provenance",
            table(("", ""), [(one.title, _fact(found, one)) for one in provenance(found)]),
        ),
    )


def within(found: Sweep, drawn: Markup) -> Markup:
    """The sweep as a part of the page of a study."""
    answer, *_ = sentences(found) or [""]
    asked = found.asked
    return section(
        f"Over {asked.over}",
        element("p", said(f"{answer}.")) if answer else "",
        element(
            "p", "The sweep ", code(asked.name), said(f", {settings_of(found)}."), class_="note"
        ),
        drawn,
        *_walked(found),
    )


def _walked(found: Sweep) -> list[Markup]:
    """The cells of a map, each step, and what else is to be said."""
    _, *rest = sentences(found) or [""]
    return [
        sweep_map.grid(found),
        steps(found),
        element("p", "Medians; in brackets the lowest and highest run.", class_="note"),
        element("ul", *(element("li", said(one)) for one in rest)) if rest else Markup(),
    ]


def caption(found: Sweep) -> Markup:
    """What the marks of the plot mean."""
    return element("figcaption", _LEGEND if found.asked.across is None else sweep_map.LEGEND)


def _reached(point: Point | None, metric: str) -> Markup:
    spread = point.spread(metric) if point is not None else None
    if point is None or spread is None:
        return Markup(NOT_MEASURED)
    trials = ids(trial.id for trial in point.trials if metric in trial.metrics)

    def taken(value: float, how: str) -> Markup:
        source = {"trial": trials, "name": metric, "as": how}
        return number(wording.metric(metric, value), value, **source)

    if spread.repetitions < 2:
        return taken(spread.median, "median")
    low, high = taken(spread.low, "low"), taken(spread.high, "high")
    return joined(taken(spread.median, "median"), " [", low, " to ", high, "]")


def _settings(found: Sweep) -> Markup:
    """What the engines ran with at each value, where it differs from the defaults."""
    rows = [
        (
            *_place(found, point.place),
            point.engine,
            changed(point.engine, point.settings),
        )
        for point in found.points
        if point.settings
    ]
    shown = table((*_axes(found), "engine", "changes to the defaults"), rows)
    return section("Settings", element("details", element("summary", "At each value"), shown))


def _axes(found: Sweep) -> list[str]:
    """The line of a map goes before the place on it."""
    return [axis.name for axis in reversed(found.asked.axes)]


def _place(found: Sweep, place: Place) -> list[Markup]:
    line = found.asked.line_label(place.across)
    own = code(found.asked.axis.label(place.value))
    return [own] if line is None else [code(line), own]


def _fact(found: Sweep, one: Fact) -> Markup:
    if one.value is None:
        return code(one.text)
    if one.trial:
        return number(one.text, one.value, table="trial", trial=one.trial, name=one.key)
    return number(one.text, one.value, table="sweep", key=found.asked.name, name=one.key)
