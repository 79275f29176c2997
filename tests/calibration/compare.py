"""Simulated against measured on this machine. Not a test of CI, because it measures time: `make
calibrate-check` calibrates, then runs the same specs under both clocks and prints how far apart
they are, by the median of three where they are judged. The exit code is 1 where IO or
amplification differ by more than 5%, or operations per second by more than 30%.

Where other programs want the processor too, the threads of a measured run wait for it. The kernel
says how long: `waited` is that share of the time in which the clients wanted it. The simulated
machine is then as much slower, because what background work gets done per operation depends on it.
Clients that outnumber the cores wait for one another too, for a processor and for locks whose owner
has none, which the simulation does not know: such runs are shown, with the wait of the one client
before, and not judged.

Measured runs read and write through the page cache, which holds all of their files, and count the
reads that the engine asks for. So the simulated machine has no drive to wait for but in syncs, and
no page cache besides, which would count the reads of the drive alone.

    python -m tests.calibration.compare [HARDWARE]
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from advisor import calibration
from advisor.core import load, run
from advisor.documents import read, validated
from advisor.hardware import Flash, Hardware, hardware
from advisor.knobs import ENGINES, Engine
from advisor.scale import machine_spec
from advisor.spec import Report, ScaleSpec, Spec

KEYS = 400_000
"""Times 116 bytes: 46 MB; no run of the calibration has as many."""
MIB = 1 << 20
CACHE: Mapping[Engine, str] = {"lsm": "block_cache", "btree": "innodb_buffer_pool_size"}
# A run fills many memtables, and the redo log several times: where it ends within their cycle must
# not decide how much was written. They are no smaller than that, because a client that goes round a
# small log, or fills small memtables, faster than background work follows is at the edge of a
# stall, where a few percent of speed decide how large compactions become.
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
        "innodb_redo_log_capacity": 128 * MIB,
        "innodb_io_capacity": 2000,
        "innodb_io_capacity_max": 20_000,
    },
}
SCALE: ScaleSpec = {"stands_for": 1.0, "second_us": 100_000}
"""A run of seconds has few rounds of InnoDB's page cleaner else, and fills the log in each."""
INTERVAL_MS = 50
REPETITIONS = 3
OPERATIONS_PER_S = 0.30
NOT_DEVICE_US = 0.1
NOT_DEVICE_MB_PER_S = 100_000
"""Nearly nothing: the device model takes no zero, and the CPU pays for what the page cache does."""
CHANNELS = 32
"""As many as there may be threads; the page cache serves each by itself."""
DURABLE_BYTES = MIB
"""Of the device's buffer: next to none, because a write counts when it is durable."""
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
            "scale": SCALE,
            "workload": dict(self.workload),
            "clients": clients,
            "operations": self.operations,
            "interval_ms": INTERVAL_MS,
        }


