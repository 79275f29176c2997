"""The memtable sweep: how fast one thread fills memtables of 1 to 128 MB."""

from __future__ import annotations

from advisor.knobs import Setting
from advisor.published.engines import MIB
from advisor.published.experiment import (
    Configuration,
    Experiment,
    Phase,
    RowPlan,
    Run,
    measured,
)
from advisor.published.observation import Observed
from advisor.published.tables import figure

MEGABYTES = (1, 2, 4, 8, 16, 32, 64, 128)
KEYS = 2_500_000
"""Keys of 116 bytes with their values: twice the largest memtable."""

BARE: dict[str, Setting] = {
    "disable_wal": True,
    "disable_auto_compactions": True,
    "level0_file_num_compaction_trigger": 1_000,
    "level0_slowdown_writes_trigger": 10_000,
    "level0_stop_writes_trigger": 10_000,
}
BEST = "write_buffer_mb of the best insert rate"
LOSS = "share of the best insert rate lost at 128 MB"


def at_megabytes(megabytes: int) -> str:
    """The name of a run with one size of memtable."""
    return f"memtable of {megabytes} MB"


def sweep() -> Experiment:
    """db_bench fillrandom, one thread, batches of 8, no log, no compaction."""
    return Experiment(
        name="memtable-sweep",
        text="db_bench fillrandom into memtables of 1 to 128 MB, without log and compaction",
        sources=("MC-2016-01-18",),
        hardware="pcie-flash-2016",
        workload={"kind": "db_bench", "benchmark": "fillrandom", "batch": 8},
        units=KEYS,
        sized_by="keys",
        data_bytes=KEYS * 116,
        operations=KEYS,
        shrinks=False,
        runs=tuple(
            Run(
                at_megabytes(megabytes),
                Configuration("rocksdb", "lsm", BARE | {"write_buffer_size": megabytes * MIB}),
                clients=1,
                phase=Phase(operations=KEYS),
            )
            for megabytes in MEGABYTES
        ),
        rows=(
            RowPlan(
                BEST, _best, figure("load-and-memtable", "memtable_size_with_best_insert_rate")
            ),
            RowPlan(LOSS, _loss),
            *(measured("ops_per_s", at_megabytes(megabytes)) for megabytes in MEGABYTES),
        ),
        claims=("E1", "E2", "E3", "E4", "E5"),
        caveats=(
            "the rates stand only in a chart; rows of 116 bytes and the machine are assumed",
            "how much dearer a step is in a memtable that outgrows the processor's caches follows a"
            " formula that was measured on another machine",
            "db_bench of RocksDB 7.8 on a processor of 2024 has its best rate at 1 MB as well: 1.27"
            " million inserts per second, 1.18 at 2 MB, 0.84 at 16 MB, 0.53 at 64 MB",
        ),
    )


def _best(seen: Observed) -> float | None:
    rates = {size: seen.of("ops_per_s", at_megabytes(size)) for size in MEGABYTES}
    if any(rate is None for rate in rates.values()):
        return None
    return max(MEGABYTES, key=lambda size: rates[size] or 0.0)


def _loss(seen: Observed) -> float | None:
    best, last = _best(seen), seen.of("ops_per_s", at_megabytes(128))
    top = None if best is None else seen.of("ops_per_s", at_megabytes(int(best)))
    return None if not top or last is None else 1 - last / top
