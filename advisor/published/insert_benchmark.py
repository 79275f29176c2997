"""The insert benchmark: a billion rows with three secondary indexes into 14 disks."""

from __future__ import annotations

from advisor.published.engines import (
    COMPRESSED_TABLES,
    DISK_FLUSHING,
    KEY_BLOCK_CAVEAT,
    MIB,
    SETTINGS_CAVEAT,
    STATEMENT_CAVEAT,
    innodb,
    myrocks,
)
from advisor.published.experiment import Experiment, Phase, RowPlan, Run, compared, measured
from advisor.published.tables import Figure, figure

MEMORY_GB = 64
ROWS = 1_000_000_000
ROW_BYTES = 88
"""31 of the row and 57 of its three index entries."""
SECONDARY_INDEXES = 3
ROWS_PER_COMMIT = 100
"""The script's 1,000 rows would be a large part of a redo log that is shrunk a thousandfold."""
PARALLEL = 8
TABLE = "insert-benchmark"

DEF = myrocks("myrocks.def", MEMORY_GB)
OPT = myrocks("myrocks.opt", MEMORY_GB, write_buffer_size=32 * MIB)
NONE = innodb("innodb.none", MEMORY_GB, **DISK_FLUSHING)
ZLIB = innodb("innodb.zlib", MEMORY_GB, **COMPRESSED_TABLES, **DISK_FLUSHING)

PUBLISHED = {
    "myrocks.def": "myrocks.def",
    "myrocks.opt": "myrocks.opt",
    "innodb.none": "mysql57.none",
    "innodb.zlib": "mysql57.zlib",
}


def in_threads(name: str) -> str:
    """The name of a run with as many insert threads as the post tried."""
    return f"{name} in {PARALLEL} threads"


def disk_array() -> Experiment:
    """One insert thread, and eight."""
    rows_of = {
        name: int(figure(TABLE, "rows_inserted", config=config).value)
        for name, config in PUBLISHED.items()
    }
    runs = [
        Run(
            one.name,
            one,
            1,
            Phase(operations=rows_of[one.name]),
            workload={"unique_check": one is not OPT},
        )
        for one in (DEF, OPT, NONE, ZLIB)
    ]
    runs += [
        Run(
            in_threads(one.name),
            one,
            PARALLEL,
            Phase(operations=rows_of[NONE.name]),
            workload={"unique_check": one is not OPT},
        )
        for one in (DEF, OPT, NONE)
    ]
    return Experiment(
        name="insert-benchmark",
        text="Insert benchmark: up to a billion rows with three indexes, 14 disks",
        sources=("MC-2016-01-20", "MC-2016-01-19a"),
        hardware="disk-array-64gb-2016",
        workload={
            "kind": "insert_benchmark",
            "version": "2012",
            "rows": 0,
            "rows_per_commit": ROWS_PER_COMMIT,
        },
        seconds=20.0,
        units=ROWS,
        sized_by=None,
        data_bytes=ROWS * ROW_BYTES,
        operations=ROWS,
        runs=tuple(runs),
        rows=(
            *(_rate(name) for name in PUBLISHED),
            *(_decline(name) for name in PUBLISHED),
            compared(
                "ops_per_s", "myrocks.opt", "myrocks.def", _over("myrocks.opt", "myrocks.def")
            ),
            *(
                compared("ops_per_s", rocks, innodb, _over(rocks, innodb))
                for rocks in ("myrocks.def", "myrocks.opt")
                for innodb in ("innodb.none", "innodb.zlib")
            ),
            compared("ops_per_s", in_threads("myrocks.opt"), in_threads("myrocks.def")),
            compared("ops_per_s", in_threads("myrocks.def"), "myrocks.def"),
            compared(
                "ops_per_s",
                in_threads("innodb.none"),
                "innodb.none",
                figure(TABLE, "avg_insert_rate_gain_8_threads_vs_1"),
            ),
            *(measured("stall_s", name) for name in ("myrocks.def", "myrocks.opt")),
            *(measured("write_kb_per_op", name) for name in PUBLISHED),
            *(measured("reads_per_op", name) for name in PUBLISHED),
            *(measured("client_reads_per_op", name) for name in PUBLISHED),
        ),
        claims=("B1", "B2", "B3", "B4", "B5", "B6", "B7", "C4"),
        caveats=(
            "the smaller memtable of the load-optimised MyRocks (32 MB, as in the load post) is an"
            " assumption",
            "InnoDB 5.6 and 5.7 are one model: the published rows beside it are those of 5.7",
            KEY_BLOCK_CAVEAT,
            f"a batch has {ROWS_PER_COMMIT} rows, not 1,000: its redo must fit into a small log",
            "the secondary indexes just outgrow the assumed buffer pool towards the end: the last"
            " rates of InnoDB say more about that assumption than about InnoDB",
            "a shrunk memtable fits into the caches of the processor: MyRocks inserts faster",
            SETTINGS_CAVEAT,
            "no binary log is kept, as in those files",
            STATEMENT_CAVEAT,
            "the last rate is that of the last twentieth of the inserts, not of 100,000",
        ),
    )


def _rate(name: str) -> RowPlan:
    published = figure(TABLE, "avg_insert_rate", config=PUBLISHED[name])
    return measured("ops_per_s", name, published)


def _decline(name: str) -> RowPlan:
    published = figure("derived-ratios", "last_over_avg", config=PUBLISHED[name])
    return measured("last_over_average", name, published)


def _over(rocks: str, other: str) -> Figure:
    metric = f"{rocks.replace('.', '_')}_avg_over_this"
    return figure("derived-ratios", metric, config=PUBLISHED[other])
