"""A sweep over two axes as a grid: which engine leads in each cell, and where along each line one
overtakes the other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from advisor.errors import InputError
from advisor.html.element import Markup, code, element, said, table
from advisor.html.plots import ONE, THREE, TWO, Plot, Tile, tiles
from advisor.knobs import ENGINES, Engine
from advisor.recommend import wording
from advisor.sweep import Cell, Sweep, cells

LEGEND = (
    "Which engine leads, and how many times what the other reaches. Dashed: where one overtakes "
    "the other along a line; the bar below is where noise may have moved that to."
)
EVEN = "Even: noise does not tell the engines apart."
FULL = 3.0
"""A lead from which on the colour is as strong as it gets."""
_COLOURS: dict[Engine, str] = dict(zip(ENGINES, (ONE, TWO), strict=True))
_WEAKEST, _STRONGEST = 0.15, 0.6


def grid(found: Sweep) -> Markup:
    """The cells as a table, a row per value of the second axis; nothing for a single axis."""
    asked = found.asked
    if asked.across is None:
        return Markup()
    rows = [
        (code(asked.across.label(value)), *(said(_text(found, one)) for one in line))
        for value, line in zip(asked.across.values, _lines(found), strict=True)
    ]
    head = (f"{asked.across.name} \\ {asked.axis.name}", *_labels(found))
    shown = table([code(one) for one in head], rows, numbers=True)
    return Markup(shown + element("p", EVEN, class_="note")) if len(asked.engines) == 2 else shown


def plot(found: Sweep, metric: str | None = None) -> Plot:
    """The cells, coloured by the engine that leads. Raises `InputError` for another metric than the
    goal's, for a map of which nothing ran, or without matplotlib."""
    asked, goal = found.asked, found.goal.metric
    if metric not in (None, goal):
        raise InputError("plot", None, f"{metric} of a map", f"{goal}, by which engines lead")
    if asked.across is None or not any(point.spread(goal) for point in found.points):
        raise InputError("plot", None, f"no point with {goal}", "a map of which something ran")
    rows = [[_tile(found, one) for one in line] for line in _lines(found)]
    marked = [
        (
            asked.across.values.index(one.across),
            _column(asked.axis.values, one.low),
            _column(asked.axis.values, one.value),
            _column(asked.axis.values, one.high),
        )
        for one in found.crossovers()
        if one.across is not None
    ]
    across = [asked.across.label(value) for value in asked.across.values]
    return tiles(
        rows,
        title=f"{goal} over {asked.over}",
        x=(asked.axis.name, _labels(found)),
        y=(asked.across.name, across),
        bands=marked,
    )


def _labels(found: Sweep) -> list[str]:
    axis = found.asked.axis
    return [axis.label(value) for value in axis.values]


def _lines(found: Sweep) -> list[list[Cell]]:
    every, width = cells(found), len(found.asked.axis.values)
    return [every[begin : begin + width] for begin in range(0, len(every), width)]


def _text(found: Sweep, one: Cell) -> str:
    """Of a single engine, what it reaches: there is nobody to lead."""
    if len(found.asked.engines) != 1:
        return one.text()
    score = found.score(one.place, found.asked.engines[0])
    return "-" if score is None else wording.metric(found.goal.metric, score)


def _tile(found: Sweep, one: Cell) -> Tile:
    text = _text(found, one)
    if one.engine is None:
        return Tile(text, THREE, _WEAKEST)
    lead = 0.0 if one.ratio is None else min(1.0, (one.ratio - 1) / (FULL - 1))
    return Tile(text, _COLOURS[one.engine], _WEAKEST + lead * (_STRONGEST - _WEAKEST))


def _column(values: Sequence[float], at: float) -> float:
    """Where among the columns a value lies, between those of its neighbours."""
    left = min(max(bisect_right(values, at) - 1, 0), len(values) - 2)
    return left + (at - values[left]) / (values[left + 1] - values[left])
