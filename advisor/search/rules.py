"""Rules of thumb: settings that an experienced administrator would try first, given the machine and
the data.

They are seeds of the search and nothing more: each is measured like any other proposal before it is
recommended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from advisor.knobs import CACHE_KNOB, Engine, Setting, Settings
from advisor.profile import Profile

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True)
class Machine:
    """What the rules look at."""

    memory_bytes: int
    cores: int
    data_bytes: int


def machine(profile: Profile) -> Machine:
    """What the rules look at, from a profile."""
    return Machine(profile.memory_bytes, profile.hardware.cpu_cores, profile.data_bytes)


@dataclass(frozen=True)
class Rule:
    """A name for people, and the knobs that it sets on top of the settings it starts from."""

    name: str
    changes: Settings


LargestCache = Callable[[Settings], int | None]
"""The cache that fills the memory beside all else in the settings, if any does."""


def rules(engine: Engine, given: Machine) -> tuple[Rule, ...]:
    """The rules of an engine, the most promising first. None sets the cache: see
    `with_full_cache`."""
    return _lsm(given) if engine == "lsm" else _btree(given)


def with_full_cache(
    engine: Engine, settings: Settings, largest_cache: LargestCache
) -> dict[str, Setting] | None:
    """The settings with the cache grown or shrunk to fill the memory; None if even the smallest
    does not fit."""
    size = largest_cache(settings)
    return None if size is None else {**settings, CACHE_KNOB[engine]: size}


def _lsm(given: Machine) -> tuple[Rule, ...]:
    memtable = _power_of_two(given.memory_bytes // 40, 4 * MIB, 256 * MIB)
    jobs = min(max(given.cores, 2), 16)
    common: dict[str, Setting] = {
        "filter_policy": "bloomfilter:10:false",
        "max_background_jobs": jobs,
        "write_buffer_size": memtable,
        # Level 0 as large as the base level: a larger base level is rewritten for too little input
        # (knobs.md, rule 3).
        "max_bytes_for_level_base": memtable * 4,
    }
    return (
        Rule(
            "all memory to the cache, Bloom filters, light compression",
            {**common, "compression": "kLZ4Compression"},
        ),
        Rule(
            "write-optimized: large memtables, late level-0 triggers, no compression",
            {
                **common,
                "compression": "kNoCompression",
                "max_write_buffer_number": 4,
                "level0_file_num_compaction_trigger": 4,
                "level0_slowdown_writes_trigger": 40,
                "level0_stop_writes_trigger": 60,
            },
        ),
        Rule(
            "space-optimized: large blocks, strong compression of the last level",
            {
                **common,
                "block_size": 16 * KIB,
                "compression": "kLZ4Compression",
                "bottommost_compression": "kZSTD",
                "level_compaction_dynamic_level_bytes": True,
            },
        ),
    )


def _btree(given: Machine) -> tuple[Rule, ...]:
    redo = _power_of_two(given.data_bytes // 8, 128 * MIB, 8 * GIB)
    common: dict[str, Setting] = {"innodb_redo_log_capacity": redo, "innodb_flush_neighbors": 0}
    return (
        Rule("all memory to the buffer pool, a large redo log", common),
        Rule(
            "fast device: small pages, high flushing rates",
            {
                **common,
                "innodb_page_size": 8 * KIB,
                "innodb_io_capacity": 2000,
                "innodb_io_capacity_max": 5000,
            },
        ),
        Rule("compressed pages", {**common, "innodb_compression_algorithm": "lz4"}),
    )


def _power_of_two(size: int, low: int, high: int) -> int:
    return min(max(1 << (max(size, 1).bit_length() - 1), low), high)
