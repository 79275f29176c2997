"""The knob catalogue: what every setting of the two engines is and what it accepts.

The single source is `profiles/engines/{lsm,btree}.toml`; ranges, texts, search spaces and the names
in the products' files all come from there. Settings are plain dicts from knob name to value.
"""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, get_args

from advisor.data import data_path
from advisor.errors import InputError
from advisor.sizes import format_size, parse_size

Engine = Literal["lsm", "btree"]
Setting = bool | int | float | str
Settings = Mapping[str, Setting]
Kind = Literal["size", "integer", "number", "switch", "word", "text"]
Change = Literal["dynamic", "restart", "rebuild"]

ENGINES: tuple[Engine, ...] = get_args(Engine)

_SWITCHES = {"on": True, "true": True, "1": True, "yes": True}
_SWITCHES |= {"off": False, "false": False, "0": False, "no": False}


@dataclass(frozen=True)
class Spelling:
    """A knob in one product: its name and place in the file, and where the product differs from the
    catalogue.
    """

    name: str
    place: str = ""
    default: Setting | None = None
    default_text: str = ""
    """The default in words, where it follows from other settings."""
    low: float | None = None
    high: float | None = None
    choices: tuple[Setting, ...] | None = None
    multiple: int = 1
    """Granularity: the product rounds down to a multiple of this."""
    change: Change | None = None
    since: str = ""
    """First version that has the setting, where it is younger than the product's line."""
    remark: str = ""
    absent: str = ""
    """Why the product's file has no such setting, and what stands in for it; empty when it has."""


@dataclass(frozen=True)
class SearchRange:
    """The values of one knob that a search walks: `choices`, or numbers from `low` to `high`, both
    included.
    """

    knob: str
    choices: tuple[Setting, ...] = ()
    low: float = 0
    high: float = 0
    log: bool = False
    integer: bool = True
    at_least: str | None = None
    """A knob whose value is a lower bound too; it comes earlier in the same search space, or is not
    searched.
    """
    budget_share: float | None = None
    """A size never takes more than this part of the memory budget."""


@dataclass(frozen=True)
class Knob:
    """One setting of an engine."""

    name: str
    engine: Engine
    text: str
    type: Kind
    default: Setting
    change: Change
    abstract: str = ""
    unit: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[Setting, ...] | None = None
    pattern: str = ""
    zero: str = ""
    """What 0 stands for where it lies outside of the range; empty where it is no such word."""
    at_least: str | None = None
    """The knob whose value is a lower bound of this one."""
    search: SearchRange | None = None
    scales: bool = False
    """True for sizes that shrink with the data."""
    durability: bool = False
    """True where a change may cost committed data in a crash: never changed unless the user opens
    it.
    """
    spellings: Mapping[str, Spelling] = field(default_factory=dict)
    """By dialect."""
    accepts: str = ""

    @property
    def accepted(self) -> str:
        """What may be given, in words."""
        if self.type == "switch":
            return "true or false"
        if self.choices is not None:
            return "one of " + ", ".join(self.show(choice) for choice in self.choices)
        if self.type == "text":
            return self.accepts
        noun = {"size": "a size", "integer": "a whole number"}.get(self.type, "a number")
        beside = f", or 0 for {self.zero}" if self.zero else ""
        return f"{noun} from {self.show(self.low or 0)} to {self.show(self.high or 0)}{beside}"

    def show(self, value: Setting) -> str:
        """A value as a person reads it."""
        if isinstance(value, bool):
            return "on" if value else "off"
        if self.type == "size" and isinstance(value, int | float):
            return format_size(int(value))
        return f"{value:g}" if isinstance(value, float) else str(value) or '""'

    def normal(self, value: object) -> Setting | None:
        """The value in the knob's own type, or None if the knob does not accept it."""
        if self.type == "switch":
            return value if isinstance(value, bool) else None
        if self.type in ("word", "text"):
            return value if isinstance(value, str) and self._admits(value) else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if self.type == "number":
            return float(value) if self._admits(value) else None
        if value != value or value in (math.inf, -math.inf) or value != int(value):
            return None
        return int(value) if self._admits(int(value)) else None

    def _admits(self, value: str | float) -> bool:
        if self.choices is not None:
            return value in self.choices
        if isinstance(value, str):
            return re.fullmatch(self.pattern, value) is not None
        if value == 0 and self.zero:
            return True
        return self.low is not None and self.high is not None and self.low <= value <= self.high

    def keeps_bound(self, settings: Settings) -> bool:
        """Whether complete settings have this knob at or above the one that bounds it; what 0
        stands for has no bound."""
        if self.at_least is None or (self.zero and settings[self.name] == 0):
            return True
        return _number(settings, self.name) >= _number(settings, self.at_least)


@cache
def catalogue(engine: Engine) -> Mapping[str, Knob]:
    """Every knob of the engine by name, in the order of the catalogue."""
    path = data_path("profiles", "engines", f"{engine}.toml")
    with path.open("rb") as file:
        tables = tomllib.load(file)
    return {name: _knob(engine, name, table) for name, table in tables.items()}


def defaults(engine: Engine) -> dict[str, Setting]:
    """The engine's settings when none are given."""
    return {name: knob.default for name, knob in catalogue(engine).items()}


