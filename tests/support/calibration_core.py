"""A core whose measured runs do work at known costs, for calibrations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.support.fake_core import WORK_NS, FakeCore, FakeRun

OPERATIONS = 1000


@dataclass
class WorkingRun(FakeRun):
    """Reads compare, and copy as many bytes as a value has; writes are calls, and background jobs
    copy what they wrote."""

    intervals: int = 1

    def report(self) -> dict[str, Any]:
        workload = self.spec["workload"]
        reads = workload["benchmark"] == "readrandom"
        jobs = {"copy_byte": 0 if reads else 10_000 * OPERATIONS}
        work = {
            "call": OPERATIONS,
            "compare": 20 * OPERATIONS if reads else 0,
            "copy_byte": workload.get("value_bytes", 100) * OPERATIONS
            if reads
            else jobs["copy_byte"],
        }
        cpu_ns, jobs_ns = _cost_ns(work), _cost_ns(jobs)
        return super().report() | {
            "operations": OPERATIONS,
            "seconds": cpu_ns / 1e9,
            "metrics": {"cpu_us_per_op": cpu_ns / 1e3 / OPERATIONS},
            "work": {name: units for name, units in work.items() if units},
            "background": {"cpu_us": jobs_ns / 1e3, "work": jobs},
        }


def _cost_ns(work: dict[str, int]) -> float:
    return sum(units * WORK_NS[name] for name, units in work.items())


class WorkingCore(FakeCore):
    """Runs of known work."""

    def Run(self, spec: dict[str, Any]) -> FakeRun:
        self.specs.append(spec)
        run = WorkingRun(spec, lambda _spec: {"ops_per_s": 1.0, "p99_us": 1.0})
        self.runs.append(run)
        return run
