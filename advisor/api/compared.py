"""`compare`: stored runs and studies side by side in one line."""

from __future__ import annotations

from pathlib import Path

from advisor import knobs
from advisor.api.asked import asked_clock, asked_engines, asked_profile
from advisor.compare import Apart, Row, Side, SideBySide
from advisor.compare import compare as find
from advisor.configured import RUNS, SECONDS, On
from advisor.errors import InputError
from advisor.goal import find_metric
from advisor.html.element import Markup, code, element, joined, table
from advisor.profile import Profile
from advisor.recommend import wording
from advisor.store import Store

ABSENT = "-"


class Compared:
    """Runs and studies side by side. Notebooks show it."""

    def __init__(self, found: SideBySide) -> None:
        self._found = found

    @property
    def sides(self) -> tuple[Side, ...]:
        """The things compared, with their settings and trials."""
        return self._found.sides

    @property
    def rows(self) -> tuple[Row, ...]:
        """A row per metric: the medians, and a verdict for every side but the first."""
        return self._found.rows

    @property
    def apart(self) -> tuple[Apart, ...]:
        """The settings that differ, for each engine that two sides have."""
        return self._found.apart

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader must know to judge the verdicts."""
        return self._found.notes

    def _repr_html_(self) -> str:
        heads = [element("p", code(side.name), f": {side.words}") for side in self.sides]
        names = [side.name for side in self.sides]
        against = [f"{name} against {names[0]}" for name in names[1:]]
        rows = []
        for row in self.rows:
            numbers = [_number(row.metric, value) for value in row.values]
            verdicts = [str(one or "") for one in row.verdicts]
            rows.append((row.metric, *numbers, *verdicts))
        notes = [element("p", note) for note in self.notes]
        metrics = table(("metric", *names, *against), rows)
        return joined(*heads, metrics, *(_settings(one, names) for one in self.apart), *notes)

    def __repr__(self) -> str:
        return f"<{' beside '.join(side.name for side in self.sides)}>"


def compare(
    *names: str,
    profile: str | Path | Profile | None = None,
    memory: str | int | None = None,
    data: str | int | None = None,
    clients: int | None = None,
    hardware: str | None = None,
    engine: str | None = None,
    runs: int = RUNS,
    seconds: float = SECONDS,
    scale: float | None = None,
    clock: str | None = None,
    seed: int = 1,
    results: str | Path | None = None,
) -> Compared:
    """Stored runs, studies and settings side by side: which is better than the first, and by how
    much?

    Example:
        advisor.compare("linkbench-1", "linkbench-2")
        advisor.compare("my.cnf", "compression=kZSTD,write_buffer_size=64MiB", profile="linkbench")

    Args:
        names: Studies by name, which stand for the settings that they recommend, runs by the
            beginning of their id, and with a `profile` settings, which are run on it and stored: a
            my.cnf or OPTIONS file, or `KNOB=VALUE,KNOB=VALUE` over the defaults. Two or more; the
            others are compared with the first.
        profile: What settings are run on, all with the same seeds; the arguments behind it mean
            what they mean in `advisor.tune`.
        runs: Runs of each of the settings.
        results: The DuckDB file that keeps them; the user's usual one if absent.

    Returns:
        The comparison: `sides`, `rows` with a verdict per metric, `apart` (the settings that
        differ) and `notes`. Numbers of different clocks or workloads get no verdict.

    Raises:
        advisor.errors.InputError: A name is not stored, is not the only one, or is given twice.
    """
    store = Store(results)
    if profile is None:
        given: dict[str, object] = {
            "memory": memory,
            "data": data,
            "clients": clients,
            "hardware": hardware,
            "engine": engine,
            "scale": scale,
            "clock": clock,
        }
        for name, value in given.items():
            if value is not None:
                raise InputError(name, None, str(value), "with a profile alone")
        return Compared(find(names, store))
    chosen = asked_profile(profile, memory=memory, data=data, clients=clients, hardware=hardware)
    engines, own_clock = asked_engines(engine, chosen), asked_clock(clock, chosen)
    store.check()
    on = On(chosen, engines, own_clock, seconds, runs, seed, scale)
    return Compared(find(names, store, on))


def _number(metric: str, value: float | None) -> str:
    if value is None:
        return ABSENT
    return wording.metric(metric, value) if find_metric(metric) else f"{value:.3g}"


def _settings(apart: Apart, names: list[str]) -> Markup:
    if not apart.knobs:
        return Markup()
    known = knobs.catalogue(apart.engine)
    rows = [
        (code(knob), *(ABSENT if value is None else known[knob].show(value) for value in values))
        if knob in known
        else (code(knob), *(ABSENT if value is None else str(value) for value in values))
        for knob, values in apart.knobs.items()
    ]
    return table((apart.engine, *(names[place] for place in apart.places)), rows)
