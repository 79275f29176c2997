"""`a=1;b={c=2;d=3};`: RocksDB's strings of settings, with some of the values replaced."""

from __future__ import annotations

from collections.abc import Mapping

from advisor.imports.rocksdb_text import CACHE, CACHE_CAPACITY, COMPRESSION_OPTS, unbraced


def with_pairs(text: str, changes: Mapping[str, str]) -> str:
    """The string with other values; a dot leads into a struct. What it lacks is added at the end,
    all members of one struct in one pair of braces."""
    own = {name: value for name, value in changes.items() if "." not in name}
    structs: dict[str, dict[str, str]] = {}
    for name, value in changes.items():
        struct, dot, member = name.partition(".")
        if dot:
            structs.setdefault(struct, {})[member] = value
    parts = []
    for part in _parts(text):
        name, _, value = part.partition("=")
        name = name.strip()
        if name in own:
            part = f"{_before(part)}{with_value(value.strip(), name, own.pop(name))}"
        elif name in structs:
            part = f"{_before(part)}{with_members(value.strip(), structs.pop(name))}"
        parts.append(part)
    parts += [f"{name}={value}" for name, value in own.items()]
    parts += [f"{name}={with_members('', members)}" for name, members in structs.items()]
    closing = ";" if text.rstrip().endswith(";") else ""
    return ";".join(parts) + closing


def with_value(old: str, name: str, new: str) -> str:
    """What takes the place of a whole value: of a cache that is a struct its size alone changes."""
    is_struct = name == CACHE and "=" in old
    return with_members(old, {CACHE_CAPACITY: new}) if is_struct else new


def with_members(value: str, members: Mapping[str, str]) -> str:
    """A struct with other values of some members. Files before RocksDB 6 wrote compression_opts as
    a list, which stays one."""
    inner = unbraced(value)
    if inner and "=" not in inner:
        listed = inner.split(":")
        for name, new in members.items():
            listed[COMPRESSION_OPTS.index(name)] = new
        return ":".join(listed)
    return "{" + with_pairs(inner or ";", members).lstrip(";") + "}"


def _parts(text: str) -> list[str]:
    parts, start, depth = [], 0, 0
    for place, letter in enumerate(text + ";"):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == ";" and depth == 0:
            if text[start:place].strip():
                parts.append(text[start:place])
            start = place + 1
    return parts


def _before(part: str) -> str:
    """The name with the equals sign and the blanks around it."""
    name, equals, value = part.partition("=")
    return name + equals + value[: len(value) - len(value.lstrip())]
