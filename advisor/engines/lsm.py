"""The LSM: RocksDB by its own name, MyRocks in a server."""

from __future__ import annotations

import re
from typing import Final

from advisor.engines.description import EngineDescription, Load, Part
from advisor.engines.numbers import MIB, number
from advisor.engines.server import SERVER_BYTES, server_parts
from advisor.options import Settings

NAME: Final = "lsm"

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

MYROCKS_SERVER_BYTES = SERVER_BYTES + 20 * MIB
"""A mariadbd 10.11 with MyRocks, idle: the plugin's code, and an InnoDB beside it, whose buffer
pool of 128 MiB holds the server's own tables alone."""


def _memory_parts(settings: Settings, load: Load) -> list[Part]:
    """RocksDB's memory ("Memory usage in RocksDB" of its wiki), and what its threads hold; with
    tables in MyRocks the server's as well.

    Each background thread keeps in its arena what its largest job took, so jobs count as if all ran
    at once. Buffered reads of a compaction are read ahead by the file system, direct ones into a
    buffer for every file (block_prefetcher.cc).
    """
    data_bytes, keys = load.data_bytes, load.keys
    block_size = int(number(settings, "block_size"))
    bits = _filter_bits(settings)
    in_cache = bool(settings["cache_index_and_filter_blocks"])
    filters = keys * bits // 8
    if settings["optimize_filters_for_hits"]:
        filters //= 10  # the last level, nine tenths of the keys, has none
    memtable = int(number(settings, "write_buffer_size"))
    flushed = memtable * int(number(settings, "min_write_buffer_number_to_merge"))
    level_files = int(number(settings, "target_file_size_base"))
    level_files *= int(number(settings, "target_file_size_multiplier")) ** (
        int(number(settings, "num_levels")) - 2
    )
    readahead = int(number(settings, "compaction_readahead_size"))
    direct = bool(settings["use_direct_reads"])
    inputs = int(number(settings, "level0_file_num_compaction_trigger")) + 1

    def writer(file_bytes: int) -> int:
        """A file that is written: half the buffer beside the whole while it grows, its filter, its
        index."""
        share = min(file_bytes, data_bytes) / data_bytes
        filter_bytes = keys * share * (FILTER_HASH_BYTES + bits / 8) if bits else 0
        index = min(file_bytes, data_bytes) // block_size * INDEX_ENTRY_BYTES
        return WRITER_BYTES * 3 // 2 + int(filter_bytes + index)

    flushes, compactions = background_threads(settings)
    compaction = writer(level_files) + (inputs * readahead if direct else 0)
    per_client = KEPT_BYTES + block_size * int(number(settings, "num_levels"))
    per_client += ITERATOR_READAHEAD_BYTES if direct else 0
    return [
        Part("block cache", ("block_cache",), int(number(settings, "block_cache"))),
        Part(
            "memtables",
            ("write_buffer_size", "max_write_buffer_number"),
            memtable * int(number(settings, "max_write_buffer_number")),
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
        Part("clients", ("block_size", "num_levels"), load.clients * per_client),
        *(server_parts(load, MYROCKS_SERVER_BYTES) if load.has_tables else ()),
    ]


def background_threads(settings: Settings) -> tuple[int, int]:
    """Threads for flushes and for compactions, of `max_background_jobs`."""
    jobs = int(number(settings, "max_background_jobs"))
    flushes = max(1, jobs // 4)
    return flushes, max(1, jobs - flushes)


def _filter_bits(settings: Settings) -> int:
    match = re.fullmatch(r"bloomfilter:(\d+):false", str(settings["filter_policy"]))
    return int(match[1]) if match else 0


def _no_batch(settings: Settings) -> int:
    return 0


def _level_0_bytes(settings: Settings) -> int:
    """What fills level 0, and is then merged into the base level at once."""
    of_file = number(settings, "write_buffer_size")
    of_file *= number(settings, "min_write_buffer_number_to_merge")
    return round(of_file * number(settings, "level0_file_num_compaction_trigger"))


def _syncs_commits(settings: Settings) -> bool:
    return bool(settings["sync"])


def _durability(synced: bool) -> dict[str, bool | int]:
    return {"sync": synced}


TRACELESS = frozenset(
    {
        # Memory: nothing of it is in a file.
        "block_cache",
        "cache_index_and_filter_blocks",
        "pin_l0_filter_and_index_blocks_in_cache",
        "use_direct_reads",
        "use_direct_io_for_flush_and_compaction",
        # How long writers wait, and how fast compactions follow: levels end as large.
        "level0_slowdown_writes_trigger",
        "level0_stop_writes_trigger",
        "soft_pending_compaction_bytes_limit",
        "hard_pending_compaction_bytes_limit",
        "delayed_write_rate",
        "max_write_buffer_number",
        "max_background_jobs",
        "compaction_readahead_size",
        # Opening begins a new manifest.
        "max_manifest_file_size",
    }
)


DESCRIPTION = EngineDescription(
    name=NAME,
    cache_knob="block_cache",
    cache_overhead=1.0,
    unit_knob="block_size",
    memtable_knob="write_buffer_size",
    shrinkable=("block_cache", "write_buffer_size"),
    memory_parts=_memory_parts,
    batch_bytes=_no_batch,
    cycle_bytes=_level_0_bytes,
    syncs_commits=_syncs_commits,
    durability=_durability,
    direct_io={"use_direct_reads": True, "use_direct_io_for_flush_and_compaction": True},
    products={"rocksdb": "rocksdb", "myrocks": "myrocks", "mariadb": "myrocks"},
    dialect_of_tables="myrocks-mariadb-10.11",
    variable_prefix="rocksdb_",
    traceless=TRACELESS,
    rewrites_data=True,
)
