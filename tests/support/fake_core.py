"""A core without engines: a closed-form model answers, with a bit of noise that the seed decides.

The model knows what matters and what does not, so that a test can say which settings a search must
find:

* LSM: the cache, Bloom filters, compression and the number of background jobs matter.
* B-tree: the buffer pool, the redo log and the page size matter.
* Everything else changes nothing.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from advisor.imports import read
from advisor.knobs import catalogue, defaults

WORK_NS = {"call": 200.0, "compare": 8.0, "copy_byte": 0.1}
"""What work costs on the machine of the model; its defaults are half as much again."""
TURNING_US = 3.2

UNIT_BYTES = {
    "ids": 800,
    "records": 1023,
    "keys": 116,
    "warehouses": 75_000_000,
    "table_size": 196,
    "rows": 88,
}


class SpecError(ValueError):
    """A refused spec: field, found, accepted."""


class RunError(Exception):
    """A failed run: message, is_disk_full."""


class RunCancelled(Exception):
    """A cancelled run."""


@dataclass
class FakeRun:
    """One run; every `wait` carries out one of its intervals."""

    spec: dict[str, Any]
    model: Callable[[Mapping[str, Any]], dict[str, float]]
    said: Mapping[str, Any] = field(default_factory=dict)
    intervals: int = 3
    waits: int = 0
    polled: int = 0
    cancelled: bool = False
    started: bool = False

    def start(self) -> None:
        self.started = True
        if "directory" in self.spec:
            (Path(self.spec["directory"]) / "data").write_bytes(b"x" * 100)

    def poll(self) -> list[dict[str, Any]]:
        new = [self._interval(i) for i in range(self.polled, min(self.waits, self.intervals))]
        self.polled += len(new)
        return new

    def cancel(self) -> None:
        self.cancelled = True

    def wait(self, timeout_s: float | None = None) -> bool:
        assert self.started
        self.waits += 1
        return self.finished

    @property
    def finished(self) -> bool:
        return self.cancelled or self.waits >= self.intervals

    def report(self) -> dict[str, Any]:
        if self.cancelled:
            raise RunCancelled("cancelled")
        metrics = self.model(self.spec)
        return {
            "clock": self.spec["clock"],
            "metrics": {**metrics, "flash_waf": None},
            "by_operation": {"get": {"count": 10, "p99_us": metrics["p99_us"]}},
            "bytes": {"wal": {"written_bytes": 10, "writes": 1}},
            "load": {"seconds": 0.1},
            **self.said,
            "intervals": [self._interval(i) for i in range(self.intervals)],
        }

    def _interval(self, index: int) -> dict[str, Any]:
        return {
            "phase": "run",
            "t_s": (index + 1) / 10,
            "seconds": 0.1,
            "operations": 100,
            "ops_per_s": 1000.0 + index,
            "p99_us": 500.0,
            "disk_bytes": 1_000_000,
            "shape": {"level_0_bytes": 4096.0 * index, "level_6_bytes": 900_000.0},
        }


@dataclass
class FakeCore:
    """Stands in for `advisor._core`. `fail` may raise in place of the model."""

    noise: float = 0.02
    fail: Callable[[Mapping[str, Any]], None] = lambda spec: None
    real: Callable[[Mapping[str, Any]], float] = lambda options: 100.0
    """Operations per second of a real engine with the settings of its file, without noise."""
    steadiness: Mapping[str, Any] | None = None
    """What each report says about it, `steady` included."""
    flatters: Callable[[Mapping[str, Any]], bool] = lambda spec: False
    """Runs that were not yet steady, and look twice as fast as they are."""
    specs: list[dict[str, Any]] = field(default_factory=list)
    runs: list[FakeRun] = field(default_factory=list)
    VERSION: str = "fake"
    SpecError: type[Exception] = SpecError
    RunError: type[Exception] = RunError
    RunCancelled: type[Exception] = RunCancelled

    def Run(self, spec: dict[str, Any]) -> FakeRun:
        self.specs.append(spec)
        said = dict(self.steadiness or {})
        if self.flatters(spec):
            said |= {"steady": False, "steadiness": None}
        if spec["clock"] == "real":
            said["product"] = {"name": "RocksDB", "version": "0.0"}
        run = FakeRun(spec, self._answer, said=said)
        self.runs.append(run)
        return run

    def work_kinds(self) -> list[dict[str, Any]]:
        return [{"name": name, "ns": 1.5 * cost} for name, cost in WORK_NS.items()]

    def probe_turning(self) -> float:
        return TURNING_US

    def _answer(self, spec: Mapping[str, Any]) -> dict[str, float]:
        self.fail(spec)
        if spec["clock"] == "real":
            ops = self.real(in_the_engines_words(spec))
        else:
            ops = lsm(spec) if spec["engine"] == "lsm" else btree(spec)
            draw = random.Random(f"{spec['seed']} {searched(spec)}")
            ops *= 1.0 + draw.uniform(-1.0, 1.0) * self.noise
            ops *= 2.0 if self.flatters(spec) else 1.0
        writes = 8.0 if spec["engine"] == "btree" else 2.0
        return {
            "ops_per_s": ops,
            "p50_us": 5e5 / ops,
            "p99_us": 2e7 / ops,
            "write_kb_per_op": writes,
            "reads_per_op": 1000.0 / ops,
            "space_amp": 1.5 if spec["engine"] == "btree" else 1.1,
            "disk_bytes": 1e6,
        }


def in_the_engines_words(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a real run: what its file says, and what goes beside it."""
    told, text = {**defaults("lsm"), **spec["options"]}, spec["options"]["options_file"]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "OPTIONS"
        path.write_text(text, encoding="utf-8")
        return {**told, **read(path).settings.get("lsm", {})} if text else told


def searched(spec: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The settings that a search varies; new knobs that none does leave the noise as it was."""
    knobs = catalogue(spec["engine"])
    return sorted(item for item in spec["options"].items() if knobs[item[0]].search is not None)


def hit_ratio(cache_bytes: float, spec: Mapping[str, Any]) -> float:
    """Cache / data, which a scale must keep."""
    workload = spec["workload"]
    name = next(name for name in UNIT_BYTES if name in workload)
    return min(1.0, float(cache_bytes) / (workload[name] * UNIT_BYTES[name]))


def lsm(spec: Mapping[str, Any]) -> float:
    """Operations per second of the model's LSM engine."""
    options = spec["options"]
    ops = 10_000.0 * (1.0 + 2.0 * math.sqrt(hit_ratio(options["block_cache"], spec)))
    ops *= 1.3 if options["filter_policy"] != "nullptr" else 1.0
    ops *= 1.15 if options["compression"] == "kLZ4Compression" else 1.0
    return ops * (1.0 + 0.05 * min(options["max_background_jobs"], 4))


def btree(spec: Mapping[str, Any]) -> float:
    """Operations per second of the model's B-tree engine."""
    options = spec["options"]
    ops = 8_000.0 * (1.0 + 2.0 * math.sqrt(hit_ratio(options["innodb_buffer_pool_size"], spec)))
    redo = options["innodb_redo_log_capacity"] / (64 << 20)
    ops *= 1.0 + 0.2 * min(1.0, redo)
    return ops * (1.1 if options["innodb_page_size"] == 4096 else 1.0)
