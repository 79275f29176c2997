"""What the runs of an experiment gave: the metrics of a report as of the full size, and those that
are arithmetic on it. What a report does not hold is None, never zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from advisor.scale import Scale
from advisor.spec import Interval, Report

KB, MB = 1024, 1e6
BINARY_LOG = "binary_log_bytes"
LOGS = ("redo_file_bytes", "wal_bytes", BINARY_LOG)
LAST_SHARE = 0.05
"""The end of a run, as a share of its operations. The posts take the last 100,000 of a billion
inserts; at a thousandth of the size that would be a handful."""


@dataclass(frozen=True)
class Observation:
    """One finished run."""

    report: Report
    scale: Scale
    """Data of the run / data of the experiment."""
    cores: int

    def of(self, metric: str) -> float | None:
        """A metric of the report's vocabulary, or a derived one (`DERIVED`)."""
        if metric in DERIVED:
            return DERIVED[metric](self)
        return _number(self.report.get("metrics", {}).get(metric))

    def intervals(self, *phases: str) -> list[Interval]:
        """The intervals of these phases, in order."""
        return [row for row in self.report.get("intervals", ()) if row.get("phase") in phases]


@dataclass(frozen=True)
class Observed:
    """All finished runs of an experiment by name; a run that failed is absent."""

    runs: Mapping[str, Observation]

    def of(self, metric: str, run: str) -> float | None:
        """A metric of a run."""
        return self.runs[run].of(metric) if run in self.runs else None


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _disk_bytes(run: Observation) -> float | None:
    size = _number(run.report.get("metrics", {}).get("disk_bytes"))
    return None if size is None else run.scale.full(size)


def _database_bytes(run: Observation) -> float | None:
    """What the posts call the size of a database: its files without the logs."""
    size = _number(run.report.get("metrics", {}).get("disk_bytes"))
    return None if size is None else run.scale.full(size - _log_bytes(run))


def _log_bytes(run: Observation, logs: tuple[str, ...] = LOGS) -> float:
    """Redo, write-ahead and binary logs at the end of the run. They are as large after the load."""
    details = run.report.get("engine_details", {})
    return float(sum(details.get(name, 0.0) for name in logs))


def _loaded_bytes(run: Observation) -> float | None:
    # The load ends before its compactions do: what follows begins with the settled size.
    after = run.intervals("load")[-1:] + run.intervals("warmup", "run")[:1]
    size = _number(after[-1].get("disk_bytes")) if after else None
    return None if size is None else run.scale.full(size - _log_bytes(run))


def _upper_levels_share(run: Observation) -> float | None:
    """Bytes above the last level of an LSM over those of all levels. Where each entry above hides
    one below, old versions take as much; so they take no more."""
    details = run.report.get("engine_details", {})
    levels = [details[name] for name in map("level_{}_bytes".format, range(64)) if name in details]
    return sum(levels[:-1]) / sum(levels) if sum(levels) else None


def _leaf_fill(run: Observation) -> float | None:
    """Of the leaves in the pool of a B-tree."""
    return _number(run.report.get("engine_details", {}).get("leaf_fill"))


def _client_reads_per_op(run: Observation) -> float | None:
    """Reads that clients waited for: those of compactions are not among them."""
    counts, operations = run.report.get("bytes"), run.report.get("operations")
    if not counts or not operations:
        return None
    return float(counts.get("user_read", {}).get("reads", 0) / operations)


def _load_ops_per_s(run: Observation) -> float | None:
    load = run.report.get("load", {})
    operations, seconds = _number(load.get("operations")), _number(load.get("seconds"))
    return None if not operations or not seconds else operations / seconds


def _per_second(metric: str, unit: float) -> Callable[[Observation], float | None]:
    def rate(run: Observation) -> float | None:
        each, per_s = run.of(metric), run.of("ops_per_s")
        return None if each is None or per_s is None else each * per_s * unit

    return rate


def _iostat_write_kb_per_op(run: Observation) -> float | None:
    """What `iostat` makes of it on Linux before 4.19, which counts bytes that are trimmed among
    those that are written."""
    written, trimmed = run.of("write_kb_per_op"), run.of("trimmed_bytes")
    operations = run.report.get("operations")
    if written is None or trimmed is None or not operations:
        return None
    return written + trimmed / KB / float(operations)


def _device_write_kb_per_op(run: Observation) -> float | None:
    host, waf = run.of("write_kb_per_op"), run.of("flash_waf")
    return None if host is None or waf is None else host * waf


def _device_write_mb_per_s(run: Observation) -> float | None:
    host, waf = run.of("write_mb_per_s"), run.of("flash_waf")
    return None if host is None or waf is None else host * waf


def _cpu_percent(run: Observation) -> float | None:
    busy = _per_second("cpu_us_per_op", 1e-6)(run)
    clients = _per_second("client_cpu_us_per_op", 1e-6)(run) or 0.0
    return None if busy is None else 100 * (busy + clients) / run.cores


def _last_over_average(run: Observation) -> float | None:
    rows = run.intervals("run")
    average, last = _rate(rows), _rate(_last(rows, LAST_SHARE))
    return None if not average or last is None else last / average


def _speed_up(run: Observation) -> float | None:
    """Rate of the last quarter of all requests, warm-up included, over that of the first."""
    rows = run.intervals("warmup", "run")
    first, last = _rate(rows[: len(rows) // 4]), _rate(rows[len(rows) - len(rows) // 4 :])
    return None if not first or last is None else last / first


def _peak_over_start(run: Observation) -> float | None:
    start = _loaded_bytes(run)
    sizes = [row["disk_bytes"] for row in run.intervals("warmup", "run") if row.get("disk_bytes")]
    if not start or not sizes:
        return None
    # What grows is the data directory, with the engine's own logs. The binary log of the run is
    # larger than what the directory grew to, so it lies elsewhere.
    return run.scale.full(max(sizes) - _log_bytes(run, (BINARY_LOG,))) / start


def _last(rows: list[Interval], share: float) -> list[Interval]:
    """The shortest tail that holds this share of the operations."""
    wanted = share * sum(row["operations"] for row in rows)
    tail: list[Interval] = []
    for row in reversed(rows):
        if sum(taken["operations"] for taken in tail) >= wanted:
            break
        tail.append(row)
    return tail


def _rate(rows: list[Interval]) -> float | None:
    seconds = sum(row["seconds"] for row in rows)
    return None if not seconds else float(sum(row["operations"] for row in rows) / seconds)


DERIVED: Mapping[str, Callable[[Observation], float | None]] = {
    "disk_bytes": _disk_bytes,
    "database_bytes": _database_bytes,
    "loaded_bytes": _loaded_bytes,
    "upper_levels_share": _upper_levels_share,
    "leaf_fill": _leaf_fill,
    "load_ops_per_s": _load_ops_per_s,
    "client_reads_per_op": _client_reads_per_op,
    "write_mb_per_s": _per_second("write_kb_per_op", KB / MB),
    "read_mb_per_s": _per_second("read_kb_per_op", KB / MB),
    "reads_per_s": _per_second("reads_per_op", 1.0),
    "iostat_write_kb_per_op": _iostat_write_kb_per_op,
    "device_write_kb_per_op": _device_write_kb_per_op,
    "device_write_mb_per_s": _device_write_mb_per_s,
    "cpu_percent": _cpu_percent,
    "last_over_average": _last_over_average,
    "speed_up": _speed_up,
    "peak_over_start": _peak_over_start,
}
