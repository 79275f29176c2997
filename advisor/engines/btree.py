"""The B-tree: InnoDB, in MariaDB and in MySQL."""

from __future__ import annotations

from typing import Final

from advisor.engines.description import EngineDescription, Load, Part, Unexercised
from advisor.engines.numbers import MIB, number
from advisor.engines.server import server_parts
from advisor.options import Settings

NAME: Final = "btree"

POOL_OVERHEAD = 1.08
"""Memory per byte of buffer pool: knobs.md, rule 7. A warm mariadbd 10.11 grows by 1.07."""

DOUBLEWRITE_PAGES = 128
"""Pages of a doublewrite batch of the core."""


def _memory_parts(settings: Settings, load: Load) -> list[Part]:
    pool = number(settings, "innodb_buffer_pool_size")
    log_buffer = int(number(settings, "innodb_log_buffer_size"))
    return [
        Part("buffer pool", ("innodb_buffer_pool_size",), round(pool * POOL_OVERHEAD)),
        Part("log buffer", ("innodb_log_buffer_size",), log_buffer),
        *server_parts(load),
    ]


def _batch_bytes(settings: Settings) -> int:
    """Those of a doublewrite batch."""
    if not settings["innodb_doublewrite"]:
        return 0
    return DOUBLEWRITE_PAGES * int(number(settings, "innodb_page_size"))


def _no_cycles(settings: Settings) -> int:
    """Pages are written back one by one, as the log and the pool ask for it."""
    return 0


def _syncs_commits(settings: Settings) -> bool:
    return settings["innodb_flush_log_at_trx_commit"] == 1


def _durability(synced: bool) -> dict[str, bool | int]:
    return {"innodb_flush_log_at_trx_commit": 1 if synced else 2}


TRACELESS = frozenset(
    {
        # Memory: nothing of it is in a file.
        "innodb_buffer_pool_size",
        "innodb_log_buffer_size",
        "innodb_old_blocks_pct",
        "innodb_old_blocks_time",
        "innodb_read_ahead_threshold",
        # Opening makes a log of the size that is wanted.
        "innodb_redo_log_capacity",
        "innodb_log_write_ahead_size",
        # When pages are written back: all are, once it has settled.
        "innodb_io_capacity",
        "innodb_io_capacity_max",
        "innodb_max_dirty_pages_pct",
        "innodb_max_dirty_pages_pct_lwm",
        "innodb_adaptive_flushing",
        "innodb_adaptive_flushing_lwm",
        "innodb_flushing_avg_loops",
        "innodb_flush_sync",
        "innodb_lru_scan_depth",
        "innodb_flush_neighbors",
        "innodb_page_cleaners",
        "innodb_use_fdatasync",
    }
)


DESCRIPTION = EngineDescription(
    name=NAME,
    cache_knob="innodb_buffer_pool_size",
    cache_overhead=POOL_OVERHEAD,
    unit_knob="innodb_page_size",
    memtable_knob=None,
    shrinkable=("innodb_buffer_pool_size", "innodb_log_buffer_size"),
    memory_parts=_memory_parts,
    batch_bytes=_batch_bytes,
    cycle_bytes=_no_cycles,
    syncs_commits=_syncs_commits,
    durability=_durability,
    direct_io={},
    products={"mariadb": "mariadb", "mysql": "mysql"},
    dialect_of_tables="",
    variable_prefix="innodb_",
    traceless=TRACELESS,
    acts_by_the_second=True,
    of_the_cache=("innodb_lru_scan_depth", "innodb_old_blocks_time"),
    unexercised=Unexercised(
        knob="innodb_log_buffer_size",
        share=128,
        smallest=16 * MIB,
        largest=64 * MIB,
        reason="1/128 of the memory, 64 MiB at most: for large transactions, which no trial makes",
        room_reason=(
            "less than the trials had by 2% at most, to make room for innodb_log_buffer_size"
        ),
    ),
)
