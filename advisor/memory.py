"""What settings need of a machine's memory, part by part, at full size.

Each part names the knobs that decide it, so that a refusal can say what to lower.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from advisor.knobs import CACHE_KNOB, Engine, Settings, catalogue, check, defaults

MIB = 1 << 20

RESERVE_SHARE = 1 / 16
"""Part of all others that is left free: a real process took up to 7% more than the parts say."""

POOL_OVERHEAD = 1.08
"""Memory per byte of buffer pool: knobs.md, rule 7. A warm mariadbd 10.11 grows by 1.07."""

SERVER_BYTES = 84 * MIB
"""A mariadbd 10.11 without its buffer pool, idle, with its code; the performance schema, which it
leaves off, would take as much again."""

CONNECTION_BYTES = 292 * 1024 + 16 * 1024 + 128 * 1024
"""Thread stack, network buffer and read buffer of one connection, at MariaDB 10.11's defaults."""

INDEX_ENTRY_BYTES = 28
"""Separator key and block handle: knobs.md, rule 2, for keys of about 16 bytes."""

FILTER_HASH_BYTES = 8
"""What a filter's builder keeps of every key until its file is complete."""

ITERATOR_READAHEAD_BYTES = 256 * 1024
"""What an iterator reads ahead at most with direct reads, `max_auto_readahead_size`."""

WRITER_BYTES = 1 << 20
"""Buffer of a file that is being written, `writable_file_max_buffer_size`."""

KEPT_BYTES = 2 * WRITER_BYTES
"""What glibc keeps of a thread's freed memory: M_TRIM_THRESHOLD, which grows to twice the largest
block that was freed (mallopt(3)), and every thread has an arena of its own (up to 8 for each core).
With MALLOC_ARENA_MAX=1 or jemalloc it is less."""


RESERVE = "reserve"
"""The part for what the others do not know: fragmented memory, dictionaries, threads of others."""


class Part(NamedTuple):
    """Memory that one thing takes."""

    name: str
    knobs: tuple[str, ...]
    """What decides it; empty where it is the machine's or the workload's."""
    bytes: int


def memory_parts(
    engine: Engine, settings: Mapping[str, Any], *, clients: int, data_bytes: int, keys: int
) -> list[Part]:
    """Memory that the settings need at full size, by what needs it. Absent knobs take their
    defaults. The first part is the cache, the last one the reserve.

    `data_bytes` is the uncompressed data.
    """
    complete = defaults(engine) | check(engine, settings)
    if engine == "btree":
        parts = _btree_parts(complete, clients)
    else:
        parts = _lsm_parts(complete, clients, data_bytes, keys)
    reserve = sum(part.bytes for part in parts) * RESERVE_SHARE
    return [*parts, Part(RESERVE, (), int(reserve))]


def memory_bytes(
    engine: Engine, settings: Mapping[str, Any], *, clients: int, data_bytes: int, keys: int
) -> int:
    """Memory that the settings need at full size: the sum of `memory_parts`."""
    parts = memory_parts(engine, settings, clients=clients, data_bytes=data_bytes, keys=keys)
    return sum(part.bytes for part in parts)


def largest_cache(
    engine: Engine,
    settings: Mapping[str, Any],
    *,
    budget: int,
    clients: int,
    data_bytes: int,
    keys: int,
) -> int | None:
    """The cache (`CACHE_KNOB`) that fills the budget beside all else in the settings, in whole MiB;
    None if none fits.
    """
    _, *others, reserve = memory_parts(
        engine, settings, clients=clients, data_bytes=data_bytes, keys=keys
    )
    assert reserve.name == RESERVE
    rest = budget / (1 + RESERVE_SHARE) - sum(part.bytes for part in others)
    size = int(rest / (POOL_OVERHEAD if engine == "btree" else 1)) // MIB * MIB
    knob = catalogue(engine)[CACHE_KNOB[engine]]
    return None if size < (knob.low or 0) else min(size, int(knob.high or size))


