"""The knob catalogue: what every setting of the engines is and what it accepts.

A knob is an option of the core (`advisor.options`: name, type, default, range, text) joined with
what the core cannot know, from `profiles/engines/ENGINE.toml`: its search space, whether it scales,
and its place in each product's file. Settings are plain dicts from knob name to value.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal

from advisor.data import data_path
from advisor.engines import ENGINES as ENGINES
from advisor.engines import Engine as Engine
from advisor.engines import Product
from advisor.errors import InputError
from advisor.options import Kind as Kind
from advisor.options import Option, engine_options
from advisor.options import Setting as Setting
from advisor.options import Settings as Settings
from advisor.sizes import parse_size

Change = Literal["dynamic", "restart", "rebuild"]

_SWITCHES = {"on": True, "true": True, "1": True, "yes": True}
_SWITCHES |= {"off": False, "false": False, "0": False, "no": False}


@dataclass(frozen=True)
class Dialect:
    """One product at one version, in whose words settings of an engine can be written."""

    name: str
    engine: Engine
    title: str
    """What people call it."""
    product: Product
    version: str = ""
    """The exact one, where the product's file states it."""
    like: str | None = None
    """The dialect that it shares all with that is not said of it."""


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
    kept: bool = False
    """Whether settings have the product's default where no file says otherwise, those of a rule
    too."""

    @property
    def given(self) -> Setting | None:
        """What the product does of itself and others do otherwise, if it does."""
        return self.default if self.absent or self.kept else None


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
    data_share: float | None = None
    """A size never takes more than this part of the data's."""

    def within(self, memory: int | None, data: int | None) -> SearchRange:
        """The part of the range that so much memory and data leave, in bytes; None bounds
        nothing."""
        shares = ((self.budget_share, memory), (self.data_share, data))
        bounds = [int(share * of) for share, of in shares if share is not None and of is not None]
        return replace(self, high=max(self.low, min(self.high, *bounds))) if bounds else self


@dataclass(frozen=True, kw_only=True)
class Knob(Option):
    """One setting of an engine.

    `low` is the core's, or the floor of the catalogue where the core goes lower for its own tests.
    """

    engine: Engine
    change: Change
    abstract: str = ""
    search: SearchRange | None = None
    scales: bool = False
    """True for sizes that shrink with the data."""
    of_writes: bool = False
    """True where a workload that writes nothing sees nothing of it, since level 0 is merged behind
    its load, however long that took: it is not searched for such a one.
    """
    of_disks: bool = False
    """True where it is of use on a device with seeks alone: it is not searched where trials are
    simulated on another.
    """
    durability: bool = False
    """True where a change may cost committed data in a crash: never changed unless the user opens
    it.
    """
    spellings: Mapping[str, Spelling] = field(default_factory=dict)
    """By dialect."""


@cache
def catalogue(engine: Engine) -> Mapping[str, Knob]:
    """Every knob of the engine by name, in the order of the core.

    Raises `ValueError` where the engine's file has another set of knobs than the core, `WorkError`
    when the core is not built.
    """
    tables = _file(engine)["knobs"]
    options = engine_options(engine)
    if strange := tables.keys() ^ options.keys():
        raise ValueError(f"not in both {engine}.toml and the core: {', '.join(sorted(strange))}")
    return {
        name: _knob(engine, option, tables[name], dialects(engine))
        for name, option in options.items()
    }


@cache
def dialects(engine: Engine) -> Mapping[str, Dialect]:
    """The dialects that speak of the engine by name; the first is the usual one."""
    heads = _file(engine)["dialects"]
    found: dict[str, Dialect] = {}
    for name, head in heads.items():
        inherited = vars(found[head["like"]]) if "like" in head else {}
        found[name] = Dialect(**{**inherited, "name": name, "engine": engine, **head})
    return found


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


def durability_knobs(engines: Iterable[Engine]) -> tuple[str, ...]:
    """The knobs that a search leaves alone unless the user opens them."""
    known = (knob for engine in engines for knob in catalogue(engine).values())
    return tuple(knob.name for knob in known if knob.durability)


def searchable(
    engine: Engine,
    *,
    memory_budget: int | None = None,
    data: int | None = None,
    include: Collection[str] = (),
) -> dict[str, SearchRange]:
    """What a search walks, sizes cut to the memory budget and the bytes of the data; a knob comes
    after the one that bounds it.

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
    ranges = {name: known.within(memory_budget, data) for name, known in ranges.items()}
    return {name: ranges[name] for name in sorted(ranges, key=lambda name: _depth(knobs, name))}


@cache
def _file(engine: Engine) -> Mapping[str, Mapping[str, Any]]:
    """The engine's file: its dialects and its knobs."""
    path = data_path("profiles", "engines", f"{engine}.toml")
    with path.open("rb") as file:
        tables = tomllib.load(file)
    return {"dialects": tables.pop("dialects"), "knobs": tables}


def _knob(
    engine: Engine, option: Option, table: Mapping[str, Any], known: Mapping[str, Dialect]
) -> Knob:
    own = {key: value for key, value in table.items() if key not in ("in", "search", "floor")}
    declared = vars(option)
    if "floor" in table:
        declared = declared | {"low": _value(option.type, "low", table["floor"])}
    search = None
    if "search" in table:
        fields = {key: _value(option.type, key, value) for key, value in table["search"].items()}
        integer = option.type != "number"
        search = SearchRange(option.name, integer=integer, at_least=option.at_least, **fields)
    if strange := table["in"].keys() - known.keys():
        raise ValueError(f"{option.name} in {engine}.toml has rows of no dialect: {strange}")
    spellings = {name: _spelling(option, table["in"], one, known) for name, one in known.items()}
    return Knob(engine=engine, search=search, spellings=spellings, **declared, **own)


def _spelling(
    option: Option, rows: Mapping[str, Any], dialect: Dialect, known: Mapping[str, Dialect]
) -> Spelling:
    """The knob in a dialect: its own row over that of the dialect that it is like."""
    if dialect.like is None:
        base, own = Spelling(option.name), rows[dialect.name]
    else:
        base = _spelling(option, rows, known[dialect.like], known)
        own = rows.get(dialect.name, {})
    return replace(base, **{key: _value(option.type, key, value) for key, value in own.items()})


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


def _depth(knobs: Mapping[str, Knob], name: str) -> int:
    bound = knobs[name].at_least
    return 0 if bound is None else 1 + _depth(knobs, bound)


def _read(parse: Any, text: str) -> Any:
    try:
        return parse(text)
    except ValueError:
        return None


def _close(name: str, knobs: Mapping[str, Knob]) -> str:
    near = difflib.get_close_matches(name, knobs, n=3)
    return "such as " + ", ".join(near) if near else "one of " + ", ".join(knobs)
