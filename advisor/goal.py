"""What the user wants: the vocabulary of metrics, and a goal over them written as a sentence."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from advisor.errors import InputError
from advisor.sizes import parse_size

Direction = Literal["maximize", "minimize"]


@dataclass(frozen=True)
class Metric:
    """One number of a report."""

    name: str
    unit: str
    better: Literal["higher", "lower"]
    text: str

    @property
    def direction(self) -> Direction:
        return "maximize" if self.better == "higher" else "minimize"


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("ops_per_s", "ops/s", "higher", "Operations per second."),
        Metric("p50_us", "us", "lower", "Half of the operations are faster than this."),
        Metric("p95_us", "us", "lower", "95% of the operations are faster than this."),
        Metric("p99_us", "us", "lower", "99% of the operations are faster than this."),
        Metric("p999_us", "us", "lower", "99.9% of the operations are faster than this."),
        Metric("max_us", "us", "lower", "The slowest operation."),
        Metric("reads_per_op", "reads", "lower", "Storage reads per operation."),
        Metric("read_kb_per_op", "KB", "lower", "KB read from storage per operation."),
        Metric("write_kb_per_op", "KB", "lower", "KB written to storage per operation."),
        Metric("file_system_kb_per_op", "KB", "lower", "Of these, those of the file system's own."),
        Metric("kernel_read_kb_per_op", "KB", "lower", "Of a real engine: what devices gave."),
        Metric("kernel_write_kb_per_op", "KB", "lower", "Of a real engine: what devices get."),
        Metric("write_amp", "ratio", "lower", "Bytes written to storage per user byte written."),
        Metric("read_amp", "ratio", "lower", "Blocks or pages asked for per operation."),
        Metric("space_amp", "ratio", "lower", "Bytes on disk per live user byte."),
        Metric("device_bytes", "bytes", "lower", "Bytes that the flash device is given."),
        Metric("trimmed_bytes", "bytes", "lower", "Bytes that the flash device may forget (TRIM)."),
        Metric("nand_bytes", "bytes", "lower", "Bytes that the flash writes."),
        Metric("erases", "superblocks", "lower", "Superblocks that the flash erases."),
        Metric("flash_waf", "ratio", "lower", "Bytes that the flash writes per byte it is given."),
        Metric(
            "drive_years", "years", "higher", "Time until the flash is worn out at this write rate."
        ),
        Metric("cpu_us_per_op", "us", "lower", "CPU time per operation."),
        Metric(
            "cost", "per million", "lower", "Of a million operations, by the prices of the profile."
        ),
        Metric("cache_hit_ratio", "ratio", "higher", "Part of the lookups that the cache answers."),
        Metric(
            "bloom_false_positive_ratio",
            "ratio",
            "lower",
            "Part of the filter checks for absent keys that answer maybe.",
        ),
        Metric("stall_s", "s", "lower", "Seconds that writers waited for background work."),
        Metric("debt_s", "s", "lower", "Seconds that work left to the background adds."),
        Metric(
            "backlog_s", "s", "lower", "Seconds by which a rate of requests is not kept at the end."
        ),
        Metric("disk_bytes", "bytes", "lower", "Bytes on disk."),
        Metric("memory_bytes", "bytes", "lower", "Memory of the engine, by its own count."),
        Metric("process_memory_bytes", "bytes", "lower", "Of a real engine: what its process has."),
    )
}


PERCENTILES = ("p50_us", "p95_us", "p99_us", "p999_us", "max_us")
"""What a report tells of each kind of operation, too: `p99_us[get_node]`."""

FLASH_METRICS = (
    "device_bytes",
    "trimmed_bytes",
    "nand_bytes",
    "erases",
    "flash_waf",
    "drive_years",
)
"""What a simulated flash device tells of the measured phase; absent elsewhere."""

REAL_METRICS = ("kernel_read_kb_per_op", "kernel_write_kb_per_op", "process_memory_bytes")
"""What only a real engine tells, and no trial of a study does."""

_OF_OPERATION = re.compile(rf"({'|'.join(PERCENTILES)})\[(\w+)\]")


def of_operation(name: str) -> tuple[str, str] | None:
    """The percentile and the operation that `p99_us[get_node]` names; None for any other metric."""
    match = _OF_OPERATION.fullmatch(name)
    return (match[1], match[2]) if match else None


def find_metric(name: str) -> Metric | None:
    """The metric of a name, be it of all operations or of one; None if there is none."""
    if (part := of_operation(name)) is None:
        return METRICS.get(name)
    of_all = METRICS[part[0]]
    text = f"{of_all.text.removesuffix('.')}, of {part[1]} alone."
    return Metric(name, of_all.unit, of_all.better, text)


def described(name: str) -> Metric:
    """The metric of a name that a goal or a report has. Raises `KeyError` for any other."""
    if (found := find_metric(name)) is None:
        raise KeyError(name)
    return found


def percentiles(
    names: Iterable[str], by_operation: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    """Those of the names that are of one operation, from a report's latencies by operation. What
    did not occur in the run is absent."""
    parts = {name: part for name in names if (part := of_operation(name))}
    return {
        name: by_operation[operation][metric]
        for name, (metric, operation) in parts.items()
        if metric in by_operation.get(operation, {})
    }


@dataclass(frozen=True)
class Limit:
    """A bound that a metric must keep: at most for what should be low, at least for what should be
    high.
    """

    metric: str
    value: float

    @property
    def sign(self) -> str:
        return "<=" if described(self.metric).better == "lower" else ">="

    def kept(self, metrics: Mapping[str, float]) -> bool:
        """Whether the metric was measured and keeps the bound."""
        return self.metric in metrics and self.excess(metrics[self.metric]) <= 0

    def excess(self, value: float) -> float:
        """How far the value is beyond the bound, as a part of it; 0 or less when it is kept."""
        beyond = value - self.value if self.sign == "<=" else self.value - value
        return beyond / abs(self.value) if self.value else beyond

    def __str__(self) -> str:
        return f"{self.metric} {self.sign} {self.value:.12g}"


@dataclass(frozen=True)
class Goal:
    """One metric to maximize or minimize, or several, and bounds on others."""

    metric: str
    """The first objective."""
    limits: tuple[Limit, ...] = ()
    others: tuple[str, ...] = ()
    """Further objectives."""

    @property
    def objectives(self) -> tuple[str, ...]:
        """All metrics to maximize or minimize."""
        return (self.metric, *self.others)

    def point(self, metrics: Mapping[str, float]) -> tuple[float, ...]:
        """The objectives of a run that measured them all, each so that higher is better."""
        return tuple(
            metrics[name] if described(name).better == "higher" else -metrics[name]
            for name in self.objectives
        )

    def is_measured(self, metrics: Mapping[str, float]) -> bool:
        """Whether a run measured all objectives."""
        return all(name in metrics for name in self.objectives)

    @property
    def direction(self) -> Direction:
        return described(self.metric).direction

    @property
    def metrics(self) -> tuple[str, ...]:
        """What it speaks of: its objectives, and the metrics of its bounds."""
        return tuple(dict.fromkeys((*self.objectives, *(limit.metric for limit in self.limits))))

    @property
    def operations(self) -> frozenset[str]:
        """The kinds of operations that it speaks of by themselves."""
        return frozenset(part[1] for name in self.metrics if (part := of_operation(name)))

    @property
    def asks_for_latencies(self) -> bool:
        """Whether it speaks of percentiles."""
        return any(of_operation(name) or name in PERCENTILES for name in self.metrics)

    def kept(self, metrics: Mapping[str, float]) -> bool:
        """Whether every bound is kept."""
        return all(limit.kept(metrics) for limit in self.limits)

    def broken(self, metrics: Mapping[str, float]) -> tuple[Limit, ...]:
        """The bounds that are not kept; an absent metric keeps none."""
        return tuple(limit for limit in self.limits if not limit.kept(metrics))

    def __str__(self) -> str:
        text = ", ".join(f"{described(name).direction} {name}" for name in self.objectives)
        return f"{text} subject to {', '.join(map(str, self.limits))}" if self.limits else text


def refuse_several(goal: Goal, source: str, where: str | None = None) -> None:
    """Raises `InputError` for a goal of several objectives, where settings are ranked by one
    number."""
    if goal.others:
        raise InputError(source, where, f"several objectives, {goal}", "a goal with one objective")


_GOAL = re.compile(r"(?P<objectives>.+?)(?:\s+subject\s+to\s+(?P<limits>.+))?", re.I)
_OBJECTIVE = re.compile(r"(?P<verb>\S+)\s+(?P<metric>\S+)")
_AND = re.compile(r",|\band\b")
_LIMIT = re.compile(
    r"(?P<metric>\w+(?:\[\w+\])?)\s*(?P<sign><=|>=|<|>|=)\s*(?P<value>\S+(?:\s\w+)?)"
)
_DURATION = re.compile(r"([0-9.]{1,20})\s*(us|ms|s)")
_EXAMPLE = "such as: maximize ops_per_s subject to p99_us <= 5000, space_amp <= 2"


def parse_goal(text: str, source: str = "goal", where: str | None = None) -> Goal:
    """Reads `maximize ops_per_s subject to p99_us <= 5000, space_amp <= 2`, or several objectives:
    `maximize ops_per_s, minimize write_kb_per_op`. Raises `InputError`.

    Values of `*_bytes` may be sizes (`4GiB`), those of `*_us` durations (`5ms`). A percentile may
    be that of one operation (`p99_us[get_node]`); which there are is the workload's to say.
    """
    match = _GOAL.fullmatch(text.strip())
    told = [part.strip() for part in _AND.split(match["objectives"])] if match else [""]
    objectives = [_objective(part, text, source, where) for part in told]
    if len(set(objectives)) < len(objectives):
        raise InputError(source, where, repr(text), "each objective once")
    limits = _AND.split(match["limits"]) if match and match["limits"] else []
    return Goal(
        objectives[0],
        tuple(_limit(part.strip(), source, where) for part in limits),
        tuple(objectives[1:]),
    )


def _objective(part: str, text: str, source: str, where: str | None) -> str:
    match = _OBJECTIVE.fullmatch(part)
    if match is None:
        raise InputError(source, where, repr(text), _EXAMPLE)
    metric = _metric(match["metric"], source, where)
    if match["verb"].lower() != metric.direction:
        raise InputError(source, where, repr(match["verb"]), f"{metric.direction} {metric.name}")
    return metric.name


def _metric(name: str, source: str, where: str | None) -> Metric:
    if (found := find_metric(name)) is not None:
        return found
    if "[" in name:
        accepted = f"{', '.join(PERCENTILES)} of one operation, such as p99_us[get_node]"
        raise InputError(source, where, f"the metric {name!r}", accepted)
    near = difflib.get_close_matches(name, METRICS, n=3)
    raise InputError(source, where, f"the metric {name!r}", ", ".join(near or METRICS))


def _limit(text: str, source: str, where: str | None) -> Limit:
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise InputError(source, where, f"the bound {text!r}", "such as p99_us <= 5000")
    metric = _metric(match["metric"], source, where)
    value = _number(metric, match["value"])
    if value is None:
        kind = {"bytes": "a size such as 4GiB", "us": "microseconds, or a time such as 5ms"}
        accepted = kind.get(metric.unit, "a number")
        raise InputError(source, where, f"the value {match['value']!r} of {metric.name}", accepted)
    limit = Limit(metric.name, value)
    if match["sign"] != limit.sign:
        raise InputError(source, where, f"the bound {text!r}", f"{metric.name} {limit.sign} VALUE")
    return limit


def _number(metric: Metric, text: str) -> float | None:
    try:
        if metric.unit == "bytes":
            return parse_size(text)
        duration = _DURATION.fullmatch(text) if metric.unit == "us" else None
        if duration:
            return float(duration[1]) * {"us": 1, "ms": 1_000, "s": 1_000_000}[duration[2]]
        number = float(text)
    except ValueError:
        return None
    return number if number == number and abs(number) != float("inf") else None
