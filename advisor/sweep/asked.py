"""What is asked of a sweep: a profile, one axis or the two of a map, and how each place is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from advisor.errors import InputError
from advisor.goal import refuse_several
from advisor.knobs import Engine, Settings
from advisor.profile import Profile
from advisor.sweep.axis import OF_PROFILES, OPTION, Axis
from advisor.sweep.crossover import Crossover
from advisor.trial import Clock

RUNS, MOST_RUNS = 2, 100
"""Runs of each engine at each place, with seeds of their own: they tell the noise."""
SECONDS = 1.25
"""Length of the measured phase, as in a study of the usual bounds."""


class Place(NamedTuple):
    """A value of the axis, in a map with one of the second axis."""

    value: float
    across: float | None = None


@dataclass(frozen=True)
class Asked:
    """What is swept."""

    name: str
    profile: Profile
    axis: Axis
    engines: tuple[Engine, ...]
    current: Mapping[Engine, Settings] = field(default_factory=dict)
    """The user's settings, as far as they are known; else a rule of thumb is fitted."""
    clock: Clock = "simulated"
    seed: int = 1
    seconds: float = SECONDS
    runs: int = RUNS
    scale: float | None = None
    retune: int | None = None
    """Trials of the search at every place; absent where settings stay what they are."""
    across: Axis | None = None
    """The second axis of a map: each of its values is a line along the first."""

    @property
    def axes(self) -> tuple[Axis, ...]:
        """One, or the two of a map."""
        return (self.axis,) if self.across is None else (self.axis, self.across)

    @property
    def over(self) -> str:
        """What changes, in words."""
        return " and ".join(axis.name for axis in self.axes)

    @property
    def lines(self) -> tuple[float | None, ...]:
        """Values of the second axis; a single axis is one line without."""
        return (None,) if self.across is None else self.across.values

    @property
    def places(self) -> tuple[Place, ...]:
        """All of them, line by line: an interrupted map has whole lines, which have crossovers."""
        return tuple(Place(value, line) for line in self.lines for value in self.axis.values)

    @property
    def planned(self) -> int:
        """Points of the whole."""
        return len(self.places) * len(self.engines)

    def label(self, place: Place) -> str:
        """A place beside the name of the axis: `4GiB`, in a map `4GiB, clients 16`."""
        own = self.axis.label(place.value)
        return f"{own}, {self.line(place.across)}" if place.across is not None else own

    def where(self, place: Place) -> str:
        """A place on its own: `memory 4GiB`."""
        return f"{self.axis.name} {self.label(place)}"

    def line(self, across: float | None) -> str:
        """A line of a map: `clients 16`; empty along a single axis."""
        label = self.line_label(across)
        return "" if label is None or self.across is None else f"{self.across.name} {label}"

    def line_label(self, across: float | None) -> str | None:
        """A line of a map beside the name of its axis: `16`."""
        return None if self.across is None or across is None else self.across.label(across)

    def crossing(self, one: Crossover, titles: Mapping[str, str] | None = None) -> str:
        """Where one engine overtakes the other, in a map with its line."""
        told, line = self.axis.crossing(one, titles), self.line(one.across)
        return f"{line}: {told}" if line else told

    def study_name(self, place: Place) -> str:
        """What the search of a place is called. Where labels of places repeat, as those of close
        steps do, their values tell them apart."""
        label = self.label(place)
        if [self.label(other) for other in self.places].count(label) > 1:
            exact = (f"{value:.15g}" for value in place if value is not None)
            label = f"{label} ({', '.join(exact)})"
        return f"{self.name}: {label}"

    def profile_at(self, place: Place) -> Profile:
        """The profile at a place."""
        changed = self.axis.profile(self.profile, place.value)
        if self.across is None or place.across is None:
            return changed
        return self.across.profile(changed, place.across)

    def settings_at(self, engine: Engine, place: Place) -> dict[str, Any]:
        """What a place sets of an engine."""
        own = self.axis.settings(engine, place.value)
        if self.across is not None and place.across is not None:
            own |= self.across.settings(engine, place.across)
        return own

    def check(self) -> None:
        """Raises `InputError` for several objectives, for too many runs or none, for a knob that a
        search would change too, or of an engine that does not run, and for values that the profile
        does not take."""
        if not 1 <= self.runs <= MOST_RUNS:
            raise InputError("--runs", None, str(self.runs), f"1 to {MOST_RUNS}")
        # Engines lead, and cross, by one number.
        refuse_several(self.profile.goal, "sweep")
        for axis in self.axes:
            axis.refuse_values(self.profile)
            if axis.engine is None:
                continue
            if self.retune is not None:
                accepted = ", ".join(OF_PROFILES)
                raise InputError("--retune", None, f"{OPTION} {axis.name}", accepted)
            if axis.engine not in self.engines:
                found = f"a knob of {axis.engine}"
                raise InputError(OPTION, axis.name, found, "an engine that runs")
