"""What the core declares of an option: an engine's knob or a workload's parameter, with its type,
default, range and text.

The core's tables are the single source (`engine_options!`, `rust_core/src/options.rs`).
`Option.normal` is the one checker of a value in this library; who reads a product's file turns text
into a value and asks it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from advisor.errors import WorkError
from advisor.sizes import format_size

Setting = bool | int | float | str
Settings = Mapping[str, Setting]
Kind = Literal["size", "integer", "number", "switch", "word", "text"]


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option, and the values that it accepts."""

    name: str
    type: Kind
    default: Setting
    text: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[Setting, ...] | None = None
    pattern: str = ""
    """Of a text, as a regular expression; `accepts` is the same in words."""
    accepts: str = ""
    zero: str = ""
    """What 0 stands for where it is no value like others; empty where it is no such word."""
    at_least: str | None = None
    """The option whose value is a lower bound of this one."""

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
        """The value in the option's own type, or None if the option does not accept it."""
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
        """Whether complete settings have this option at or above the one that bounds it; what 0
        stands for has no bound."""
        if self.at_least is None or (self.zero and settings[self.name] == 0):
            return True
        return _number(settings, self.name) >= _number(settings, self.at_least)


@dataclass(frozen=True)
class DeclaredWorkload:
    """A kind of workload as the core declares it."""

    text: str
    parameters: Mapping[str, Option]


@cache
def engine_options(engine: str) -> Mapping[str, Option]:
    """Every option of an engine by name, in the core's order. Raises `WorkError` when the core is
    not built."""
    return _options(_core().engine_options(engine))


@cache
def workload_kinds() -> Mapping[str, DeclaredWorkload]:
    """Every kind of workload by name. Raises `WorkError` when the core is not built."""
    return {
        kind["name"]: DeclaredWorkload(kind["text"], _options(kind["parameters"]))
        for kind in _core().workload_kinds()
    }


def _core() -> Any:
    try:
        from advisor import _core as core
    except ImportError as error:
        raise WorkError(f"the compiled core cannot be loaded: {error}") from error
    return core


def _options(table: list[dict[str, Any]]) -> Mapping[str, Option]:
    return {row["name"]: _option(row) for row in table}


def _option(row: Mapping[str, Any]) -> Option:
    plain = {key: value for key, value in row.items() if key != "accepts"}
    accepts = row["accepts"]
    listed = accepts.get("choices") if row["type"] != "switch" else None
    return Option(
        low=accepts.get("min"),
        high=accepts.get("max"),
        choices=None if listed is None else tuple(listed),
        pattern=accepts.get("pattern", ""),
        accepts=accepts.get("text", ""),
        **plain,
    )


def _number(settings: Settings, name: str) -> float:
    value = settings[name]
    assert isinstance(value, int | float), f"{name} is a number in the core's table"
    return value
