"""`sweep`: both engines along an axis, or over the two of a map, in one line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.api.asked import (
    Current,
    asked_clock,
    asked_engines,
    asked_profile,
    asked_settings,
)
from advisor.atomic import write_text
from advisor.html import sweep_page
from advisor.html.element import code, element, joined
from advisor.html.plots import Plot
from advisor.html.sweep import plot, steps
from advisor.html.sweep_map import grid
from advisor.knobs import Engine
from advisor.profile import Profile
from advisor.store import Store
from advisor.sweep.answer import Point
from advisor.sweep.answer import Sweep as Walked
from advisor.sweep.asked import RUNS, SECONDS, Asked
from advisor.sweep.axis import parse_axes
from advisor.sweep.best import Best, best
from advisor.sweep.cell import cells
from advisor.sweep.crossover import Crossover
from advisor.sweep.stored import stored
from advisor.sweep.sweep import sweep as walk

if TYPE_CHECKING:
    import duckdb

_CELLS = (
    "STRUCT(value DOUBLE, label VARCHAR, across DOUBLE, across_label VARCHAR, verdict VARCHAR, "
    "engine VARCHAR, ratio DOUBLE)[]"
)


class Swept:
    """A sweep that has run. Notebooks show it."""

    def __init__(self, found: Walked, store: Store) -> None:
        self._found = found
        self._store = store

    @property
    def name(self) -> str:
        """What the sweep is called in the results file."""
        return self._found.asked.name

    @property
    def points(self) -> tuple[Point, ...]:
        """Each engine at each step, with its settings and runs."""
        return self._found.points

    def crossovers(self) -> list[Crossover]:
        """Where the better engine changes, and between which values noise may have moved that; of a
        map line by line, each with its value on the second axis (`across`)."""
        return self._found.crossovers()

    def best(self, engine: Engine) -> Best | None:
        """Where an engine reaches the best of the goal's metric, and where else it is as good for
        all that noise tells; None with fewer than two places that keep the goal's limits."""
        return best(self._found, engine)

    def medians(self) -> duckdb.DuckDBPyRelation:
        """Medians of every metric by step and engine, as a relation of DuckDB: the view `swept`."""
        query = "SELECT * FROM swept WHERE sweep = $sweep ORDER BY ALL"
        return self._store.relation(query, {"sweep": self.name})

    def cells(self) -> duckdb.DuckDBPyRelation:
        """What there is to say of every place, as a relation of DuckDB: its value on each axis
        (`across` is NULL along a single one), the verdict (`leads`, `even` where noise does not
        tell the engines apart, `keeps` where one alone keeps the goal's limits, `breaks` where none
        does, `alone`, `neither`, `missing`), the engine that leads, or keeps them or ran alone, and
        how many times what the other reaches."""
        asked = self._found.asked
        rows = [
            {
                "value": cell.place.value,
                "label": asked.axis.label(cell.place.value),
                "across": cell.place.across,
                "across_label": asked.line_label(cell.place.across),
                "verdict": cell.verdict,
                "engine": cell.engine,
                "ratio": cell.ratio,
            }
            for cell in cells(self._found)
        ]
        query = f"SELECT unnest($cells::{_CELLS}, recursive := true)"
        return self._store.relation(query, {"cells": rows})

    def plot(self, metric: str | None = None) -> Plot:
        """A metric of both engines over the axis, the goal's where none is named; where one
        overtakes the other is marked. Of a map its cells, by the goal's metric. Plots need the
        extra `report`."""
        return plot(self._found, metric)

    def report(self, path: str | Path, *, force: bool = False) -> None:
        """Writes one page of HTML: the answer, the plot, the table with the row of every number,
        the settings and the provenance. Raises `InputError` for a file that is there, without
        `force`."""
        write_text(Path(path), sweep_page(self._found), force=force)

    def _repr_html_(self) -> str:
        asked, metric = self._found.asked, self._found.goal.metric
        told = [element("p", asked.crossing(one)) for one in self.crossovers()]
        shown = steps(self._found) if asked.across is None else grid(self._found)
        return joined(element("p", code(metric), f", {asked.clock}"), shown, *told)

    def __repr__(self) -> str:
        told = (f"{len(axis.values)} values of {axis.name}" for axis in self._found.asked.axes)
        return f"<sweep {self.name}: {' and '.join(told)}>"


