"""LinkBench on a disk array, at growing concurrency."""

from __future__ import annotations

from advisor.published.engines import DISK_FLUSHING, innodb
from advisor.published.experiment import HOUR, Experiment, Phase, Run, compared, measured
from advisor.published.linkbench import (
    BOTH_INNODB,
    CAVEATS,
    COMPRESSED,
    NONE,
    ROCKS,
    STEADY_CAVEAT,
    ZLIB,
    graph,
    linkbench_myrocks,
)
from advisor.published.tables import Figure, figure

IDS = 200_000_000
MEMORY_GB = 40
SECONDS = 8.0
"""In less data InnoDB's clients use its free frames up while one doublewrite batch is written."""
OPERATIONS_PER_S = 2_000
"""The order of size, for the budget alone."""
CLIENTS = (1, 4, 8, 16, 32)
"""Of the nine levels of the post, the five that carry its claims."""
USUAL = 16
METRICS = ("ops_per_s", "load_ops_per_s", "write_kb_per_op", "reads_per_op")
COMPRESSION = {ROCKS: "zlib", NONE: "none", ZLIB: "zlib"}


def at_clients(name: str, clients: int) -> str:
    """The name of a run at one level of concurrency."""
    return f"{name} at {clients} clients"


def disk_array() -> Experiment:
    """A disk array at 1 to 32 clients."""
    phase = Phase(warmup_s=3 * HOUR, seconds=HOUR)
    rocks = linkbench_myrocks(MEMORY_GB)
    none = innodb(NONE, MEMORY_GB, **DISK_FLUSHING)
    zlib = innodb(ZLIB, MEMORY_GB, **COMPRESSED, **DISK_FLUSHING)
    grid = [
        Run(at_clients(one.name, clients), one, clients, phase)
        for one in (rocks, none)
        for clients in CLIENTS
    ]
    runs = (*grid, Run(at_clients(ZLIB, USUAL), zlib, USUAL, phase))
    return Experiment(
        name="linkbench-disk-array",
        text="LinkBench on 15 disks, 200 million ids, 1 to 32 clients",
        sources=("MC-2016-01-19b",),
        hardware="disk-array-2016",
        seconds=SECONDS,
        **graph(IDS),
        operations=OPERATIONS_PER_S * 4 * HOUR,
        runs=runs,
        rows=(
            *(
                measured("loaded_bytes", at_clients(name, USUAL), _loaded(name))
                for name in COMPRESSION
            ),
            *(
                compared(
                    "loaded_bytes",
                    at_clients(name, USUAL),
                    at_clients(ROCKS, USUAL),
                    figure(
                        "derived-ratios",
                        "size_ratio_vs_myrocks",
                        engine="InnoDB",
                        compression=COMPRESSION[name],
                    ),
                )
                for name in BOTH_INNODB
            ),
            *(measured(metric, run.name) for metric in METRICS for run in runs),
        ),
        claims=("D1", "D2", "D3", "D4", "D5", "D6"),
        caveats=(
            *CAVEATS,
            STEADY_CAVEAT,
            "the model of the disks is not published: 10,000 rpm is assumed",
        ),
    )


def _loaded(name: str) -> Figure:
    gigabytes = figure(
        "linkbench-disk-array",
        "db_size_after_load",
        compression=COMPRESSION[name],
        engine="MyRocks" if name == ROCKS else "InnoDB",
    )
    return Figure(gigabytes.value * 1e9)
