"""What a changed option of a product means for a study, where the option is no knob of an engine.

The tables are `profiles/products/*.toml`; their heads say how they are read.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from advisor.data import data_path
from advisor.imports.imported import Weight
from advisor.imports.rocksdb_text import split_options
from advisor.sizes import parse_size

Table = Literal["rocksdb", "servers"]
Version = tuple[int, ...]

NEWEST: Version = (1 << 30,)
UNKNOWN = "unknown here: of a newer version or of a fork"
_ON, _OFF = ("1", "on", "true", "yes"), ("0", "off", "false", "no")


@dataclass(frozen=True)
class ProductOption:
    """One option of a product that is no knob."""

    name: str
    changed: Weight
    """What a value that is not the default means."""
    why: str
    defaults: tuple[tuple[Version, tuple[str, ...]], ...]
    """The texts that count as the default, from each version on."""

    def is_default(self, value: str, version: Version) -> bool:
        """Whether the value is what the product has without it in this version."""
        texts: tuple[str, ...] = ()
        for since, known in self.defaults:
            if since <= version:
                texts = known
        return any(_same(text, value) for text in texts)


@dataclass(frozen=True)
class Judgement:
    """How much an option that no trial sets matters, and why."""

    weight: Weight
    why: str


def judge(
    table: Table, name: str, value: str, *, version: Version = NEWEST, myrocks: bool = False
) -> Judgement | None:
    """What the value of an option means; None if the table does not know the option."""
    option = _options(table).get(name)
    if option is None:
        return None
    own = _myrocks().get(name, ()) if myrocks else ()
    if option.is_default(value, version) or any(_same(text, value) for text in own):
        return Judgement("default", "the product's default")
    return Judgement(option.changed, option.why)


def version_of(text: str) -> Version:
    """`10.4.2` as numbers that compare."""
    return tuple(map(int, text.split(".")))


@cache
def _options(table: Table) -> Mapping[str, ProductOption]:
    found = {}
    for group in _file(table)["group"]:
        changed, why = group.pop("changed"), group.pop("why")
        for name, default in group.items():
            found[name] = ProductOption(name, changed, why, _defaults(default))
    return found


@cache
def _myrocks() -> Mapping[str, tuple[str, ...]]:
    return {name: _texts(default) for name, default in _file("rocksdb")["myrocks"].items()}


def _file(table: Table) -> dict[str, Any]:
    path = data_path("profiles", "products", f"{table}.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _defaults(default: object) -> tuple[tuple[Version, tuple[str, ...]], ...]:
    by_version = default if isinstance(default, dict) else {"0": default}
    return tuple(sorted((version_of(since), _texts(one)) for since, one in by_version.items()))


def _texts(default: object) -> tuple[str, ...]:
    return tuple(default) if isinstance(default, list) else (str(default),)


def _same(text: str, value: str) -> bool:
    """Whether a value is the one that the table has: in another spelling, or by its pattern."""
    if text.startswith("~"):
        return re.fullmatch(text[1:], value, re.IGNORECASE) is not None
    if text.startswith("{"):
        return _same_struct(text, value)
    if text.lower() == value.lower():
        return True
    if text.lower() in _ON + _OFF and value.lower() in _ON + _OFF:
        return (text.lower() in _ON) == (value.lower() in _ON)
    ours, theirs = _number(text), _number(value)
    return ours is not None and ours == theirs


def _same_struct(text: str, value: str) -> bool:
    """Whether every member that the value has is as in the table."""
    try:
        ours, theirs = (dict(split_options(_bare(one))) for one in (text, value))
    except ValueError:
        return False
    return all(name in ours and _same(ours[name], member) for name, member in theirs.items())


def _bare(struct: str) -> str:
    struct = struct.strip()
    return struct[1:-1] if struct.startswith("{") and struct.endswith("}") else struct


def _number(text: str) -> float | None:
    for parse in (float, parse_size):
        try:
            return float(parse(text))
        except ValueError:
            continue
    return None
