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
"""What a program says when it opens a database or writes, and no OPTIONS file can state."""


def library_spec(spec: Spec, library: Library) -> Spec:
    """The measured run of an LSM as a real one. Raises `InputError` for what RocksDB has not."""
    options = spec["options"]
    real = {name: options[name] for name in _BESIDE_THE_FILE if name in options}
    in_file = {name: value for name, value in options.items() if name not in real}
    changed = {
        **spec,
        "engine": "rocksdb",
        "clock": "real",
        "options": {**real, "library": library.path, "options_file": options_file(in_file)},
    }
    changed.pop("memory_limit", None)
    return cast(Spec, changed)


def check_settings(settings: Settings) -> None:
    """Raises `InputError` for what RocksDB has not."""
    options_file({name: v for name, v in settings.items() if name not in _BESIDE_THE_FILE})


def options_file(settings: Settings) -> str:
    """An OPTIONS file with what differs from RocksDB's defaults."""
    fresh = dialects.fresh(DIALECT, settings)
    if fresh.notes:
        raise InputError("settings", None, "; ".join(fresh.notes), f"settings of {DIALECT}")
    return fresh.text