GETS = {"kind": "db_bench", "benchmark": "readrandom", "keys": KEYS, "load_order": "sequential"}
FILL = {"kind": "db_bench", "benchmark": "fillrandom", "keys": KEYS}
MIX = {"kind": "ycsb", "mix": "A", "records": KEYS // 10}
CASES = (
    Case("cached reads", GETS, 256 * MIB, 2_000_000),
    Case("uncached reads", GETS, 4 * MIB, 600_000),
    Case("random inserts", FILL, 256 * MIB, 4_000_000),
    Case("50/50 mix", MIX, 256 * MIB, 2_000_000),
)
CLIENTS = (1, 4)


@dataclass
class Waits:
    """How long the clients of the phase that runs have waited for a processor, in nanoseconds."""

    running_ns: dict[str, int] = field(default_factory=dict)
    waiting_ns: dict[str, int] = field(default_factory=dict)

    def look(self, _interval: object) -> None:
        """Asks the kernel. A phase has threads of its own, so a name that is seen again under
        another number begins anew."""
        for thread in Path("/proc/self/task").iterdir():
            try:
                name = (thread / "comm").read_text().strip()
                running, waiting, _ = map(int, (thread / "schedstat").read_text().split())
            except OSError:
                continue  # The thread ended meanwhile.
            if name.startswith("client-"):
                self.running_ns[name], self.waiting_ns[name] = running, waiting

    @property
    def share(self) -> float:
        """Waiting, as a share of all the time that the clients wanted a processor."""
        waiting, running = sum(self.waiting_ns.values()), sum(self.running_ns.values())
        return waiting / (waiting + running) if waiting else 0.0


def engine_share(report: Report) -> float:
    """The share of all written bytes that the engine wrote. What a file system adds is simulated,
    but a measured run cannot see it."""
    written = {name: float(one["written_bytes"]) for name, one in report["bytes"].items()}
    total = sum(written.values())
    return 1 - written.get("file_system", 0.0) / total if total else 1.0


def usual_size(report: Report) -> float:
    """The lower quartile of the bytes on disk in the second half of a run, over those at the end: a
    compaction's inputs are there beside what it writes for as long as it takes, and how long is a
    matter of speed."""
    sizes = [one["disk_bytes"] for one in report["intervals"] if one["phase"] == "run"]
    late = sorted(sizes[len(sizes) // 2 :])
    return late[len(late) // 4] / float(report["metrics"]["disk_bytes"])


@dataclass(frozen=True)
class Comparison:
    """One case under both clocks."""

    name: str
    clients: int
    measured: Report
    simulated: Report
    waited: float

    def ratio(self, metric: str) -> float:
        """Simulated over measured; 1 where both are absent or nothing."""
        values = (float(one["metrics"].get(metric) or 0) for one in (self.simulated, self.measured))
        simulated, measured = values
        if metric == "cpu_us_per_op":
            simulated *= 1 - self.waited
        if metric in ("write_kb_per_op", "write_amp"):
            simulated *= engine_share(self.simulated)
        if metric == "space_amp":
            simulated *= usual_size(self.simulated)
            measured *= usual_size(self.measured)
        if simulated == measured:
            return 1.0
        return simulated / measured if measured else math.inf


def compare(machine: Hardware) -> Iterator[list[Comparison]]:
    """Every case on both engines, with one client and with four. What is judged is repeated: a
    measured run ends anywhere in the cycle of its compactions, and other programs disturb it."""
    machine = through_page_cache(machine)
    kinds = {kind["name"]: float(kind["ns"]) for kind in load().work_kinds()}
    waited = 0.0
    for case in CASES:
        for engine in ENGINES:
            for clients in CLIENTS:
                name, spec = f"{engine} {case.name}, {clients}", case.spec(engine, clients)
                found = []
                for _ in range(REPETITIONS if is_judged(clients) else 1):
                    measured, share = measure(spec)
                    share = share if clients == 1 else waited
                    slower = machine_spec(slowed(machine, kinds, share))
                    simulated = run({**spec, "clock": "simulated", "hardware": slower})
                    found.append(Comparison(name, clients, measured, simulated, share))
                if clients == 1:
                    waited = median(one.waited for one in found)
                yield found


def measure(spec: Spec) -> tuple[Report, float]:
    """A measured run, and the share of the time that its clients waited for a processor."""
    waits = Waits()
    with tempfile.TemporaryDirectory(prefix="tunebench-") as folder:
        own = {"directory": str(Path(folder) / "run")}
        report = run({**spec, **own}, on_interval=waits.look)
    return report, waits.share


def is_judged(clients: int) -> bool:
    """Whether each client has a processor."""
    return clients <= len(os.sched_getaffinity(0))


def slowed(machine: Hardware, kinds: Mapping[str, float], waited: float) -> Hardware:
    """The machine as a program sees it that waits for a processor this share of its time."""
    costs = {name: ns / (1 - waited) for name, ns in {**kinds, **machine.work_ns}.items()}
    return machine.model_copy(update={"work_ns": costs})


def through_page_cache(machine: Hardware) -> Hardware:
    """The machine as a measured run meets it, whose files the page cache holds: what is left to the
    drive is how fast bytes become durable."""
    assert isinstance(machine.device, Flash), "a calibrated machine has flash"
    device = machine.device.model_copy(
        update={
            "channels": CHANNELS,
            "read_latency_us": NOT_DEVICE_US,
            "write_latency_us": NOT_DEVICE_US,
            "read_mb_per_s": NOT_DEVICE_MB_PER_S,
            "link_mb_per_s": NOT_DEVICE_MB_PER_S,
            "link_command_us": 0.0,
            "buffer_bytes": DURABLE_BYTES,
        }
    )
    return machine.model_copy(update={"device": device})


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
    print(f"{'simulated / measured':28}", *(f"{name:>15}" for name in (*SHOWN, "waited")))
    apart = judged = 0
    for found in compare(machine):
        ratios = {name: median(one.ratio(name) for one in found) for name in SHOWN}
        waited = median(one.waited for one in found)
        cells = (f"{ratio:15.2f}" for ratio in ratios.values())
        print(f"{found[0].name:28}", *cells, f"{waited:15.2f}", flush=True)
        misses = [name for name in EQUAL if abs(ratios[name] - 1) > IO]
        if abs(ratios["ops_per_s"] - 1) > OPERATIONS_PER_S:
            misses.append("ops_per_s")
        counts = is_judged(found[0].clients)
        judged += counts
        apart += bool(misses) and counts
        if misses:
            print(f"    {'apart' if counts else 'not judged'}: {', '.join(misses)}", flush=True)
    print(f"{apart} of {judged} judged runs are apart")
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
