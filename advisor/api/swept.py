"""`sweep`: both engines along an axis in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.api.asked import (
    Current,
    asked_clock,
    asked_engines,
    asked_profile,
    asked_settings,
)
from advisor.html.element import code, element, joined
from advisor.html.plots import Plot
from advisor.html.sweep import plot, steps
from advisor.profile import Profile
from advisor.store import Store
from advisor.sweep.axis import STEPS, parse_axis
from advisor.sweep.crossover import Crossover
from advisor.sweep.sweep import SECONDS, Asked, Point
from advisor.sweep.sweep import Sweep as Walked
from advisor.sweep.sweep import sweep as walk

if TYPE_CHECKING:
    import duckdb


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
        """Where the better engine changes, and between which values noise may have moved that."""
        return self._found.crossovers()

    def medians(self) -> duckdb.DuckDBPyRelation:
        """Medians of every metric by step and engine, as a relation of DuckDB: the view `swept`."""
        query = "SELECT * FROM swept WHERE sweep = $sweep ORDER BY value, engine, metric"
        return self._store.relation(query, {"sweep": self.name})

    def plot(self, metric: str | None = None) -> Plot:
        """A metric of both engines over the axis, the goal's where none is named; where one
        overtakes the other is marked. Plots need the extra `report`."""
        return plot(self._found, metric)

    def _repr_html_(self) -> str:
        asked, metric = self._found.asked, self._found.goal.metric
        told = [element("p", asked.axis.crossing(one)) for one in self.crossovers()]
        return joined(element("p", code(metric), f", {asked.clock}"), steps(self._found), *told)

    def __repr__(self) -> str:
        axis = self._found.asked.axis
        return f"<sweep {self.name}: {len(axis.values)} values of {axis.name}>"


def sweep(
    profile: str | Path | Profile,
    over: str,
    *,
    steps: int = STEPS,
    retune: int | None = None,
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
    """Runs both engines along an axis: where does one overtake the other?

    Example:
        found = advisor.sweep("linkbench", "memory=1GiB..32GiB", steps=8)
        found.crossovers()
        found.plot().save("memory.svg")

    Args:
        profile: A shipped profile by its name, the path of a TOML file, or a `Profile`.
        over: What changes: memory, data, clients or a knob, as `memory=5GiB..100GiB` or
            `clients=1,4,16`.
        steps: How many values a range has.
        retune: Search anew at every step with so many trials; without it settings stay, and the
            cache fills the memory.
        seconds: Length of the measured phase of each run.
        name: What the sweep is called; a new name is made if absent.
        on_point: Told of each engine at each step with its number, from 1.

    The other arguments mean what they mean in `advisor.tune`.

    Returns:
        The sweep: `points`, `crossovers()`, `medians()` as a relation of DuckDB, and `plot()`.

    Raises:
        advisor.errors.InputError: What was asked for cannot be; it says what is accepted.
    """
    axis = parse_axis(over, steps)
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
        scale=scale,
        retune=retune,
    )
    return Swept(walk(asked, store, on_point=on_point), store)
