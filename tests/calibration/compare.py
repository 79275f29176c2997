"""Simulated against measured on this machine. Not a test of CI, because it measures time: `make
calibrate-check` calibrates, then runs the same specs under both clocks and prints how far apart they
are. The exit code is 1 where IO or amplification differ by more than 5%, or operations per second by
more than 30% while the machine was idle.

    python -m tests.calibration.compare [HARDWARE]
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from advisor import calibration
from advisor.core import Report, Spec, run
from advisor.documents import read, validated
from advisor.hardware import Hardware, hardware
from advisor.knobs import ENGINES, Engine

KEYS = 400_000
"""Times 116 bytes: 46 MB; no run of the calibration has as many."""
MIB = 1 << 20
CACHE: Mapping[Engine, str] = {"lsm": "block_cache", "btree": "innodb_buffer_pool_size"}
COMMON: Mapping[Engine, Mapping[str, Any]] = {
    "lsm": {
        "compression": "kLZ4Compression",
        "filter_policy": "bloomfilter:10",
        "write_buffer_size": 8 * MIB,
        "max_bytes_for_level_base": 32 * MIB,
        "target_file_size_base": 8 * MIB,
    },
    "btree": {
        "innodb_flush_log_at_trx_commit": 2,
        "innodb_redo_log_capacity": 64 * MIB,
        "innodb_io_capacity": 2000,
        "innodb_io_capacity_max": 20_000,
    },
}
OPERATIONS_PER_S = 0.30
IO = 0.05


@dataclass(frozen=True)
class Case:
    """One workload that is run under both clocks."""

    name: str
    workload: Mapping[str, Any]
    cache_bytes: int
    operations: int

    def spec(self, engine: Engine, clients: int) -> Spec:
        """What both clocks have in common."""
        return {
            "engine": engine,
            "options": {**COMMON[engine], CACHE[engine]: self.cache_bytes},
            "workload": dict(self.workload),
            "clients": clients,
            "operations": self.operations,
            "interval_ms": 1000,
        }


GETS = {"kind": "db_bench", "benchmark": "readrandom", "keys": KEYS, "load_order": "sequential"}
FILL = {"kind": "db_bench", "benchmark": "fillrandom", "keys": KEYS}
MIX = {"kind": "ycsb", "mix": "A", "records": KEYS // 10}
CASES = (
    Case("cached reads", GETS, 256 * MIB, 400_000),
    Case("uncached reads", GETS, 4 * MIB, 150_000),
    Case("random inserts", FILL, 64 * MIB, 400_000),
    Case("50/50 mix", MIX, 256 * MIB, 100_000),
)
CLIENTS = (1, 4)


@dataclass(frozen=True)
class Comparison:
    """One case under both clocks."""

    name: str
    measured: Report
    simulated: Report

    def ratio(self, metric: str) -> float:
        """Simulated over measured; 1 where both are absent or nothing."""
        values = (float(one["metrics"].get(metric) or 0) for one in (self.simulated, self.measured))
        simulated, measured = values
        if simulated == measured:
            return 1.0
        return simulated / measured if measured else math.inf

    @property
    def busy_ratio(self) -> float:
        """CPU time over wall time of the measured run."""
        metrics = self.measured["metrics"]
        return float(metrics["cpu_us_per_op"] * metrics["ops_per_s"] / 1e6)


def compare(machine: Hardware) -> Iterator[Comparison]:
    """Every case on both engines, with one client and with four."""
    for case in CASES:
        for engine in ENGINES:
            for clients in CLIENTS:
                spec = case.spec(engine, clients)
                with tempfile.TemporaryDirectory(prefix="tunebench-") as folder:
                    measured = run({**spec, "directory": str(Path(folder) / "run")})
                simulated = run({**spec, "clock": "simulated", "hardware": machine.to_spec()})
                yield Comparison(f"{engine} {case.name}, {clients}", measured, simulated)


def calibrated() -> Hardware:
    """This machine, measured now."""
    found = calibration.calibrate(
        on_run=lambda number, count, name: print(f"{number} of {count}: {name}", file=sys.stderr)
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "this-machine.toml"
        path.write_text(calibration.to_toml(found))
        print(path.read_text())
        return validated(Hardware, read(path), str(path))


SHOWN = ("ops_per_s", "cpu_us_per_op", "p50_us", "p99_us", "reads_per_op", "read_kb_per_op")
SHOWN += ("write_kb_per_op", "write_amp", "read_amp", "space_amp")
EQUAL = SHOWN[4:]


def main() -> int:
    """Prints the table and says whether the two clocks agree."""
    machine = hardware(sys.argv[1]) if len(sys.argv) > 1 else calibrated()
    print(f"{'simulated / measured':28}", *(f"{name:>15}" for name in (*SHOWN, "busy")))
    apart = 0
    for one in compare(machine):
        ratios = {name: one.ratio(name) for name in SHOWN}
        cells = (f"{ratio:15.2f}" for ratio in ratios.values())
        print(f"{one.name:28}", *cells, f"{one.busy_ratio:15.2f}", flush=True)
        misses = [name for name in EQUAL if abs(ratios[name] - 1) > IO]
        if abs(ratios["ops_per_s"] - 1) > OPERATIONS_PER_S:
            misses.append("ops_per_s")
        apart += bool(misses)
        if misses:
            print(f"    apart: {', '.join(misses)}", flush=True)
    print(f"{apart} of {len(CASES) * len(ENGINES) * len(CLIENTS)} runs are apart")
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
