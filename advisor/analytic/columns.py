"""Many settings of one engine side by side: a knob is a column, so that a formula is evaluated for
all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from advisor.knobs import Setting, Settings

Numbers = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Columns:
    """Settings that differ in some knobs only."""

    base: Settings
    """What all of them have in common."""
    values: Mapping[str, Sequence[Setting]]
    """The values of each knob in which they differ."""
    places: Mapping[str, Places]
    """Of each of these knobs, which of its values each of the settings has."""
    count: int

    @classmethod
    def of(cls, settings: Sequence[Settings]) -> Columns:
        """These complete settings, at least one."""
        base = settings[0]
        values: dict[str, list[Setting]] = {}
        places: dict[str, Places] = {}
        for name in base:
            own = [one[name] for one in settings]
            if (known := list(dict.fromkeys(own))) != own[:1]:
                values[name] = known
                places[name] = np.array([known.index(value) for value in own], dtype=np.intp)
        return cls(base, values, places, len(settings))

    def each(self, name: str, formula: Callable[[Setting], float]) -> Numbers:
        """A number for the value that each of the settings has of a knob."""
        if name not in self.values:
            return np.full(self.count, float(formula(self.base[name])))
        return np.array([float(formula(value)) for value in self.values[name]])[self.places[name]]

    def number(self, name: str) -> Numbers:
        """A knob that is a number or a switch."""
        return self.each(name, float)

    def settings(self, index: int) -> dict[str, Setting]:
        """One of them, complete."""
        own = {name: known[self.places[name][index]] for name, known in self.values.items()}
        return {**self.base, **own}

    def different(self, names: Collection[str]) -> tuple[Columns, Places]:
        """One of each that differ in any of these knobs, and for all settings which of these it
        is."""
        weights, size = np.zeros(self.count, dtype=np.int64), 1
        for name in self.values:
            if name in names:
                _, weights = np.unique(weights, return_inverse=True)
                size = int(weights.max(initial=0)) + 1
                weights = weights + self.places[name] * size
        _, first, which = np.unique(weights, return_index=True, return_inverse=True)
        return self.take(first), which

    def take(self, chosen: Places | NDArray[np.bool_]) -> Columns:
        """Some of them."""
        places = {name: column[chosen] for name, column in self.places.items()}
        count = int(chosen.sum()) if chosen.dtype == np.bool_ else len(chosen)
        return Columns(self.base, self.values, places, count)