def sweep(
    profile: str | Path | Profile,
    over: str | Sequence[str] | Mapping[str, Sequence[object] | str],
    *,
    steps: int | None = None,
    retune: int | None = None,
    runs: int = RUNS,
    memory: str | int | None = None,
    data: str | int | None = None,
    clients: int | None = None,
    hardware: str | None = None,
    goal: str | None = None,
    engine: str | None = None,
    current: Current | None = None,
    seconds: float = SECONDS,
    scale: float | None = None,
    clock: str | None = None,
    seed: int = 1,
    name: str | None = None,
    results: str | Path | None = None,
    on_point: Callable[[int, Point], None] = lambda number, point: None,
) -> Swept:
    """Runs both engines along an axis, or over two: where does one overtake the other?

    Example:
        found = advisor.sweep("linkbench", "memory=1GiB..32GiB", steps=8)
        found.crossovers()
        found.plot().save("memory.svg")
        over = {"memory": "1GiB..16GiB", "clients": [1, 4, 16]}
        advisor.sweep("linkbench", over).cells().filter("verdict = 'leads'")

    Args:
        profile: A shipped profile by its name, the path of a TOML file, or a `Profile`.
        over: What changes: memory, data, clients, requests_per_second or a knob, as
            `memory=5GiB..100GiB`, `clients=1,4,16` or `compression=kLZ4Compression,kZSTD`. Two
            of them, as a list or as names with their values, make a map: every pair of values is
            run, and each value of the second is a line along the first.
        steps: How many values a range has; 11, in a map 5 of each axis.
        retune: Search anew at every place with so many trials; without it settings stay, and the
            cache fills the memory.
        runs: Runs of each engine at each place, with seeds of their own; they tell the noise.
        seconds: Length of the measured phase of each run.
        name: What the sweep is called; a stored one of the same name and question goes on where it
            ended. A new name is made if absent.
        on_point: Told of each engine at each step with its number, from 1.

    The other arguments mean what they mean in `advisor.tune`.

    Returns:
        The sweep: `points`, `crossovers()`, `best(engine)`, `medians()` and `cells()` as relations
        of DuckDB, `plot()` and `report(path)`. `advisor.stored_sweep(name)` finds it again.

    Raises:
        advisor.errors.InputError: What was asked for cannot be; it says what is accepted.
    """
    axis, across = parse_axes(_texts(over), steps)
    chosen = asked_profile(
        profile, memory=memory, data=data, clients=clients, hardware=hardware, goal=goal
    )
    engines = asked_engines(engine, chosen)
    store = Store(results)
    store.check()
    asked = Asked(
        name=name or store.free_name(f"{chosen.name}-sweep"),
        profile=chosen,
        axis=axis,
        engines=engines,
        current=asked_settings(current, engines),
        clock=asked_clock(clock, chosen),
        seed=seed,
        seconds=seconds,
        runs=runs,
        scale=scale,
        retune=retune,
        across=across,
    )
    return Swept(walk(asked, store, on_point=on_point), store)


def stored_sweep(name: str, *, results: str | Path | None = None) -> Swept:
    """A stored sweep by its name. Raises `InputError` if there is none."""
    store = Store(results)
    return Swept(stored(name, store), store)


def _texts(over: str | Sequence[str] | Mapping[str, Sequence[object] | str]) -> list[str]:
    """Axes as they are written on the command line."""
    if isinstance(over, str):
        return [over]
    if not isinstance(over, Mapping):
        return list(over)
    return [
        f"{name}={values if isinstance(values, str) else ','.join(map(str, values))}"
        for name, values in over.items()
    ]
