"""Point queries by primary key on a database much larger than memory: the rows of InnoDB."""

from __future__ import annotations

from advisor.knobs import Setting
from advisor.published.engines import FAST_FLUSHING, KIB, STATEMENT_CAVEAT, innodb
from advisor.published.experiment import Experiment, Phase, RowPlan, Run, compared, measured
from advisor.published.tables import Figure, figure

TABLE = "point-queries-2014"
MEMORY_GB = 144
TABLES, ROWS_PER_TABLE = 8, 400_000_000
"""The post says 40 million rows, which its sizes contradict; 400 million fit all of them."""
ROW_BYTES = 188
"""Two integers of 4, and texts of 120 and 60."""
CLIENTS = {"inno-u-8": (8, 16, 32, 64, 128), "inno-z-8": (8, 16, 32, 64)}

PAGES: dict[str, Setting] = {"innodb_page_size": 8 * KIB, **FAST_FLUSHING}
CONFIGURATIONS = {
    "inno-u-8": innodb("inno-u-8", MEMORY_GB, **PAGES),
    "inno-z-8": innodb("inno-z-8", MEMORY_GB, key_block_size=4 * KIB, **PAGES),
}


def at_clients(name: str, clients: int) -> str:
    """The name of a run at one level of concurrency."""
    return f"{name} at {clients} clients"


def innodb_rows() -> Experiment:
    """Uncompressed and compressed InnoDB at 8 to 128 clients."""
    levels = [(name, clients) for name, counts in CLIENTS.items() for clients in counts]
    u64, z64 = at_clients("inno-u-8", 64), at_clients("inno-z-8", 64)
    u128 = at_clients("inno-u-8", 128)
    return Experiment(
        name="point-queries-2014",
        text="sysbench point queries on 740 GB in InnoDB, 8 to 128 clients on a flash card",
        sources=("MC-2014-04-01",),
        hardware="pcie-flash-2014",
        workload={"kind": "sysbench", "script": "oltp_point_select", "tables": TABLES},
        units=ROWS_PER_TABLE,
        sized_by="table_size",
        data_bytes=TABLES * ROWS_PER_TABLE * ROW_BYTES,
        operations=100_000 * 3_600,
        runs=tuple(
            Run(at_clients(name, clients), CONFIGURATIONS[name], clients, Phase(1_800, 1_800))
            for name, clients in levels
        ),
        rows=(
            *(measured("ops_per_s", at_clients(*level), _rate(*level)) for level in levels),
            measured(
                "reads_per_op", u128, figure(TABLE, "disk_reads_per_query", config="inno-u-8")
            ),
            measured(
                "reads_per_s",
                u128,
                figure("derived-ratios", "implied_device_reads", config="inno-u-8"),
            ),
            compared("ops_per_s", z64, u64, _rate_ratio()),
            compared(
                "database_bytes",
                z64,
                u64,
                figure("derived-ratios", "size_ratio_vs_inno-u-8", config="inno-z-8"),
            ),
            *(_size(name) for name in CLIENTS),
        ),
        claims=("I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9", "I10", "I11", "I12"),
        caveats=(
            "only InnoDB is modelled, so claims about TokuMX and MongoDB have no answer",
            "the machine's memory is not published; 144 GB is assumed, not derived from the reads",
            STATEMENT_CAVEAT,
        ),
    )


def _rate(name: str, clients: int) -> Figure:
    return figure(TABLE, "qps", config=name, x1_value=clients)


def _rate_ratio() -> Figure:
    return Figure(round(_rate("inno-z-8", 64).value / _rate("inno-u-8", 64).value, 3))


def _size(name: str) -> RowPlan:
    gigabytes = figure(TABLE, "db_size", config=name)
    return measured("database_bytes", at_clients(name, 64), Figure(gigabytes.value * 1e9))
