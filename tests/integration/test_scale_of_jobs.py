"""At 1/4 and 1/16 of a size, inserts into an LSM on disks are about as fast and stall as much.

A smaller copy flushes and compacts as often for fewer bytes. Were each of its jobs to seek and sync
as one of the full size does, its memtables would wait for the disks.
"""

from functools import cache
from statistics import fmean

import pytest

from advisor import core, knobs
from advisor.profile import hardware
from advisor.scale import FullRun, InUnits, Scale, Simulated, scaled_run

MIB = 1 << 20
ROWS = 2_000_000
"""In fewer, a smaller copy is still filling its first levels."""
FACTORS = (1 / 4, 1 / 16)
SEEDS = range(1, 6)
"""When level 0 is full hangs on when each compaction ends: one seed of the full size makes 154
thousand rows a second, another 203."""

SETTINGS = {
    "write_buffer_size": MIB,
    "max_write_buffer_number": 4,
    "target_file_size_base": MIB // 2,
    "max_bytes_for_level_base": 4 * MIB,
    "block_cache": 16 * MIB,
    "max_background_jobs": 4,
    "compression": "kNoCompression",
    "sync": False,
}
PROCESSORS = {
    "slowdown": 0.01,
    "work_ns": {"operation": 20_000.0},
    "statement_wait_us": 0.0,
    "statement_cold_us": 0.0,
    "statement_cools_us": 0.0,
    "write_turning_us": 0.0,
}
"""They cost nothing but a bound on the rate, so that the disks decide."""


@cache
def inserts(factor: float, jobs_stand_for_larger_ones: bool = True) -> tuple[float, float]:
    """Rows per second, and the share of the time that each client stalls: means of all seeds."""
    runs = [_inserts(factor, jobs_stand_for_larger_ones, seed) for seed in SEEDS]
    return fmean(rows for rows, _ in runs), fmean(stalled for _, stalled in runs)


def _inserts(factor: float, jobs_stand_for_larger_ones: bool, seed: int) -> tuple[float, float]:
    scale, clients = Scale(factor), 4
    workload = {
        "kind": "insert_benchmark",
        "rows": 0,
        "rows_per_commit": 100,
        "unique_check": False,
    }
    run = scaled_run(
        FullRun(
            engine="lsm",
            settings=knobs.defaults("lsm") | SETTINGS,
            workload=InUnits(workload, None, 0),
            clients=clients,
            seed=seed,
            clock=Simulated(hardware("disk-array-64gb-2016").model_copy(update=PROCESSORS)),
            length={"operations": scale.size(ROWS), "interval_ms": 10},
        ),
        scale,
    )
    assert run.notes == ()
    alone = {} if jobs_stand_for_larger_ones else {"scale": {"stands_for": 1.0}}
    spec = run.spec | alone
    report = core.run(spec)
    stalled = report["metrics"]["stall_s"] / report["seconds"] / clients
    return report["metrics"]["ops_per_s"], stalled


@pytest.mark.parametrize("factor", FACTORS)
def test_a_smaller_copy_inserts_and_stalls_as_the_full_size_does(factor: float) -> None:
    (full, full_stall), (small, small_stall) = inserts(1.0), inserts(factor)
    assert small == pytest.approx(full, rel=0.2)
    assert small_stall == pytest.approx(full_stall, abs=0.05)


def test_jobs_that_paid_for_themselves_would_hold_the_inserts_of_a_smaller_copy_up() -> None:
    assert inserts(1 / 16, jobs_stand_for_larger_ones=False)[0] < inserts(1.0)[0] / 2
