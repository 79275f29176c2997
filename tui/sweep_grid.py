"""A sweep over two axes as a grid: a row for each value of the second, and in each cell which
engine leads."""

from typing import TYPE_CHECKING

from tui import format as fmt
from tui.output import Column
from tui.views import SweepCell, SweepGrid

if TYPE_CHECKING:
    from advisor.sweep import Cell, Sweep


def grid(sweep: "Sweep") -> SweepGrid | None:
    """What is shown of a map; None for a sweep along a single axis."""
    from advisor.sweep import cells

    asked = sweep.asked
    if asked.across is None:
        return None
    every, width = [_cell(sweep, one) for one in cells(sweep)], len(asked.axis.values)
    return SweepGrid(
        asked.axis.name,
        asked.across.name,
        tuple(asked.axis.label(value) for value in asked.axis.values),
        tuple(
            (asked.across.label(value), tuple(every[line * width : (line + 1) * width]))
            for line, value in enumerate(asked.across.values)
        ),
    )


def _cell(sweep: "Sweep", one: "Cell") -> SweepCell:
    """Of a single engine, what it reaches: there is nobody to lead."""
    if len(sweep.asked.engines) == 1:
        (engine,) = sweep.asked.engines
        text = fmt.value(sweep.goal.metric, sweep.score(one.place, engine))
    else:
        text = one.text(fmt.ENGINE_TITLES)
    return SweepCell(text, one.engine or "")


def grid_table(shown: SweepGrid) -> tuple[list[Column], list[list[str]]]:
    """Columns and rows of the grid."""
    columns = [Column(shown.corner, right=True), *(Column(label) for label in shown.labels)]
    return columns, [[label, *(one.text for one in line)] for label, line in shown.lines]


def medians(sweep: "Sweep") -> tuple[list[Column], list[list[str]]]:
    """Columns and rows: every place of a map that was visited, and what each engine reaches
    there."""
    asked, metric = sweep.asked, sweep.goal.metric
    columns = [
        *(Column(axis.name, right=True) for axis in reversed(asked.axes)),
        *(
            Column(f"{fmt.ENGINE_TITLES[one]}, {fmt.label(metric)}", right=True)
            for one in asked.engines
        ),
    ]
    rows = [
        [
            asked.line_label(place.across) or "",
            asked.axis.label(place.value),
            *(fmt.value(metric, sweep.score(place, engine)) for engine in asked.engines),
        ]
        for place in asked.places
        if any(sweep.at(place, engine) for engine in asked.engines)
    ]
    return columns, rows
