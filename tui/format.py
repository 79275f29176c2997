"""How numbers are written, in the commands and on the screens alike.

The names on the left are the ones of the report, of DuckDB and of `--json`; this table adds what a
reader needs: a short label and a unit. A number that was not measured is written as a dash, never
as zero.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from advisor import goal
from advisor.sizes import format_factor, format_size
from advisor.trial import Clock, Trial

NOT_MEASURED = "-"
ENGINE_TITLES = {"lsm": "LSM", "btree": "B-tree"}
CLOCK_TITLES = {
    "measured": "measured on this machine",
    "simulated": "simulated",
    "real": "the real engine on this machine",
}


def clock_words(trial: Trial) -> str:
    """Which clock a trial ran under, and what it simulated: `simulated on nvme-2024`."""
    words = CLOCK_TITLES.get(trial.clock, trial.clock)
    on = trial.clock == "simulated" and trial.hardware
    return f"{words} on {trial.hardware}" if on else words


def count(value: float) -> str:
    """`48213.4` as `48,213`; small values keep what matters of their fraction."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def counted(number: int, noun: str) -> str:
    """`1 trial`, `2 trials`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def short_count(value: float) -> str:
    """Four characters or so, for axes: `48.2k`, `1.3M`."""
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{suffix}"
    return f"{value:.3g}"


def latency(microseconds: float) -> str:
    """Microseconds in the unit that reads best: `740 µs`, `1.24 ms`, `2.10 s`."""
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.2f} s"
    if microseconds >= 1e3:
        return f"{microseconds / 1e3:.2f} ms"
    return f"{microseconds:.0f} µs"


def duration(seconds: float) -> str:
    """`45 s`, `12 min`, `3.2 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def times(value: float) -> str:
    """`1.25x`."""
    return f"{value:.2f}x"


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _seconds(value: float) -> str:
    return f"{value:.2f} s"


def _years(value: float) -> str:
    return f"{count(value)} years"


def _money(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:#.3g}"


def _kilobytes(value: float) -> str:
    return f"{count(value)} KB"


def _bytes(value: float) -> str:
    return format_size(round(value))


def _microseconds(value: float) -> str:
    return f"{value:.1f} µs"


@dataclass(frozen=True)
class Metric:
    """How one number of a report is labelled and written."""

    name: str
    label: str
    write: Callable[[float], str]


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("ops_per_s", "ops/s", count),
        Metric("p50_us", "p50", latency),
        Metric("p95_us", "p95", latency),
        Metric("p99_us", "p99", latency),
        Metric("p999_us", "p99.9", latency),
        Metric("max_us", "slowest", latency),
        Metric("reads_per_op", "reads/op", count),
        Metric("read_kb_per_op", "read/op", _kilobytes),
        Metric("write_kb_per_op", "write/op", _kilobytes),
        Metric("file_system_kb_per_op", "write/op, journal", _kilobytes),
        Metric("kernel_read_kb_per_op", "read/op, kernel", _kilobytes),
        Metric("kernel_write_kb_per_op", "write/op, kernel", _kilobytes),
        Metric("write_amp", "write amp", times),
        Metric("read_amp", "read amp", times),
        Metric("space_amp", "space amp", times),
        Metric("device_bytes", "to the device", _bytes),
        Metric("trimmed_bytes", "trimmed", _bytes),
        Metric("nand_bytes", "to the flash", _bytes),
        Metric("erases", "erases", count),
        Metric("flash_waf", "flash WAF", times),
        Metric("drive_years", "drive lasts", _years),
        Metric("cpu_us_per_op", "CPU/op", _microseconds),
        Metric("cost", "cost of a million", _money),
        Metric("cache_hit_ratio", "cache hits", _percent),
        Metric("bloom_false_positive_ratio", "bloom misses", _percent),
        Metric("stall_s", "stalled", _seconds),
        Metric("debt_s", "left undone", _seconds),
        Metric("backlog_s", "behind the rate", _seconds),
        Metric("disk_bytes", "on disk", _bytes),
        Metric("memory_bytes", "memory", _bytes),
        Metric("process_memory_bytes", "memory, process", _bytes),
    )
}

COMPARED = ("ops_per_s", "p99_us", "write_kb_per_op", "reads_per_op", "space_amp")


WEAR: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("written_bytes_per_day", "written/day", _bytes),
        Metric("drive_writes_per_day", "drive writes/day", count),
        Metric("years", "drive lasts", _years),
    )
}
"""What a day does to a flash drive, by columns of the view `endurance`."""
_BETTER_WEAR = {
    "written_bytes_per_day": "lower",
    "drive_writes_per_day": "lower",
    "years": "higher",
}


def compared(columns: Sequence[Mapping[str, float]], wanted: Sequence[str] = ()) -> tuple[str, ...]:
    """The metrics to show side by side: those that the goal speaks of, the usual ones, and those of
    a flash device where one was simulated. Its years at the rate of a day's writing stand in place
    of those at the measured one, unless the goal speaks of these."""
    seen = set().union(*columns)
    flash = (name for name in (*WEAR, *goal.FLASH_METRICS) if name in seen)
    hidden = {"drive_years"} - set(wanted) if "years" in seen else set()
    return tuple(dict.fromkeys((*wanted, *COMPARED, *(one for one in flash if one not in hidden))))


def label(name: str) -> str:
    """The label of a metric; a name this table does not know stays as it is."""
    if part := goal.of_operation(name):
        return f"{label(part[0])}, {part[1]}"
    metric = _written(name)
    return metric.label if metric else name


def value(name: str, number: float | None) -> str:
    """One metric with its unit."""
    if number is None or not isfinite(number):
        return NOT_MEASURED
    part = goal.of_operation(name)
    metric = _written(part[0] if part else name)
    return metric.write(number) if metric else count(number)


def _written(name: str) -> Metric | None:
    return METRICS.get(name) or WEAR.get(name)


def scale(factor: float, clock: Clock) -> str:
    """How much smaller a run was than what it speaks for."""
    if factor == 1:
        return "at full size"
    if clock == "real":
        return (
            f"with {format_factor(factor)} of the data, memory and logs; sizes are those of the run"
        )
    return f"at {format_factor(factor)} of the full size; sizes are multiplied back"


def difference(before: float | None, after: float | None) -> str:
    """`after` against `before`: `+112 %`, `-8 %`, `3.4x` when it more than tripled. What is not 0
    any more has no ratio."""
    if before is None or after is None or before < 0:
        return ""
    if before == 0:
        return "" if after else "same"
    ratio = after / before
    if ratio >= 3:
        return f"{ratio:.1f}x"
    percent = round(100 * (ratio - 1))
    if percent == 0:
        return "same"
    return f"+{percent} %" if percent > 0 else f"-{-percent} %"


def is_better(name: str, before: float | None, after: float | None) -> bool | None:
    """Whether a change of a metric is welcome; None when it is within 1% or cannot be told."""
    known = goal.find_metric(name)
    better = known.better if known is not None else _BETTER_WEAR.get(name)
    if better is None or before is None or after is None or before < 0:
        return None
    if abs(after - before) <= 0.01 * before:
        return None
    return (after > before) == (better == "higher")
