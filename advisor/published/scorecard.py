"""The scorecard: published beside simulated, ratio by ratio and claim by claim, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from advisor.data import data_path
from advisor.published.replay import Replay, Row
from advisor.sizes import format_factor

ANSWERS = {True: "holds", False: "fails", None: "no answer"}
ABSENT = "-"
NEAR = (1.25, 1.5)
"""Simulated over published, in either direction."""


def scorecard(replays: Iterable[Replay], unfinished: Sequence[str] = ()) -> str:
    """One document: a summary, then each experiment with its rows, claims, notes and caveats.
    `unfinished` names the experiments that were interrupted, or not begun."""
    done = list(replays)
    parts = ["# Published experiments, replayed", INTRODUCTION]
    if unfinished:
        parts.append(
            f"**Partial**: interrupted; not or not wholly replayed: {', '.join(unfinished)}."
        )
    parts.append(_summary(done))
    for one in done:
        parts += _experiment(one)
    return "\n\n".join(parts) + "\n"


def shipped_summary() -> str:
    """The summary of the scorecard that ships: how far the simulation of this version agrees with
    the published experiments."""
    text = data_path("datasets", "published", "SCORECARD.md").read_text(encoding="utf-8")
    head = text.split("\n## ", 1)[0]
    return "\n".join(line for line in head.splitlines() if line.startswith("|"))


INTRODUCTION = """\
Every figure under *simulated* comes from the simulation: real engine code on a model of the post's
hardware, shrunk as stated. No parameter was fitted to a table that it is compared with. The ratio
is simulated over published."""


def _summary(replays: Sequence[Replay]) -> str:
    within = [f"rows within {most}x" for most in NEAR]
    head = ["experiment", "shrunk to", "holds", "fails", "no answer", *within]
    return _table(head, [_summary_line(one) for one in replays])


def _summary_line(one: Replay) -> list[str]:
    counts = {answer: sum(verdict.holds is answer for verdict in one.claims) for answer in ANSWERS}
    ratios = [row.ratio for row in one.rows if row.ratio is not None]
    close = [sum(1 / most <= ratio <= most for ratio in ratios) for most in NEAR]
    return [
        one.experiment.name,
        shrunk(one.factor),
        *(str(counts[answer]) for answer in ANSWERS),
        *(f"{count} of {len(ratios)}" for count in close),
    ]


def _experiment(one: Replay) -> list[str]:
    sources = ", ".join(one.experiment.sources)
    parts = [
        f"## {one.experiment.name}",
        f"{one.experiment.text}. Sources: {sources}. Hardware: {one.experiment.hardware}."
        f" Shrunk to {shrunk(one.factor)} of the data.",
        _table(["metric", "published", "simulated", "ratio"], [_row(row) for row in _ordered(one)]),
    ]
    if one.claims:
        verdicts = [
            [verdict.claim.id, ANSWERS[verdict.holds], verdict.claim.text, verdict.why]
            for verdict in one.claims
        ]
        parts.append(_table(["claim", "verdict", "what it says", "remark"], verdicts))
    if one.notes:
        parts.append("Notes of this replay:\n\n" + _list(one.notes))
    if one.experiment.caveats:
        parts.append(
            "What the simulation assumes or leaves out:\n\n" + _list(one.experiment.caveats)
        )
    return parts


def _ordered(one: Replay) -> list[Row]:
    """Rows with a published figure first: they are what is compared."""
    return sorted(one.rows, key=lambda row: row.published is None)


def _row(row: Row) -> list[str]:
    return [
        row.metric,
        ABSENT if row.published is None else str(row.published),
        _number(row.simulated),
        ABSENT if row.ratio is None else f"{row.ratio:.2f}",
    ]


def _number(value: float | None) -> str:
    if value is None:
        return ABSENT
    return f"{value:.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"


def shrunk(factor: float) -> str:
    """How much smaller than the post a replay is, in words."""
    return "full size" if factor == 1 else format_factor(factor)


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([_cell(text) for text in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