def check(
    engine: Engine, settings: Mapping[str, Any], source: str = "settings"
) -> dict[str, Setting]:
    """The settings in their knobs' own types. Raises `InputError` for the first one that the engine
    does not accept.

    Absent knobs take their defaults where one knob bounds another.
    """
    knobs = catalogue(engine)
    checked: dict[str, Setting] = {}
    for name, value in settings.items():
        if name not in knobs:
            raise InputError(source, name, f"an unknown knob of {engine}", _close(name, knobs))
        normal = knobs[name].normal(value)
        if normal is None:
            raise InputError(source, name, repr(value), knobs[name].accepted)
        checked[name] = normal
    complete = defaults(engine) | checked
    if complete.get("sync") and complete.get("disable_wal"):
        raise InputError(source, "sync", "on with disable_wal", "sync only where there is a log")
    for name, knob in knobs.items():
        if knob.at_least is None or knob.keeps_bound(complete):
            continue
        given = "" if name in checked else " (the default)"
        bound = f"at least {knob.at_least}, which is {knob.show(complete[knob.at_least])}"
        raise InputError(source, name, knob.show(complete[name]) + given, bound)
    return checked


def parse_value(knob: Knob, text: str, source: str = "value") -> Setting:
    """A value as people write it: `16MiB`, `on`, `kzstd`. Raises `InputError`."""
    value: object = text.strip()
    if knob.type == "switch":
        value = _SWITCHES.get(text.strip().lower())
    elif knob.type == "word":
        words = {str(choice).lower(): choice for choice in knob.choices or ()}
        value = words.get(text.strip().lower())
    elif knob.type == "text":
        value = text.strip().strip('"')
    elif knob.type == "size":
        value = _read(parse_size, text)
    elif knob.type in ("integer", "number"):
        value = _read(int, text)
        if value is None:
            value = _read(float, text)
    normal = None if value is None else knob.normal(value)
    if normal is None:
        raise InputError(source, knob.name, repr(text), knob.accepted)
    return normal


def searchable(
    engine: Engine, *, memory_budget: int | None = None, include: Collection[str] = ()
) -> dict[str, SearchRange]:
    """What a search walks, sizes cut to the memory budget; a knob comes after the one that bounds
    it.

    Knobs that are not searched by default, durability among them, take part only when `include`
    names them.
    """
    knobs = catalogue(engine)
    for name in include:
        if name not in knobs:
            raise InputError("search", name, f"an unknown knob of {engine}", _close(name, knobs))
    ranges = {
        name: knob.search or _whole_range(knob)
        for name, knob in knobs.items()
        if name in include or (knob.search is not None and not knob.durability)
    }
    if memory_budget is not None:
        ranges = {name: _within(known, memory_budget) for name, known in ranges.items()}
    return {name: ranges[name] for name in sorted(ranges, key=lambda name: _depth(knobs, name))}


CACHE_KNOB: Mapping[Engine, str] = {"lsm": "block_cache", "btree": "innodb_buffer_pool_size"}


def _knob(engine: Engine, name: str, table: dict[str, Any]) -> Knob:
    kind: Kind = table["type"]
    dialects = table.pop("in")
    search = table.pop("search", None)
    known = {key: _value(kind, key, value) for key, value in table.items()}
    if kind == "size":
        known.setdefault("unit", "bytes")
    spellings = {
        dialect: Spelling(
            **({"name": name} | {key: _value(kind, key, value) for key, value in one.items()})
        )
        for dialect, one in dialects.items()
    }
    walk = None
    if search is not None:
        fields = {key: _value(kind, key, value) for key, value in search.items()}
        bound = known.get("at_least")
        walk = SearchRange(name, integer=kind != "number", at_least=bound, **fields)
    return Knob(name=name, engine=engine, search=walk, spellings=spellings, **known)


def _value(kind: Kind, key: str, value: Any) -> Any:
    if key == "choices":
        return tuple(_value(kind, "choice", choice) for choice in value)
    sizes = ("default", "low", "high", "choice", "multiple")
    if kind == "size" and key in sizes and isinstance(value, str):
        return parse_size(value)
    return value


def _whole_range(knob: Knob) -> SearchRange:
    choices = (False, True) if knob.type == "switch" else knob.choices
    if choices is not None:
        return SearchRange(knob.name, choices=choices)
    if knob.low is None or knob.high is None:
        raise InputError("search", knob.name, "a knob whose values cannot be listed", "other knobs")
    return SearchRange(
        knob.name,
        low=knob.low,
        high=knob.high,
        log=knob.low > 0,
        integer=knob.type != "number",
        at_least=knob.at_least,
    )


def _within(known: SearchRange, memory_budget: int) -> SearchRange:
    if known.budget_share is None:
        return known
    high = max(known.low, min(known.high, int(memory_budget * known.budget_share)))
    return SearchRange(**{**vars(known), "high": high})


def _depth(knobs: Mapping[str, Knob], name: str) -> int:
    bound = knobs[name].at_least
    return 0 if bound is None else 1 + _depth(knobs, bound)


def _number(settings: Settings, name: str) -> float:
    value = settings[name]
    assert isinstance(value, int | float), f"{name} is a number in the catalogue"
    return value


def _read(parse: Any, text: str) -> Any:
    try:
        return parse(text)
    except ValueError:
        return None


def _close(name: str, knobs: Mapping[str, Knob]) -> str:
    near = difflib.get_close_matches(name, knobs, n=3)
    return "such as " + ", ".join(near) if near else "one of " + ", ".join(knobs)
