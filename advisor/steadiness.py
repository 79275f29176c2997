"""What a run leaves open, in words: the series that still changed, as the core names them, the work
that it left undone, and the requests that it was behind with."""

from __future__ import annotations

from collections.abc import Iterator

from advisor.spec import Report, SeriesChange

NOT_YET = "not yet steady"

WORTH_TELLING = 0.01
"""Charges for what was left undone, and backlogs, below this part of the measured phase are not
told."""


def unsteady_notes(report: Report) -> Iterator[str]:
    """What kept a run from being steady; nothing for one that was, or that was not judged."""
    seen = report.get("steadiness")
    if report.get("steady") is not False or seen is None:
        return
    if not seen["is_warm"]:
        yield f"{NOT_YET} when the warm-up's budget ended: {_changes(seen['changed_in_warmup'])}"
    if seen["changed_in_run"] != []:
        yield f"{NOT_YET} while it was measured: {_changes(seen['changed_in_run'])}"


def debt_notes(report: Report) -> Iterator[str]:
    """What a run is charged for work that it left to the background, if that is worth telling."""
    charged, seconds = report["metrics"].get("debt_s"), report.get("seconds")
    if charged and seconds and charged > WORTH_TELLING * seconds:
        debt = report.get("debt")
        is_settled = debt is not None and "after_bytes" not in debt
        left = "settled in" if is_settled else "left work undone that would take"
        yield f"{left} {charged:.2g} s beside its {seconds:.2g} s"


def backlog_notes(report: Report) -> Iterator[str]:
    """By how much a run did not keep the rate that its requests came at, if that is worth
    telling."""
    behind, seconds = report["metrics"].get("backlog_s"), report.get("seconds")
    if behind and seconds and behind > WORTH_TELLING * seconds:
        yield f"did not keep its rate of requests: {behind:.2g} s behind after {seconds:.2g} s"


def _changes(changes: list[SeriesChange] | None) -> str:
    if changes is None:
        return "too short to tell"
    return ", ".join(_change(one) for one in changes) or "too short to be sure"


def _change(change: SeriesChange) -> str:
    return f"{change['series']} went from {_number(change['from'])} to {_number(change['to'])}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
