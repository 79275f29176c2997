"""LinkBench as the posts of 2016 ran it: its size, its engines, its binary log, and what is assumed
of them. `linkbench_flash.py` and `linkbench_disks.py` have the experiments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from advisor.knobs import Setting
from advisor.published.engines import (
    COMPRESSED_TABLES,
    KEY_BLOCK_CAVEAT,
    MIB,
    MYROCKS_2016,
    SETTINGS_CAVEAT,
    STATEMENT_CAVEAT,
    myrocks,
)
from advisor.published.experiment import Configuration
from advisor.spec import BinaryLogSpec

BYTES_PER_ID = 800
"""Rows of one id at load: a node, 4.4 links with their index entries, up to two counts."""

NONE, ZLIB, ROCKS = "innodb.none", "innodb.zlib", "myrocks"
BOTH_INNODB = (NONE, ZLIB)
# The author's schema compresses linktable and counttable and leaves nodetable uncompressed, in all
# versions since the first of 1 April 2016 (mdcallag/mytools, bench/run_linkbench/lb.sql.inno.c).
LINKS_AND_COUNTS = "1:2:3"
"""The index numbers of the links' primary key, of id1_type and of the counts; the nodes have 4."""
COMPRESSED: dict[str, Setting] = {**COMPRESSED_TABLES, "compressed_indexes": LINKS_AND_COUNTS}
# The tables lie in four column families: the links' primary key, their index, counts and nodes (the
# schema in the author's repository of April 2016, mdcallag/mytools, bench/run_linkbench). Each has
# memtables and levels of its own; here all lie in one, which has four times as much of both.
FAMILIES = 4
FAMILY_SIZES = {
    name: FAMILIES * int(MYROCKS_2016[name])
    for name in ("write_buffer_size", "max_bytes_for_level_base")
}
# The posts do not tell of one. The files that the author published for LinkBench on 21 March 2016
# (mdcallag/mytools, bench/conf/my.cnf.rx, .i6 and .i7) keep one, with the images that are the
# default; those of February, for the server of the posts, name none.
BINARY_LOG: BinaryLogSpec = {
    "sync_binlog": 0,
    "max_binlog_size": 128 * MIB,
    "binlog_row_image": "FULL",
}

STEADY_CAVEAT = (
    "a warm-up ends when nothing changes any more, not after the hours of the post: that of a day"
    " and that of two differ in the longest that they may take"
)
CAVEATS = (
    SETTINGS_CAVEAT,
    "that a binary log was kept and not synced is taken from the author's files for LinkBench of"
    " March 2016; those of February name none. linkbench-flash has the ratios of writes without it",
    "InnoDB 5.6 and 5.7 are one model",
    KEY_BLOCK_CAVEAT,
    "that it compressed links and counts and left the nodes uncompressed is taken from the same"
    " schema",
    "MyRocks compresses from the third level below level 0 on; what its block cache leaves of three"
    " quarters of the memory is page cache, which holds compressed blocks",
    "the four column families of MyRocks lie in one, which has memtables and a base level of four"
    " times the size",
    STATEMENT_CAVEAT,
    "the posts count written bytes by iostat; in April 2016 their author found that on his kernels"
    " it counts trimmed bytes too, so that MyRocks is overstated by up to 2 (M. Callaghan, 'TRIM,"
    " iostat and Linux'). Whether it did so here is not said, and the write amplification that he"
    " found for MyRocks speaks against it; iostat_write_kb_per_op is what it would show if it did",
)


class Graph(TypedDict):
    """Fields of an experiment that runs LinkBench."""

    workload: Mapping[str, Any]
    units: int
    sized_by: str
    data_bytes: float
    binary_log: BinaryLogSpec


def graph(ids: int) -> Graph:
    """LinkBench on so many ids."""
    return {
        "workload": {"kind": "linkbench"},
        "units": ids,
        "sized_by": "ids",
        "data_bytes": ids * BYTES_PER_ID,
        "binary_log": BINARY_LOG,
    }


def linkbench_myrocks(memory_gb: float, **settings: Setting) -> Configuration:
    """MyRocks with the tables' four column families in one."""
    return myrocks(ROCKS, memory_gb, **FAMILY_SIZES, **settings)
