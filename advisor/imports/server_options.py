"""What a variable of a server means for a study, where it is no knob of an engine."""

from __future__ import annotations

from advisor import engines
from advisor.engines import ENGINES, Engine, lsm
from advisor.imports.imported import Ignored
from advisor.imports.product_options import UNKNOWN, Judgement, Version, judge
from advisor.imports.rocksdb_text import family_settings, split_options
from advisor.knobs import catalogue

MYROCKS_VERSION: Version = (6, 29, 5)
"""RocksDB in MariaDB 10.11."""

_SINGLE_FAMILIES = ("rocksdb_override_cf_options", "rocksdb_update_cf_options")


def ignored_variable(name: str, value: str | None, line: int) -> Ignored:
    """A variable that sets no knob, with what it means."""
    engine = engine_of(name)
    judgement = _judge(name, "1" if value is None else value)
    return Ignored(name, value or "", judgement.why, judgement.weight, engine, line)


def ignored_family_option(name: str, value: str, line: int) -> Ignored:
    """A setting in a string of column-family options that sets no knob."""
    known = judge("rocksdb", name, value, version=MYROCKS_VERSION, myrocks=True)
    judgement = known or Judgement("left out", UNKNOWN)
    return Ignored(name, value, judgement.why, judgement.weight, lsm.NAME, line)


def engine_of(name: str) -> Engine | None:
    """The engine whose variable it is."""
    own = (engine for engine in ENGINES if name.startswith(engines.of(engine).variable_prefix))
    return next(own, None)


def _judge(name: str, value: str) -> Judgement:
    if name in _SINGLE_FAMILIES:
        return _single_families(value)
    known = judge("servers", name, value)
    if known is None and name.startswith("rocksdb_"):
        plain = name.removeprefix("rocksdb_")
        known = judge("rocksdb", plain, value, version=MYROCKS_VERSION, myrocks=True)
    if known is not None:
        return known
    if engine_of(name) is not None:
        return Judgement("left out", f"not a knob of the engine; {UNKNOWN}")
    return Judgement("no bearing", "not a setting of a storage engine")


def _single_families(value: str) -> Judgement:
    """Families of their own, by the gravest of their settings."""
    try:
        families = split_options(value.strip('"'))
        pairs = [pair for _, options in families for pair in family_settings(options)]
    except ValueError:
        pairs = []
    for name, text in pairs:
        one = ignored_family_option(name, text, 0)
        if name not in catalogue(lsm.NAME) and one.weight == "another engine":
            return Judgement("another engine", f"{one.why} ({name}={text})")
    why = "settings of single column families; the engine has one family"
    return Judgement("left out", why)
