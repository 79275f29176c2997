"""What a sweep walks along: memory, data, clients, the rate of requests, or a knob of one
engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from advisor import knobs
from advisor.errors import InputError
from advisor.knobs import ENGINES, Engine, Knob, Setting
from advisor.profile import Profile
from advisor.sizes import ACCEPTED, format_size, parse_size
from advisor.sweep.crossover import Crossover

OPTION = "--over"
SIZES, COUNTS, RATES = ("memory", "data"), ("clients",), ("requests_per_second",)
OF_PROFILES = (*SIZES, *COUNTS, *RATES)
MOST_AXES = 2
STEPS, MAP_STEPS = 11, 5
"""Values of a range where nobody says how many: of a single axis, and of each axis of a map."""
LEAST_STEPS, MOST_STEPS = 2, 200
WIDE = 32
"""A range whose end is more than so many times its beginning is walked by equal factors."""


@dataclass(frozen=True)
class Axis:
    """At least two values, ascending."""

    name: str
    values: tuple[float, ...]
    engine: Engine | None = None
    """Whose knob it is; absent for what the profile says."""
    choices: tuple[Setting, ...] = ()
    """Settings of a knob that is no number, which have no order: its values are their places."""

    def label(self, value: float) -> str:
        """A value as people write it."""
        if self.engine is not None:
            return knobs.catalogue(self.engine)[self.name].show(self._setting(value))
        return format_size(round(value)) if self.name in SIZES else f"{value:,.0f}"

    def crossing(self, one: Crossover, titles: Mapping[str, str] | None = None) -> str:
        """Where one engine overtakes the other, and what noise may have moved that by; engines have
        their `titles`, or their names."""
        after, before = ((titles or {}).get(name, name) for name in (one.after, one.before))
        return (
            f"{after} overtakes {before} at {self.name} {self.label(one.value)} "
            f"(between {self.label(one.low)} and {self.label(one.high)} by the noise)"
        )

    def profile(self, profile: Profile, value: float) -> Profile:
        """The profile at a value. Raises `InputError` for one that it does not take."""
        if self.engine is not None:
            return profile
        if self.name not in RATES:
            return profile.with_changes(OPTION, **{self.name: int(value)})
        changed = {**profile.workload.model_dump(), self.name: int(value)}
        return profile.with_changes(OPTION, workload=changed)

    def refuse_values(self, profile: Profile) -> None:
        """Raises `InputError` for the first value that the profile does not take."""
        for value in self.values:
            self.profile(profile, value)

    def settings(self, engine: Engine, value: float) -> dict[str, Any]:
        """What a value sets of an engine."""
        return {self.name: self._setting(value)} if engine == self.engine else {}

    def _setting(self, value: float) -> Setting:
        assert self.engine is not None
        if self.choices:
            return self.choices[int(value)]
        knob = knobs.catalogue(self.engine)[self.name]
        return int(value) if isinstance(knob.default, int) else value


def parse_axes(texts: Sequence[str], steps: int | None = None) -> tuple[Axis, Axis | None]:
    """One axis or the two of a map, each in so many steps. Raises `InputError`."""
    if not 1 <= len(texts) <= MOST_AXES:
        raise InputError(OPTION, None, f"{len(texts)} axes", "one, or two for a map")
    if steps is not None and not any(".." in text for text in texts):
        raise InputError("--steps", None, f"{steps}, and values that are listed", "a range")
    usual = STEPS if len(texts) == 1 else MAP_STEPS
    first, *rest = [parse_axis(text, usual if steps is None else steps) for text in texts]
    if not rest:
        return first, None
    if rest[0].name == first.name:
        raise InputError(OPTION, first.name, "the same axis twice", "two axes that differ")
    return first, rest[0]


def parse_axis(text: str, steps: int = STEPS) -> Axis:
    """`memory=5GiB..100GiB` in so many steps, `memory=5GiB,10GiB,50GiB`, or
    `compression=kLZ4Compression,kZSTD`. Raises `InputError`."""
    if not LEAST_STEPS <= steps <= MOST_STEPS:
        raise InputError("--steps", None, str(steps), f"{LEAST_STEPS} to {MOST_STEPS}")
    name, _, range_ = text.partition("=")
    name = name.strip()
    engine = None if name in OF_PROFILES else _engine_of(name)
    knob = knobs.catalogue(engine)[name] if engine else None
    if engine is not None and knob is not None and not _is_numeric(knob):
        return _choice(name, engine, knob, range_)
    low, dots, high = range_.partition("..")
    try:
        if dots:
            values = _walk(_number(low, name, knob), _number(high, name, knob), steps)
        else:
            values = sorted({_number(one, name, knob) for one in range_.split(",")})
    except ValueError as error:
        raise InputError(OPTION, name, str(error), _accepted(name, knob)) from error
    if name not in SIZES and not (knob and isinstance(knob.default, float)):
        values = [float(one) for one in sorted({round(value) for value in values})]
    if len(values) < 2:
        raise InputError(OPTION, name, f"{range_!r}, one value", "two or more, ascending")
    for value in values:
        if knob is not None and knob.normal(_typed(knob, value)) is None:
            raise InputError(OPTION, name, f"{value:g}", knob.accepted)
    return Axis(name, tuple(values), engine)


def _choice(name: str, engine: Engine, knob: Knob, list_: str) -> Axis:
    """An axis of settings in the order in which they are named."""
    choices: dict[Setting, None] = {}
    for one in list_.split(","):
        choices[knobs.parse_value(knob, one, OPTION)] = None
    if len(choices) < 2:
        raise InputError(OPTION, name, f"{list_!r}, one value", f"two or more, {name}=A,B")
    return Axis(name, tuple(map(float, range(len(choices)))), engine, tuple(choices))


def _typed(knob: Knob, value: float) -> float:
    return int(value) if isinstance(knob.default, int) else value


def _engine_of(name: str) -> Engine:
    found = [engine for engine in ENGINES if name in knobs.catalogue(engine)]
    if len(found) == 1:
        return found[0]
    known = f"{', '.join(OF_PROFILES)}, or a knob"
    raise InputError(OPTION, None, repr(name), known)


def _is_numeric(knob: Knob) -> bool:
    return isinstance(knob.default, int | float) and not isinstance(knob.default, bool)


def _number(text: str, name: str, knob: Knob | None) -> float:
    text = text.strip()
    if knob is not None:
        return float(knobs.parse_value(knob, text, OPTION))
    value = parse_size(text) if name in SIZES else int(text)
    if value <= 0:
        raise ValueError(repr(text))
    return float(value)


def _walk(low: float, high: float, steps: int) -> list[float]:
    if not low < high:
        raise ValueError("a range that does not ascend")
    if low > 0 and high / low > WIDE:
        factor = (high / low) ** (1 / (steps - 1))
        return [*(low * factor**i for i in range(steps - 1)), high]
    return [*(low + (high - low) * i / (steps - 1) for i in range(steps - 1)), high]


def _accepted(name: str, knob: Knob | None) -> str:
    if knob is not None:
        return f"{name}=LOW..HIGH, each {knob.accepted}"
    one = ACCEPTED if name in SIZES else "a whole number above 0"
    return f"{name}=LOW..HIGH or {name}=A,B,C, each {one}"
