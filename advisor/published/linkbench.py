"""LinkBench: a day and a week on PCIe flash, garbage collection of a flash card 72% full, and a
disk array at growing concurrency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypedDict

from advisor.knobs import Setting
from advisor.published.engines import (
    COMPRESSED_TABLES,
    DISK_FLUSHING,
    FAST_FLUSHING,
    KEY_BLOCK_CAVEAT,
    MIB,
    MYROCKS_2016,
    SETTINGS_CAVEAT,
    STATEMENT_CAVEAT,
    innodb,
    myrocks,
)
from advisor.published.experiment import (
    HOUR,
    Experiment,
    Phase,
    RowPlan,
    Run,
    compared,
    label,
    measured,
)
from advisor.published.tables import Figure, figure
from advisor.spec import BinaryLogSpec

FLASH_IDS, DISK_IDS = 1_000_000_000, 200_000_000
CLIENTS = 20
BYTES_PER_ID = 800
"""Rows of one id at load: a node, 4.4 links with their index entries, up to two counts."""
OPERATIONS_PER_S = 20_000
"""The order of size, for the budget alone; the posts show the rate only in charts."""

SECONDS = 6.0
LEAST_OPERATIONS = 300_000
"""A day and more of the card's posts: fewer show levels of MyRocks that still fill."""
SCORED_HOURS = 4
"""The posts report single hours, which differ by a third; the last hours together do not."""

FLASH_GB, DISK_GB = 144, 40
# The author's schema compresses linktable and counttable and leaves nodetable uncompressed, in all
# versions since the first of 1 April 2016 (mdcallag/mytools, bench/run_linkbench/lb.sql.inno.c).
LINKS_AND_COUNTS = "1:2:3"
"""The index numbers of the links' primary key, of id1_type and of the counts; the nodes have 4."""
COMPRESSED: dict[str, Setting] = {**COMPRESSED_TABLES, "compressed_indexes": LINKS_AND_COUNTS}
NONE = innodb("innodb.none", FLASH_GB, **FAST_FLUSHING)
ZLIB = innodb("innodb.zlib", FLASH_GB, **COMPRESSED, **FAST_FLUSHING)
# The tables lie in four column families: the links' primary key, their index, counts and nodes (the
# schema in the author's repository of April 2016, mdcallag/mytools, bench/run_linkbench). Each has
# memtables and levels of its own; here all lie in one, which has four times as much of both.
FAMILIES = 4
FAMILY_SIZES = {
    name: FAMILIES * int(MYROCKS_2016[name])
    for name in ("write_buffer_size", "max_bytes_for_level_base")
}
ROCKS = myrocks("myrocks", FLASH_GB, **FAMILY_SIZES)
BOTH_INNODB = ("innodb.none", "innodb.zlib")
# The posts do not tell of one. The files that the author published for LinkBench on 21 March 2016
# (mdcallag/mytools, bench/conf/my.cnf.rx, .i6 and .i7) keep one, with the images that are the
# default; those of February, for the server of the posts, name none.
BINARY_LOG: BinaryLogSpec = {
    "sync_binlog": 0,
    "max_binlog_size": 128 * MIB,
    "binlog_row_image": "FULL",
}

METRICS = (
    "ops_per_s",
    "write_kb_per_op",
    "read_kb_per_op",
    "reads_per_op",
    "reads_per_s",
    "read_mb_per_s",
    "write_mb_per_s",
    "flash_waf",
    "p99_us",
    "max_us",
    "loaded_bytes",
    "load_ops_per_s",
    "database_bytes",
    "speed_up",
)

