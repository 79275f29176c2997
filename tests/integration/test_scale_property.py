"""At 1/2, 1/4 and 1/8 of a size, write amplification, reads per operation and space amplification
stay within 10%: both engines, five workloads, simulated; but for three that are named.

The smallest of these runs has memtables of 64 KiB, table files of 128 KiB, and caches of 512
blocks or pages. What only writes is left out: its reads are those of compactions, which count by
file and by read-ahead, and files of 64 KiB already cost a tenth more of them.
"""

from collections.abc import Mapping
from functools import cache
from statistics import fmean

import pytest

from advisor import core, knobs
from advisor.knobs import Engine, Setting
from advisor.profile import hardware
from advisor.scale import FullRun, InBytes, Scale, Simulated, scaled_run
from advisor.workload import Workload

MIB, KIB = 1 << 20, 1 << 10
CLIENTS = 4
STANDS_FOR = 125
"""The largest run is a copy too, so that only sizes differ from it to the others. These pools are
to those of a server as this copy's second is to InnoDB's. With a whole second, pages would leave
the old part of the list before `innodb_old_blocks_time` lets them become young: what then stays is
chance, and up to 17% of the reads with it."""
FACTORS = (1 / 2, 1 / 4, 1 / 8)
TOLERANCE = 0.10
KNOWN_WRONG = {
    ("key_value", "btree", "space_amp"): 0.15,
    ("sysbench", "btree", "reads_per_op"): 0.35,
    ("tpcc", "btree", "write_amp"): 0.60,
    ("tpcc", "btree", "reads_per_op"): 0.15,
}
"""What purge costs a B-tree in a small copy: undo pages, headers of rollback segments and the jobs
of purge keep their size, and are a larger part of a small pool; overwrites at the end of a load
leave 7% more on disk in the three smaller runs, and none in the largest (docs/scale.md)."""

SETTINGS: Mapping[Engine, Mapping[str, Setting]] = {
    "lsm": {
        "write_buffer_size": 512 * KIB,
        "max_bytes_for_level_base": 2 * MIB,
        "target_file_size_base": 1 * MIB,
        "soft_pending_compaction_bytes_limit": 64 * MIB,
        "hard_pending_compaction_bytes_limit": 256 * MIB,
        "block_cache": 16 * MIB,
        "filter_policy": "bloomfilter:10:false",
        "compression": "kNoCompression",
        "max_background_jobs": 4,
        # A larger read-ahead would read the smallest files whole, and so more often per byte.
        "compaction_readahead_size": 16 * KIB,
    },
    "btree": {
        "innodb_buffer_pool_size": 16 * MIB,
        "innodb_page_size": 4 * KIB,
        "innodb_redo_log_capacity": 16 * MIB,
        "innodb_log_buffer_size": 2 * MIB,
        "innodb_io_capacity": 4_000,
        "innodb_io_capacity_max": 20_000,
    },
}

WORKLOADS: Mapping[str, tuple[Workload, int]] = {
    "linkbench": (Workload(kind="linkbench"), 800_000),
    "ycsb": (Workload(kind="ycsb"), 100_000),
    "key_value": (Workload(kind="key_value"), 300_000),
    "sysbench": (
        Workload.model_validate({"kind": "sysbench", "script": "oltp_write_only"}),
        80_000,
    ),
    # Small warehouses, so that a whole number of them makes up each size.
    "tpcc": (
        Workload.model_validate({"kind": "tpcc", "items": 10_000, "customers_per_district": 300}),
        16_000,
    ),
}
"""With the operations of the largest run: enough to write its data about once, and for more
than a few compactions in the smallest."""

SIZES = dict.fromkeys(WORKLOADS, 64 * MIB) | {"linkbench": 96 * MIB, "tpcc": 192 * MIB}
"""An extent that is begun in each tree would be 12% of TPC-C at 1/8 of 64 MiB, 10% of LinkBench."""
DATA = {
    name: SIZES[name] // (8 * one.unit_bytes) * 8 * one.unit_bytes
    for name, (one, _) in WORKLOADS.items()
}
"""Whole units at each factor."""


@cache
def measured(name: str, engine: Engine, factor: float) -> Mapping[str, float]:
    workload, operations = WORKLOADS[name]
    scale = Scale(factor)
    run = scaled_run(
        FullRun(
            engine=engine,
            settings=knobs.defaults(engine) | SETTINGS[engine],
            workload=InBytes(workload, DATA[name]),
            clients=CLIENTS,
            seed=1,
            clock=Simulated(hardware("pcie-flash-2016")),
            length={"operations": scale.size(operations), "interval_ms": 10},
            load_batch_rows=64,
        ),
        scale,
    )
    assert run.notes == ()
    spec = run.spec | {"scale": {"stands_for": STANDS_FOR / factor}}
    report = core.run(spec)
    metrics: dict[str, float] = report["metrics"]
    # At the end of a run the inputs of a compaction may still be there, and files are few at 1/8.
    mean = fmean(one["disk_bytes"] for one in report["intervals"] if one["phase"] == "run")
    return metrics | {"space_amp": metrics["space_amp"] * mean / metrics["disk_bytes"]}


@pytest.mark.parametrize("metric", ["write_amp", "reads_per_op", "space_amp"])
@pytest.mark.parametrize("engine", ["lsm", "btree"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_ratios_carry_over_from_smaller_runs(name: str, engine: Engine, metric: str) -> None:
    full = measured(name, engine, 1.0)[metric]
    deviations = {
        f"1/{1 / factor:.0f}": measured(name, engine, factor)[metric] / full - 1
        for factor in FACTORS
    }
    tolerance = KNOWN_WRONG.get((name, engine, metric), TOLERANCE)
    assert all(abs(one) <= tolerance for one in deviations.values()), deviations
