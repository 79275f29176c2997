"""Numbers and differences as sentences say them."""

from __future__ import annotations

from advisor.goal import Goal, described
from advisor.sizes import format_size


def metric(name: str, value: float) -> str:
    """A metric with the digits that a reader needs: `31,480`, `12.4`, `1.31`, `40MiB`."""
    if described(name).unit == "bytes":
        return format_size(round(value))
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def percent(share: float) -> str:
    """A share as a rounded percentage; small ones keep a digit, and nothing is rounded down to
    0%."""
    size = abs(share) * 100
    if size >= 9.95:
        return f"{size:.0f}%"
    return f"{size:.1f}%" if size >= 0.05 or size == 0 else "less than 0.1%"


def difference(goal: Goal, gain: float) -> str:
    """A relative gain in the goal's metric, in the metric's own direction: `+12% ops_per_s`, `-8.0%
    p99_us`."""
    up = (gain >= 0) == (goal.direction == "maximize")
    return f"{'+' if up else '-'}{percent(gain)} {goal.metric}"
