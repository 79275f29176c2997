"""The engines of the posts in the terms of the knob catalogue, at full size.

What a post does not state is an assumption and says so. Versions of one engine (InnoDB 5.6 and 5.7)
are one model here.
"""

from __future__ import annotations

from advisor.knobs import Setting
from advisor.published.experiment import Configuration

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
GB = 1_000_000_000

CACHE_SHARE = 0.75
"""Assumption: memory for the cache of pages or blocks, as a share of the machine's. The posts of
2014 and 2016 do not state it; the author's settings of 2017 have pools of 12 GB of 16 and 6 GB of 8
(mdcallag/mytools, bench/conf/corei5 and corei3). InnoDB reads its pages past the page cache of the
operating system, so all of it is buffer pool. MyRocks reads through the page cache, which holds
compressed blocks: there it is block cache and page cache together."""
BLOCK_CACHE_SHARE = 0.2
"""The block cache of MyRocks: what the author of the posts of 2016 advised in September of that
year for data that fits into neither cache (M. Callaghan, "Tuning the RocksDB block cache"): about a
fifth of the memory, sometimes a quarter or 30%, and the page cache has the rest."""


def cache_bytes(memory_gb: float, share: float = CACHE_SHARE) -> int:
    """This share of the memory of a machine."""
    return int(share * memory_gb * GB)


# The settings that Facebook recommended for MyRocks in 2016, recalled; 128 MB memtables are said in
# the load post. Compression is that of the MyRocks wiki's sample my.cnf for LinkBench, 2015/16,
# recalled: compression_per_level=kNoCompression:kNoCompression:kNoCompression:kZlibCompression:...
# and compression_opts=-14:1:0. Assumption: no sync at each commit, for either engine.
# RocksDB of January 2016 was 4.2 to 4.4: kMinOverlappingRatio came after 4.5.0 of February 2016
# (its HISTORY.md), and files of a compaction end at boundaries of the level below only since 7.8.
MYROCKS_2016: dict[str, Setting] = {
    "write_buffer_size": 128 * MIB,
    "max_write_buffer_number": 4,
    "target_file_size_base": 32 * MIB,
    "max_bytes_for_level_base": 512 * MIB,
    "level0_file_num_compaction_trigger": 4,
    "level0_slowdown_writes_trigger": 10,
    "level0_stop_writes_trigger": 15,
    "level_compaction_dynamic_level_bytes": True,
    "compaction_pri": "kByCompensatedSize",
    "level_compaction_dynamic_file_size": False,
    "max_background_jobs": 12,
    "block_size": 16 * KIB,
    "filter_policy": "bloomfilter:10:false",
    "prefix_extractor": "capped:20",
    "optimize_filters_for_hits": True,
    "cache_index_and_filter_blocks": True,
    "compression_per_level": "kNoCompression:kNoCompression:kNoCompression:kZlibCompression",
    "compression_opts_level": 1,
    "sync": False,
}

# Assumption: the posts of 2016 do not say it, but the author's settings of 2017 (as above) keep the
# binary log and do not sync it. Its size is MySQL's default.
BINARY_LOG_2016 = {"sync_binlog": 0, "max_binlog_size": GIB}

STATEMENT_CAVEAT = "the time of a statement is that of MySQL 5.7 on another machine"
BINARY_LOG_CAVEAT = "that the binary log was on is an assumption"

# Assumption throughout: the posts of 2016 name no settings of InnoDB. When the log is flushed, the
# doublewrite buffer, neighbours and FAST_FLUSHING are the author's of 2017 (as above). The redo log
# is 4 GB, the largest that every version of those years takes. The change buffer is on, the default
# of MySQL 5.6 and 5.7.
INNODB_2016: dict[str, Setting] = {
    "innodb_page_size": 16 * KIB,
    "innodb_redo_log_capacity": 4 * GIB,
    "innodb_log_buffer_size": 64 * MIB,
    "innodb_flush_log_at_trx_commit": 2,
    "innodb_doublewrite": True,
    "innodb_flush_neighbors": 0,
    "innodb_page_cleaners": 4,
    "innodb_max_dirty_pages_pct": 80.0,
    "innodb_change_buffering": "all",
}

FAST_FLUSHING: dict[str, Setting] = {"innodb_io_capacity": 10_000, "innodb_io_capacity_max": 20_000}
"""Assumption: the author's settings of 2017 for SSDs."""
DISK_FLUSHING: dict[str, Setting] = {"innodb_io_capacity": 2_000, "innodb_io_capacity_max": 4_000}
"""Assumption: what 14 or 15 disks write per second."""


# The posts do not say into how large pages tables were compressed; the author's schema of April
# 2016 does (mdcallag/mytools, bench/run_linkbench/lb.sql.inno.c: key_block_size 8).
COMPRESSED_TABLES: dict[str, Setting] = {"key_block_size": 8 * KIB}
KEY_BLOCK_CAVEAT = "that compressed InnoDB had pages of 8 KB is taken from a later schema"


def myrocks(name: str, memory_gb: float, **settings: Setting) -> Configuration:
    """MyRocks of 2016 on a machine with this much memory."""
    own: dict[str, Setting] = {"block_cache": cache_bytes(memory_gb, BLOCK_CACHE_SHARE)}
    page_cache = cache_bytes(memory_gb, CACHE_SHARE - BLOCK_CACHE_SHARE)
    return Configuration(name, "lsm", MYROCKS_2016 | own | settings, page_cache)


def innodb(name: str, memory_gb: float, **settings: Setting) -> Configuration:
    """InnoDB of 2016 on a machine with this much memory."""
    own: dict[str, Setting] = {"innodb_buffer_pool_size": cache_bytes(memory_gb)}
    return Configuration(name, "btree", INNODB_2016 | own | settings)
