"""A run of our own LSM as a run of RocksDB: the same workload, the same settings as a file."""

from __future__ import annotations

from typing import cast

from advisor import dialects
from advisor.errors import InputError
from advisor.knobs import Engine, Settings
from advisor.real.library import Library
from advisor.spec import Spec

DIALECT = "rocksdb-10.4"
"""In whose words settings go out. Older libraries know its names, or say which one they lack."""
ENGINE: Engine = dialects.engine_of(DIALECT)
"""Whose settings RocksDB takes."""
_BESIDE_THE_FILE = ("block_cache", "sync", "disable_wal")
"""What a program says when it opens a database or writes: RocksDB's C interface wants a cache
beside the file, and no file states how a commit is synced."""


def library_spec(spec: Spec, library: Library) -> tuple[Spec, list[str]]:
    """The measured run of an LSM as a real one, and notes on settings that RocksDB raises. Raises
    `InputError` for what it has not."""
    options = spec["options"]
    real = {name: options[name] for name in _BESIDE_THE_FILE if name in options}
    file = opened_file(options)
    changed = {
        **spec,
        "engine": "rocksdb",
        "clock": "real",
        "options": {**real, "library": library.path, "options_file": file.text},
    }
    changed.pop("memory_limit", None)
    return cast(Spec, changed), list(file.raised)


def as_opened(settings: Settings) -> tuple[Settings, list[str]]:
    """What RocksDB has when it is asked for these settings, and notes on what it raises. Raises
    `InputError` for what it has not."""
    file = opened_file(settings)
    return {**settings, **file.settings}, list(file.raised)


def check_settings(settings: Settings) -> None:
    """Raises `InputError` for what RocksDB has not."""
    opened_file(settings)


def opened_file(settings: Settings) -> dialects.Fresh:
    """The OPTIONS file with what differs from RocksDB's defaults, and what it has by that. Raises
    `InputError` for what it has not."""
    stated = {name: value for name, value in settings.items() if name not in _BESIDE_THE_FILE}
    fresh = dialects.fresh(DIALECT, stated)
    if fresh.refusals:
        raise InputError("settings", None, "; ".join(fresh.refusals), f"settings of {DIALECT}")
    return fresh