def _btree_parts(settings: Settings, clients: int) -> list[Part]:
    pool = _number(settings, "innodb_buffer_pool_size")
    log_buffer = int(_number(settings, "innodb_log_buffer_size"))
    return [
        Part("buffer pool", ("innodb_buffer_pool_size",), round(pool * POOL_OVERHEAD)),
        Part("log buffer", ("innodb_log_buffer_size",), log_buffer),
        Part("connections", (), clients * CONNECTION_BYTES),
        Part("server", (), SERVER_BYTES),
    ]


def _lsm_parts(settings: Settings, clients: int, data_bytes: int, keys: int) -> list[Part]:
    """RocksDB's memory ("Memory usage in RocksDB" of its wiki), and what its threads hold.

    Each background thread keeps in its arena what its largest job took, so jobs count as if all ran
    at once. Buffered reads of a compaction are read ahead by the file system, direct ones into a
    buffer for every file (block_prefetcher.cc).
    """
    block_size = int(_number(settings, "block_size"))
    bits = _filter_bits(settings)
    in_cache = bool(settings["cache_index_and_filter_blocks"])
    filters = keys * bits // 8
    if settings["optimize_filters_for_hits"]:
        filters //= 10  # the last level, nine tenths of the keys, has none
    memtable = int(_number(settings, "write_buffer_size"))
    flushed = memtable * int(_number(settings, "min_write_buffer_number_to_merge"))
    level_files = int(_number(settings, "target_file_size_base"))
    level_files *= int(_number(settings, "target_file_size_multiplier")) ** (
        int(_number(settings, "num_levels")) - 2
    )
    readahead = int(_number(settings, "compaction_readahead_size"))
    direct = bool(settings["use_direct_reads"])
    inputs = int(_number(settings, "level0_file_num_compaction_trigger")) + 1

    def writer(file_bytes: int) -> int:
        """A file that is written: half the buffer beside the whole while it grows, its filter, its
        index."""
        share = min(file_bytes, data_bytes) / data_bytes
        filter_bytes = keys * share * (FILTER_HASH_BYTES + bits / 8) if bits else 0
        index = min(file_bytes, data_bytes) // block_size * INDEX_ENTRY_BYTES
        return WRITER_BYTES * 3 // 2 + int(filter_bytes + index)

    flushes, compactions = background_threads(settings)
    compaction = writer(level_files) + (inputs * readahead if direct else 0)
    per_client = KEPT_BYTES + block_size * int(_number(settings, "num_levels"))
    per_client += ITERATOR_READAHEAD_BYTES if direct else 0
    return [
        Part("block cache", ("block_cache",), int(_number(settings, "block_cache"))),
        Part(
            "memtables",
            ("write_buffer_size", "max_write_buffer_number"),
            memtable * int(_number(settings, "max_write_buffer_number")),
        ),
        Part(
            "filters",
            ("filter_policy", "optimize_filters_for_hits", "cache_index_and_filter_blocks"),
            0 if in_cache else filters,
        ),
        Part(
            "indexes",
            ("block_size", "cache_index_and_filter_blocks"),
            0 if in_cache else data_bytes // block_size * INDEX_ENTRY_BYTES,
        ),
        Part(
            "compactions",
            (
                "max_background_jobs",
                "use_direct_reads",
                "compaction_readahead_size",
                "level0_file_num_compaction_trigger",
                "target_file_size_base",
            ),
            compactions * max(KEPT_BYTES, compaction),
        ),
        Part(
            "flushes",
            ("max_background_jobs", "write_buffer_size"),
            flushes * max(KEPT_BYTES, writer(flushed)),
        ),
        Part("clients", ("block_size", "num_levels"), clients * per_client),
    ]


def background_threads(settings: Settings) -> tuple[int, int]:
    """Threads for flushes and for compactions, of `max_background_jobs`."""
    jobs = int(_number(settings, "max_background_jobs"))
    flushes = max(1, jobs // 4)
    return flushes, max(1, jobs - flushes)


def _filter_bits(settings: Settings) -> int:
    match = re.fullmatch(r"bloomfilter:(\d+):false", str(settings["filter_policy"]))
    return int(match[1]) if match else 0


def _number(settings: Settings, name: str) -> float:
    value = settings[name]
    assert isinstance(value, int | float), f"{name} is a number in the catalogue"
    return value
