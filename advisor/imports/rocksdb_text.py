"""RocksDB's text forms, as they stand in OPTIONS files and in MyRocks' column-family strings."""

from __future__ import annotations

import re

from advisor.engines import lsm
from advisor.imports.imported import Refused, admitted
from advisor.knobs import Knob, Setting, catalogue

_NUMBER = re.compile(r"([+-]?[0-9]{1,20})([kmgt]?)", re.IGNORECASE)
_PREFIX = re.compile(r"rocksdb\.(Capped|Fixed)Prefix\.([0-9]+)")
_OLD_ZSTD = "kZSTDNotFinalCompression"
_BLOOM = re.compile(r"bloomfilter:([0-9]{1,20}(?:\.[0-9]{1,20})?)(?::(true|false|0|1))?")

COMPRESSION_OPTS = (
    "window_bits",
    "level",
    "strategy",
    "max_dict_bytes",
    "zstd_max_train_bytes",
    "parallel_threads",
    "enabled",
)
"""Members of the struct in the order of the list that files before RocksDB 6 wrote."""

CACHE, CACHE_CAPACITY = "block_cache", "capacity"
"""A cache is a size, or a struct with its size as a member."""

ASSUMED_BLOOM = "bloomfilter:10:false"
"""For files of RocksDB 6 and older, which do not say how many bits a filter has."""


def split_options(text: str) -> list[tuple[str, str]]:
    """`a=1;b={c=2;d=3};` to pairs; a value in braces stays whole, without its own braces.

    Raises `ValueError` that says what is accepted, for braces that do not match and for a part
    without `=`.
    """
    check_braces(text)
    pairs, start, depth = [], 0, 0
    for place, letter in enumerate(text + ";"):
        if letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
        elif letter == ";" and depth == 0:
            part = text[start:place].strip()
            start = place + 1
            if part:
                pairs.append(_pair(part))
    return pairs


def check_braces(text: str) -> None:
    """Raises `ValueError` unless every opening brace has its closing one."""
    depth = 0
    for letter in text:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if depth < 0:
            break
    if depth:
        raise ValueError("a closing brace for every opening brace")


def family_settings(text: str) -> list[tuple[str, str]]:
    """The pairs of a column-family string, those of the nested table factory among them."""
    flat = []
    for name, value in split_options(text):
        if name in ("block_based_table_factory", "table_factory") and "=" in value:
            flat += split_options(value)
        else:
            flat.append((name, value))
    return flat


def option(name: str, text: str) -> Setting:
    """The value of an LSM knob. Raises `Refused` for what the engine cannot express, and
    `ValueError` for what is no value at all; its text says what is accepted."""
    knob = catalogue(lsm.NAME)[name]
    if knob.type == "text":
        return _object(knob, text)
    return admitted(knob, _scalar(knob, text))


def knob_texts(name: str, value: str) -> list[tuple[str, str]]:
    """A setting as the knobs see it: some members of `compression_opts` and of a cache are knobs of
    their own, and what is left of the struct is none.

    Raises `ValueError` for a struct that cannot be taken apart.
    """
    if name == "compression_opts":
        members, own = _compression_opts(value), {"level": "compression_opts_level"}
    elif name == CACHE and "=" in value:
        members = dict(split_options(unbraced(value)))
        own = {CACHE_CAPACITY: CACHE, "high_pri_pool_ratio": "high_pri_pool_ratio"}
    else:
        return [(name, value)]
    found = [(own[member], members.pop(member)) for member in own if member in members]
    braced = {member: f"{{{text}}}" if "=" in text else text for member, text in members.items()}
    rest = ";".join(f"{member}={text}" for member, text in braced.items())
    return found + ([(name, rest)] if rest else [])


def unbraced(text: str) -> str:
    """A struct without its braces, or the text as it is, without the blanks around it."""
    text = text.strip()
    return text[1:-1] if text.startswith("{") and text.endswith("}") else text


def _compression_opts(text: str) -> dict[str, str]:
    """The members of the struct, which files before RocksDB 6 wrote as a list."""
    text = unbraced(text)
    if "=" in text:
        return dict(split_options(text))
    values = text.split(":")
    if not all(re.fullmatch(r"-?[0-9]+|true|false", value) for value in values):
        raise ValueError("{window_bits=-14;level=1;...} or -14:1:0")
    return dict(zip(COMPRESSION_OPTS, values, strict=False))


def _pair(part: str) -> tuple[str, str]:
    name, equals, value = part.partition("=")
    if not equals or not name.strip():
        raise ValueError("NAME=VALUE;NAME=VALUE;...")
    return name.strip(), unbraced(value).strip()


def _scalar(knob: Knob, text: str) -> object:
    if knob.type == "switch":
        if text.lower() not in ("true", "false", "1", "0"):
            raise ValueError("true or false")
        return text.lower() in ("true", "1")
    if knob.type == "word":
        if not re.fullmatch(r"k[A-Za-z0-9]+", text):
            raise ValueError(knob.accepted)
        return text.replace(_OLD_ZSTD, "kZSTD")
    if knob.type == "number":
        return float(
            _checked(text, r"[+-]?[0-9]{1,20}(\.[0-9]{0,20})?([eE][+-]?[0-9]{1,3})?", "a number")
        )
    match = _NUMBER.fullmatch(text)
    if match is None and knob.name == CACHE:
        raise Refused("the engine knows a cache by its size only")
    if match is None:
        raise ValueError("a whole number, with k, m, g or t for powers of 1024")
    value = int(match[1]) * 1024 ** " kmgt".index(match[2].lower() or " ")
    if knob.name == "compression_opts_level" and value == -1:
        return knob.default  # what files before RocksDB 5.15 have for a codec's default
    return value


def _checked(text: str, pattern: str, accepted: str) -> str:
    if not re.fullmatch(pattern, text):
        raise ValueError(accepted)
    return text


def _object(knob: Knob, text: str) -> Setting:
    if match := _PREFIX.fullmatch(text):
        text = f"{match[1].lower()}:{match[2]}"
    if text in ("rocksdb.BuiltinBloomFilter", "rocksdb.BloomFilter"):
        text = ASSUMED_BLOOM
    if match := _BLOOM.fullmatch(text):
        if match[2] in ("true", "1"):
            raise Refused("the engine has no filters per block, only filters per file")
        text = f"bloomfilter:{float(match[1]):g}:false"
    if text.upper() == "NULL" or (text == "" and knob.normal("") is None):
        text = "nullptr"
    return admitted(knob, text.replace(_OLD_ZSTD, "kZSTD"))
