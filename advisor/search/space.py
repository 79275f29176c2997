"""The settings that a search walks: for every searched knob a short list of round values, in
full-size units.

Lists instead of ranges because 96 MiB can be read, typed and compared where 98,412,331 bytes
cannot, and because two proposals a hair apart would each cost a run. The defaults, the user's
values and the seeds' are always on the lists.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from advisor import knobs
from advisor.knobs import Engine, SearchRange, Setting, Settings
from advisor.scale import Scale

LINEAR_STEPS = 12
MIB = 1 << 20


@dataclass(frozen=True)
class Axis:
    """The values of one knob, ascending if they are `ordered`."""

    name: str
    values: tuple[Setting, ...]
    ordered: bool
    at_least: str | None = None

    def index(self, value: Setting) -> int:
        """Place of a value, or of the nearest one below it."""
        if not self.ordered:
            return self.values.index(value)
        return max(0, bisect.bisect_right(_numbers(self.values), _number(value)) - 1)


@dataclass(frozen=True)
class Space:
    """The axes of one engine around `base`, the settings that all other knobs keep."""

    engine: Engine
    base: Settings
    axes: tuple[Axis, ...]
    memory: int
    """Memory that the settings may need, bytes."""
    need: Callable[[Settings], int]
    """Memory that settings need at full size, bytes."""

    def encode(self, settings: Settings) -> dict[str, int]:
        """The place of settings on every axis."""
        return {axis.name: axis.index(settings[axis.name]) for axis in self.axes}

    def decode(self, places: Mapping[str, int]) -> dict[str, Setting]:
        """Complete settings; a value below the knob that bounds it is raised to that bound."""
        settings = dict(self.base)
        for axis in self.axes:
            settings[axis.name] = axis.values[places[axis.name]]
        return self.raised(settings)

    def raised(self, settings: Mapping[str, Setting]) -> dict[str, Setting]:
        """The settings with every value at or above the knob that bounds it."""
        lawful = dict(settings)
        for axis in self.axes:
            if axis.at_least is not None:
                low = lawful[axis.at_least]
                if _number(lawful[axis.name]) < _number(low):
                    fitting = (value for value in axis.values if _number(value) >= _number(low))
                    lawful[axis.name] = next(fitting, low)
        return lawful

    def memory_excess(self, settings: Settings) -> float:
        """Memory that the settings need above the budget, as a part of the budget; 0 or less
        fits."""
        return self.need(settings) / self.memory - 1.0


def space(
    engine: Engine,
    base: Settings,
    *,
    memory: int,
    data: int,
    need: Callable[[Settings], int],
    scale: Scale,
    opened: Collection[str] = (),
    fixed: Collection[str] = (),
    anchors: Iterable[Settings] = (),
) -> Space:
    """The space of an engine around `base`.

    `opened` adds knobs that are not searched otherwise, `fixed` ones stay as in `base`, `anchors`
    are settings that must lie on the axes. Other values are left out where a run at `scale` could
    not tell them apart.
    """
    ranges = knobs.searchable(engine, memory_budget=memory, data=data, include=opened)
    corners = (base, *anchors)
    catalogue = knobs.catalogue(engine)
    axes = (
        _axis(
            known,
            {settings[name] for settings in corners if name in settings},
            partial(scale.holds, catalogue[name]),
        )
        for name, known in ranges.items()
        if name not in fixed
    )
    walked = tuple(axis for axis in axes if len(axis.values) > 1)
    return Space(engine, base, walked, memory, need)


def _axis(
    known: SearchRange, anchors: Collection[Setting], holds: Callable[[Setting], bool]
) -> Axis:
    if known.choices and not all(_is_number(choice) for choice in known.choices):
        extra = sorted((value for value in anchors if value not in known.choices), key=str)
        return Axis(known.knob, (*known.choices, *extra), ordered=False)
    values = {value for value in known.choices or _grid(known) if holds(value)} | set(anchors)
    return Axis(
        known.knob, tuple(sorted(values, key=_number)), ordered=True, at_least=known.at_least
    )


def _grid(known: SearchRange) -> set[Setting]:
    if known.log:
        return _log_grid(int(known.low), int(known.high))
    low, high = known.low, known.high
    if known.integer:
        step = max(1, math.ceil((high - low) / LINEAR_STEPS))
        return {*range(int(low), int(high) + 1, step), int(high)}
    width = (high - low) / (LINEAR_STEPS - 2)
    return {float(f"{low + i * width:.3g}") for i in range(LINEAR_STEPS - 1)}


def _log_grid(low: int, high: int) -> set[Setting]:
    """Sizes by powers of two and their halves between, other counts by 1, 2, 5, 10, …"""
    if low >= 1 << 10:
        # A budget's share is seldom round; the last whole MiB below it is what a person would
        # write.
        high = max(low, high // MIB * MIB)
        powers = (1 << exponent for exponent in range(10, 50))
        series = [value for power in powers for value in (power, power * 3 // 2)]
    else:
        series = [digit * 10**exponent for exponent in range(10) for digit in (1, 2, 5)]
    return {*(value for value in series if low <= value <= high), low, high}


def _is_number(value: Setting) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Setting) -> float:
    assert isinstance(value, int | float), "ordered axes hold numbers"
    return value


def _numbers(values: tuple[Setting, ...]) -> list[float]:
    return [_number(value) for value in values]