CAVEATS = (
    SETTINGS_CAVEAT,
    "that a binary log was kept and not synced is taken from the author's files for LinkBench of"
    " March 2016; those of February name none. Without it MyRocks writes a quarter less for each"
    " operation, and the ratios to InnoDB are a quarter larger",
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
    "a day, two days and a week differ by no more than how long a run may take to become steady",
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


def _runs(hours: float, fill_to: float | None = None) -> tuple[Run, ...]:
    phase = Phase(warmup_s=(hours - SCORED_HOURS) * HOUR, seconds=SCORED_HOURS * HOUR)
    return tuple(Run(one.name, one, CLIENTS, phase, fill_to=fill_to) for one in (ROCKS, NONE, ZLIB))


def _rows(*names: str) -> tuple[RowPlan, ...]:
    return tuple(measured(metric, run) for metric in METRICS for run in names)


def day() -> Experiment:
    """24 hours on PCIe flash."""
    writes = {
        name: figure(
            "linkbench-ssd-24h",
            "storage_write_bytes_per_txn_ratio_vs_myrocks",
            compression=name.split(".")[1],
        )
        for name in BOTH_INNODB
    }
    size = figure("linkbench-ssd-24h", "db_size_ratio_vs_myrocks", compression="zlib")
    return Experiment(
        name="linkbench-24h",
        text="LinkBench for 24 hours, a billion ids on PCIe flash, 20 clients",
        sources=("MC-2016-01-14",),
        hardware="pcie-flash-2016",
        seconds=SECONDS,
        least_operations=LEAST_OPERATIONS,
        **graph(FLASH_IDS),
        operations=OPERATIONS_PER_S * 24 * HOUR,
        runs=_runs(24),
        rows=(
            *(compared("write_kb_per_op", name, "myrocks", writes[name]) for name in BOTH_INNODB),
            *(compared("iostat_write_kb_per_op", name, "myrocks") for name in BOTH_INNODB),
            compared("database_bytes", "innodb.zlib", "myrocks", size),
            *_rows("myrocks", *BOTH_INNODB),
        ),
        claims=("G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8"),
        caveats=CAVEATS,
    )


def week() -> Experiment:
    """Seven days on PCIe flash."""
    table, written = "linkbench-7day", "storage_write_bytes_per_txn_ratio_vs_myrocks"
    config = {"innodb.none": "innodb57.none", "innodb.zlib": "innodb57.zlib"}
    writes = {
        name: figure(table, written, config=config[name], x1_value=168) for name in BOTH_INNODB
    }
    rate = figure(table, "tps_ratio_vs_innodb_zlib")
    sizes = {
        "innodb.zlib": figure(table, "db_size_ratio_vs_myrocks", compression="zlib"),
        "innodb.none": figure(table, "db_size_ratio_vs_myrocks", note="body figure"),
    }
    return Experiment(
        name="linkbench-7day",
        text="LinkBench for seven days, a billion ids on PCIe flash, 20 clients",
        sources=("MC-2016-01-28",),
        hardware="pcie-flash-2016",
        seconds=SECONDS,
        least_operations=LEAST_OPERATIONS,
        **graph(FLASH_IDS),
        operations=OPERATIONS_PER_S * 168 * HOUR,
        runs=_runs(168),
        rows=(
            *(compared("write_kb_per_op", name, "myrocks", writes[name]) for name in BOTH_INNODB),
            *(compared("iostat_write_kb_per_op", name, "myrocks") for name in BOTH_INNODB),
            *(compared("database_bytes", name, "myrocks", sizes[name]) for name in BOTH_INNODB),
            compared("ops_per_s", "myrocks", "innodb.zlib", rate),
            compared("ops_per_s", "myrocks", "innodb.none"),
            *(compared("device_write_kb_per_op", name, "myrocks") for name in BOTH_INNODB),
            *_rows("myrocks", *BOTH_INNODB),
        ),
        claims=tuple(f"A{number}" for number in range(1, 13)),
        caveats=(
            *CAVEATS,
            "the hour-167 ratios are a third above those of hour 168, which stand here",
        ),
    )


def flash_waf() -> Experiment:
    """Flash write amplification with the card 72% full."""
    published = {
        "myrocks": "rocksdb.zlib",
        "innodb.none": "orig5710.none",
        "innodb.zlib": "orig5710.zlib",
    }
    waf = {
        name: figure("flash-waf", "flash_waf", config=config) for name, config in published.items()
    }

    def relative(metric: str, name: str) -> Figure:
        return figure("flash-waf", metric, config=published[name])

    return Experiment(
        name="flash-waf",
        text="LinkBench for 48 hours with the PCIe flash card filled to 72%",
        sources=("MC-2016-01-15",),
        hardware="pcie-flash-2016",
        seconds=SECONDS,
        least_operations=LEAST_OPERATIONS,
        **graph(FLASH_IDS),
        operations=OPERATIONS_PER_S * 48 * HOUR,
        runs=_runs(48, fill_to=0.72),
        rows=(
            *(measured("flash_waf", name, waf[name]) for name in published),
            *(
                compared(
                    "write_kb_per_op",
                    name,
                    "myrocks",
                    relative("write_kb_per_query_rel_iostat", name),
                )
                for name in BOTH_INNODB
            ),
            *(compared("iostat_write_kb_per_op", name, "myrocks") for name in BOTH_INNODB),
            *(
                compared(
                    "device_write_kb_per_op",
                    name,
                    "myrocks",
                    # The table divides by MyRocks as iostat saw it; here both are as the card saw.
                    _over(
                        relative("write_kb_per_query_rel_device", name),
                        relative("write_kb_per_query_rel_device", "myrocks"),
                    ),
                )
                for name in BOTH_INNODB
            ),
            *(measured("write_mb_per_s", name) for name in published),
            *(measured("database_bytes", name) for name in published),
        ),
        claims=("F1", "F2", "F3"),
        caveats=(
            *CAVEATS,
            "the card's spare area is not published: the least that a device has is assumed",
            "superblocks do not shrink below 64 pages, nor below a doublewrite batch: at this scale"
            " one mixes more of the files of MyRocks than the card's would, which overstates its"
            " amplification, and fewer batches of InnoDB, which understates that of InnoDB",
        ),
    )


def disk_array() -> Experiment:
    """A disk array at 1 to 32 clients."""
    phase = Phase(warmup_s=3 * HOUR, seconds=HOUR)
    rocks = myrocks("myrocks", DISK_GB, **FAMILY_SIZES)
    none = innodb("innodb.none", DISK_GB, **DISK_FLUSHING)
    zlib = innodb("innodb.zlib", DISK_GB, **COMPRESSED, **DISK_FLUSHING)
    grid = [
        Run(at_clients(one.name, clients), one, clients, phase)
        for one in (rocks, none)
        for clients in DISK_CLIENTS
    ]
    usual = at_clients("innodb.zlib", DISK_USUAL)
    runs = (*grid, Run(usual, zlib, DISK_USUAL, phase))
    loaded = {
        one.name: figure(
            "linkbench-disk-array",
            "db_size_after_load",
            compression="none" if one is none else "zlib",
            engine="MyRocks" if one is rocks else "InnoDB",
        ).value
        for one in (rocks, none, zlib)
    }
    return Experiment(
        name="linkbench-disk-array",
        text="LinkBench on 15 disks, 200 million ids, 1 to 32 clients",
        sources=("MC-2016-01-19b",),
        hardware="disk-array-2016",
        seconds=DISK_SECONDS,
        **graph(DISK_IDS),
        operations=2_000 * 4 * HOUR,
        runs=runs,
        rows=(
            *(
                measured("loaded_bytes", at_clients(name, DISK_USUAL), Figure(gigabytes * 1e9))
                for name, gigabytes in loaded.items()
            ),
            *(
                compared(
                    "loaded_bytes",
                    at_clients(name, DISK_USUAL),
                    at_clients("myrocks", DISK_USUAL),
                    Figure(round(loaded[name] / loaded["myrocks"], 2)),
                )
                for name in BOTH_INNODB
            ),
            *(measured(metric, run.name) for metric in DISK_METRICS for run in runs),
        ),
        claims=("D1", "D2", "D3", "D4", "D5", "D6"),
        caveats=(*CAVEATS, "the model of the disks is not published: 10,000 rpm is assumed"),
    )


def less_memory() -> Experiment:
    """The card's experiment on a server with 50 GB of memory and a fast SSD."""
    table, gigabytes = "linkbench-50gb", 50
    rocks = myrocks("myrocks", gigabytes, **FAMILY_SIZES)
    none = innodb("innodb.none", gigabytes, **FAST_FLUSHING)
    engines = {"myrocks": "MyRocks", "innodb.none": "InnoDB"}
    rates = {
        name: figure(table, "tps", config="fast-ssd", engine=engine)
        for name, engine in engines.items()
    }
    sizes = {name: figure(table, "db_size", engine=engine) for name, engine in engines.items()}
    ratio = figure(table, "tps_ratio_vs_innodb", config="fast-ssd")
    published = {
        label(metric, run) for metric in ("ops_per_s", "database_bytes") for run in engines
    }
    phase = Phase(warmup_s=(24 - SCORED_HOURS) * HOUR, seconds=SCORED_HOURS * HOUR)
    return replace(
        day(),
        name="linkbench-50gb",
        text="LinkBench, a billion ids on a fast SSD, 50 GB of memory",
        sources=("MC-2016-11-23",),
        runs=tuple(Run(one.name, one, CLIENTS, phase) for one in (rocks, none)),
        rows=(
            compared("ops_per_s", "myrocks", "innodb.none", ratio),
            *(measured("ops_per_s", name, rate) for name, rate in rates.items()),
            *(
                measured("database_bytes", name, Figure(size.value * 1e9, size.bound))
                for name, size in sizes.items()
            ),
            *(row for row in _rows(*engines) if row.metric not in published),
        ),
        claims=(),
        caveats=(
            "the post names neither processor, settings, clients nor the compression of MyRocks:"
            " all are taken to be those of January, what is assumed of those included",
            "its SSD does more than 100,000 random operations per second: it is taken to be as fast"
            " as the card of January is assumed to be",
            STATEMENT_CAVEAT,
        ),
    )


DISK_SECONDS = 8.0
"""In less data InnoDB's clients use its free frames up while one doublewrite batch is written."""
DISK_CLIENTS = (1, 4, 8, 16, 32)
"""Of the nine levels of the post, the five that carry its claims."""
DISK_USUAL = 16
DISK_METRICS = ("ops_per_s", "load_ops_per_s", "write_kb_per_op", "reads_per_op")


def at_clients(name: str, clients: int) -> str:
    """The name of a run at one level of concurrency."""
    return f"{name} at {clients} clients"


def _over(above: Figure, below: Figure) -> Figure:
    return Figure(round(above.value / below.value, 2))
