"""The engines of the posts in the terms of the knob catalogue, at full size.

What a post does not state is an assumption and says so. Versions of one engine (InnoDB 5.6 and 5.7)
are one model here.
"""

from __future__ import annotations

from advisor.knobs import Setting
from advisor.published.experiment import Configuration

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
GB = 1_000_000_000

# The posts of January 2016 do not state their settings. The author published his files for the same
# binaries on a server with an SSD on 11 February 2016, two weeks after the last of the posts (gists
# of mdcallag: 2eabb9050d8fd6ccea61 for MySQL 5.6, 00d27293fda4638aaf4b for 5.7 and
# a998dbbfc62dc3b5a335 for MyRocks). Assumption: they were the same in January, and on disks but for
# the flushing.

CACHE_SHARE = 0.75
"""Memory for the cache of pages or blocks, as a share of the machine's: InnoDB's pool in those
files is 100 GB, three quarters of the 144 GB of the posts. InnoDB reads its pages past the page
cache of the operating system, so all of it is buffer pool. MyRocks reads through the page cache,
which holds compressed blocks: assumption, there as much is block and page cache together."""
BLOCK_CACHE_SHARE = 0.3
"""The block cache of MyRocks: 40 GB in those files."""


def cache_bytes(memory_gb: float, share: float = CACHE_SHARE) -> int:
    """This share of the memory of a machine."""
    return int(share * memory_gb * GB)


# Column family settings: Facebook's for MyRocks at that time (my.cnf tuning in the wiki of
# facebook/mysql-5.6, revision of November 2015); the load post has memtables of 128 MB as well.
# Block size and background jobs (16 compactions, 4 flushes): there and in the author's file, which
# does not sync at each commit.
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
    "size_based_intra_l0_compaction": False,
    "high_pri_pool_ratio": 0.0,
    "max_background_jobs": 20,
    "block_size": 8 * KIB,
    "format_version": 2,
    "filter_policy": "bloomfilter:10:false",
    "prefix_extractor": "capped:20",
    "optimize_filters_for_hits": True,
    "cache_index_and_filter_blocks": True,
    "compression_per_level": "kNoCompression:kNoCompression:kNoCompression:kZlibCompression",
    "compression_opts_level": 1,
    "sync": False,
}

STATEMENT_CAVEAT = "the time of a statement is that of MySQL 5.7 on another machine"
SETTINGS_CAVEAT = (
    "the settings are those of the author's files of February 2016: that they were the same in"
    " January is an assumption"
)

# The redo log has two files and the change buffer is on, as by default. 5.7 pads its log writes to
# 8 KiB, but the page cache has them until the sync of the second, so that the padding is not seen.
# These versions sync with fsync, and have one doublewrite batch on its way at a time.
# The scan depth of 4,000 is that of an instance of the pool, of which those versions have 8.
INNODB_2016: dict[str, Setting] = {
    "innodb_page_size": 8 * KIB,
    "innodb_redo_log_capacity": 2 * 2_000 * MIB,
    "innodb_log_buffer_size": 64 * MIB,
    "innodb_flush_log_at_trx_commit": 2,
    "innodb_doublewrite": True,
    "innodb_server": "mysql",
    "innodb_use_fdatasync": False,
    "innodb_flush_neighbors": 0,
    "innodb_change_buffering": "all",
    "innodb_lru_scan_depth": 8 * 4_000,
    "innodb_page_cleaners": 4,
    "innodb_adaptive_flushing": True,
    "innodb_max_dirty_pages_pct": 90.0,
    "innodb_max_dirty_pages_pct_lwm": 10.0,
}

FAST_FLUSHING: dict[str, Setting] = {"innodb_io_capacity": 10_000, "innodb_io_capacity_max": 20_000}
"""Those files."""
DISK_FLUSHING: dict[str, Setting] = {"innodb_io_capacity": 2_000, "innodb_io_capacity_max": 4_000}
"""Assumption: what 14 or 15 disks write per second."""


# The posts do not say into how large pages tables were compressed. The author's schema of April
# 2016 has half a page (mdcallag/mytools, bench/run_linkbench/lb.sql.inno.c and conf/my.cnf.i6: 8 of
# 16 KB).
COMPRESSED_TABLES: dict[str, Setting] = {"key_block_size": 4 * KIB}
KEY_BLOCK_CAVEAT = "that compressed InnoDB halved its pages is taken from a later schema"


def myrocks(name: str, memory_gb: float, **settings: Setting) -> Configuration:
    """MyRocks of 2016 on a machine with this much memory."""
    own: dict[str, Setting] = {"block_cache": cache_bytes(memory_gb, BLOCK_CACHE_SHARE)}
    page_cache = cache_bytes(memory_gb, CACHE_SHARE - BLOCK_CACHE_SHARE)
    return Configuration(name, "lsm", MYROCKS_2016 | own | settings, page_cache)


def innodb(name: str, memory_gb: float, **settings: Setting) -> Configuration:
    """InnoDB of 2016 on a machine with this much memory."""
    own: dict[str, Setting] = {"innodb_buffer_pool_size": cache_bytes(memory_gb)}
    return Configuration(name, "btree", INNODB_2016 | own | settings)
