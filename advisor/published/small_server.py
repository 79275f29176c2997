"""LinkBench on a small server with an NVMe drive: how much InnoDB reads, writes and takes on disk,
from the author's raw result files, variables of the server included."""

from __future__ import annotations

from advisor.knobs import Setting
from advisor.published.engines import GIB, KIB, MIB, innodb
from advisor.published.experiment import (
    HOUR,
    Experiment,
    Phase,
    RowPlan,
    Run,
    measured,
)
from advisor.published.linkbench import LINKS_AND_COUNTS, graph
from advisor.published.tables import Figure, figure

TABLE = "linkbench-small-server"
IDS = 80_000_000
HOURS = 4
REQUESTS_PER_S = 2_400
SECONDS = 32.0
"""So large because of the redo log, of 96 MiB, which must not shrink below a working size."""
MEMORY_GB = 16
SETTINGS: dict[str, Setting] = {
    "innodb_page_size": 16 * KIB,
    "innodb_buffer_pool_size": 12 * GIB,
    "innodb_redo_log_capacity": 96 * MIB,
    "innodb_log_buffer_size": 16 * MIB,
    "innodb_io_capacity": 10_000,
    "innodb_io_capacity_max": 20_000,
    # Of each of 8 instances of the pool.
    "innodb_lru_scan_depth": 8 * 5_000,
    "innodb_max_dirty_pages_pct": 75.0,
    "innodb_max_dirty_pages_pct_lwm": 0.0,
}
"""As the variables of the runs say; what they share with the files of 2016 stands there."""
COMPRESSED: dict[str, Setting] = {"key_block_size": 8 * KIB, "compressed_indexes": LINKS_AND_COUNTS}
PUBLISHED = {
    "reads_per_op": "storage_reads_per_query",
    "read_kb_per_op": "storage_read_kb_per_query",
    "write_kb_per_op": "storage_write_kb_per_query",
}
UNCOMPARED = ("ops_per_s", "p99_us", "load_ops_per_s")


def small_server() -> Experiment:
    """80 million ids, one client, the fourth hour."""
    none = innodb("innodb.none", MEMORY_GB, **SETTINGS)
    zlib = innodb("innodb.zlib", MEMORY_GB, **SETTINGS, **COMPRESSED)
    phase = Phase(warmup_s=(HOURS - 1) * HOUR, seconds=HOUR)

    def rows(name: str) -> tuple[RowPlan, ...]:
        compression = name.split(".")[1]

        def found(metric: str, x: float) -> Figure:
            return figure(TABLE, metric, compression=compression, x1_value=x)

        def size(x: float) -> Figure:
            return Figure(found("data_directory", x).value * GIB)

        return (
            *(measured(own, name, found(theirs, HOURS)) for own, theirs in PUBLISHED.items()),
            measured("loaded_bytes", name, size(IDS)),
            measured("database_bytes", name, size(HOURS)),
            *(measured(metric, name) for metric in UNCOMPARED),
        )

    return Experiment(
        name="linkbench-small-server",
        text="LinkBench with 80 million ids on a small server, one client",
        sources=("MC-2017-raw",),
        hardware="small-server-2017",
        seconds=SECONDS,
        **graph(IDS),
        operations=REQUESTS_PER_S * HOURS * HOUR,
        runs=tuple(Run(one.name, one, 1, phase) for one in (none, zlib)),
        rows=(*rows("innodb.none"), *rows("innodb.zlib")),
        claims=(),
        caveats=(
            "requests per second are not compared: the drive is known by its mean latency in these"
            " runs alone",
            "the data directory had a file of 0.5 GiB that the database did not need",
        ),
    )
