"""A sweep in words: a line per step with bars of the engines, or the grid of a map, and where one
engine overtakes the other."""

from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING

from tui import format as fmt
from tui.bar import bar
from tui.output import Column
from tui.sweep_grid import grid, grid_table, medians
from tui.views import SweepStep, SweepView

if TYPE_CHECKING:
    from pathlib import Path

    from advisor.sweep import Cell, Point, Sweep


def view(sweep: "Sweep") -> SweepView:
    """All that is shown of a sweep, whole or not."""
    asked = sweep.asked
    return SweepView(
        name=asked.name,
        profile=asked.profile.name,
        axis=asked.over,
        metric=sweep.goal.metric,
        goal=str(sweep.goal),
        clock=asked.clock,
        engines=asked.engines,
        steps=tuple(_steps(sweep)) if asked.across is None else (),
        sentences=tuple(told(sweep)),
        points=len(sweep.points),
        planned=asked.planned,
        grid=grid(sweep) if asked.across is not None else None,
    )


def _steps(sweep: "Sweep") -> Iterator[SweepStep]:
    """The steps of a single axis of which a point was made."""
    from advisor.sweep import Place, standing

    asked, metric = sweep.asked, sweep.goal.metric
    crossings = sweep.crossovers()
    values = asked.axis.values
    for value, following in zip(values, (*values[1:], inf), strict=True):
        place = Place(value)
        points = [sweep.at(place, engine) for engine in asked.engines]
        if all(point is None for point in points):
            continue
        behind = [one for one in crossings if value <= one.value < following]
        yield SweepStep(
            asked.axis.label(value),
            tuple(_median(point, metric) for point in points),
            standing(sweep, place, fmt.ENGINE_TITLES),
            "; ".join(asked.crossing(one, fmt.ENGINE_TITLES) for one in behind),
        )


def table(sweep: "Sweep") -> tuple[list[Column], list[list[str]]]:
    """Columns and rows: the value, what each engine reaches there, and by how much the better one
    leads; of a map its grid."""
    shown = view(sweep)
    if shown.grid is not None:
        return grid_table(shown.grid)
    columns = [Column(shown.axis, right=True)]
    for engine in shown.engines:
        columns += [Column(fmt.ENGINE_TITLES[engine], right=True), Column("")]
    if len(shown.engines) == 2:
        columns.append(Column("leads"))
    most = highest(shown)
    rows = []
    for step in shown.steps:
        row = [step.label]
        for median in step.medians:
            row += [fmt.value(shown.metric, median), bar(median, most)]
        rows.append([*row, step.lead] if len(shown.engines) == 2 else row)
    return columns, rows


def highest(shown: SweepView) -> float:
    """What the longest bar stands for; 0 where nothing was measured."""
    return max((one for step in shown.steps for one in step.medians if one is not None), default=0)


def told(sweep: "Sweep") -> list[str]:
    """Where the better engine changes, what noise there was, and what did not run."""
    from advisor.sweep import sentences

    return sentences(sweep, fmt.ENGINE_TITLES)


def files(output: "Path") -> "tuple[Path, Path]":
    """Where a sweep's reports go, as Markdown and as HTML: to the file that was named and beside
    it, where its name ends in neither `.md` nor `.html` with the other ending added."""
    if output.suffix in (".md", ".html"):
        return output.with_suffix(".md"), output.with_suffix(".html")
    return output, output.with_name(f"{output.name}.html")


def text(sweep: "Sweep", path: "Path") -> str:
    """The report that a file's name asks for: Markdown where it ends in `.md`, else HTML."""
    from advisor.html import sweep_page

    return markdown(sweep) if path.suffix == ".md" else sweep_page(sweep)


def texts(sweep: "Sweep") -> tuple[str, str]:
    """The reports, as Markdown and as HTML."""
    from advisor.html import sweep_page

    return markdown(sweep), sweep_page(sweep)


def document(sweep: "Sweep") -> dict[str, object]:
    """The sweep as JSON tells it."""
    from advisor.sweep import cells

    asked = sweep.asked

    metrics = sorted({name for one in sweep.points for t in one.trials for name in t.metrics})
    return {
        "sweep": asked.name,
        "profile": asked.profile.name,
        "clock": asked.clock,
        "axis": asked.axis.name,
        "across": asked.across.name if asked.across else None,
        "goal": str(sweep.goal),
        "whole": sweep.is_whole,
        "points": [
            {
                "value": point.value,
                "label": asked.axis.label(point.value),
                "across": point.across,
                "across_label": asked.line_label(point.across),
                "engine": point.engine,
                "settings": point.settings,
                "runs": len(point.trials),
                "metrics": {
                    name: spread.median for name in metrics if (spread := point.spread(name))
                },
                "error": point.error or None,
                "breaks": [str(limit) for limit in point.broken(sweep.goal)],
            }
            for point in sweep.points
        ],
        "crossovers": sweep.crossovers(),
        "cells": [_cell(sweep, one) for one in cells(sweep)],
    }


def _cell(sweep: "Sweep", one: "Cell") -> dict[str, object]:
    return {
        "value": one.place.value,
        "label": sweep.asked.axis.label(one.place.value),
        "across": one.place.across,
        "across_label": sweep.asked.line_label(one.place.across),
        "verdict": one.verdict,
        "engine": one.engine,
        "ratio": one.ratio,
    }


def markdown(sweep: "Sweep") -> str:
    """The sweep as a document."""
    from advisor.sweep import provenance, settings_of

    asked = sweep.asked
    columns, rows = table(sweep)
    profile = asked.profile
    lines = [
        f"# {profile.name} over {asked.over}",
        "",
        f"{fmt.CLOCK_TITLES[asked.clock].capitalize()}, {asked.runs} runs at each step, seed "
        f"{asked.seed}; {settings_of(sweep, fmt.ENGINE_TITLES)}. {sweep.goal.metric} is shown.",
        "",
        *_table(columns, rows),
        "",
        *(f"* {sentence}" for sentence in told(sweep)),
        "",
        *(["## Medians", "", *_table(*medians(sweep)), ""] if asked.across is not None else []),
        "## Provenance",
        "",
        _row(["", ""]),
        _row([":--", ":--"]),
        *(_row([fact.title, fact.text]) for fact in provenance(sweep)),
    ]
    return "\n".join(lines) + "\n"


def _table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield _row([column.title for column in columns])
    yield _row(["--:" if column.right else ":--" for column in columns])
    yield from map(_row, rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _median(point: "Point | None", metric: str) -> float | None:
    spread = point.spread(metric) if point is not None else None
    return None if spread is None else spread.median
