"""The first half of the report: the answer, and what speaks for each of its lines."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from advisor import dialects, knobs
from advisor.goal import FLASH_METRICS, described
from advisor.recommend import (
    COMPARED_METRICS,
    Column,
    Recommendation,
    about_engine,
    about_front,
    about_member,
    about_rebuilds,
    about_settings,
    tried,
    warning,
    wording,
)
from advisor.report.markdown import cell, counted, shown, sparkline, spread, table
from advisor.trial import Trial

_WHEN = {
    "dynamic": "Now, on a running server",
    "restart": "With a restart",
    "rebuild": "Complete only when the data has been rewritten",
}


def head(r: Recommendation) -> str:
    """The answer in sentences."""
    loud = warning(r)
    lines = [f"**Warning:** {loud}."] if loud else []
    lines.append(f"**Engine:** {about_engine(r)}.")
    lines.append(f"**Settings:** {about_settings(r)}.")
    lines.append(f"**Tried:** {tried(r)}.")
    return "\n\n".join(lines)


def comparison(r: Recommendation) -> str:
    """The columns of the advice side by side, and how each ran."""
    head = ("", *(f"{column.title} ({counted(column.runs, 'run')})" for column in r.columns))
    rows = [
        (f"{name} ({described(name).unit})", *(spread(column, name) for column in r.columns))
        for name in dict.fromkeys((*r.goal.metrics, *COMPARED_METRICS, *FLASH_METRICS))
        if any(name in column.metrics for column in r.columns)
    ]
    sparks = [(column.title, _spark(r.trials, column)) for column in r.columns]
    drawn = "\n".join(f"    {title:<12}{spark}" for title, spark in sparks if spark)
    text = f"## Recommended beside the others\n\n{table(head, rows)}"
    text += "\n\nMedians; in brackets the lowest and highest run."
    return (
        f"{text}\n\nOperations per second over the last run of each:\n\n{drawn}" if drawn else text
    )


def front(r: Recommendation) -> str:
    """What may be chosen from, where there are several objectives."""
    if r.front is None:
        return ""
    text = f"## The front\n\n{about_front(r)}."
    if not r.front.members:
        return text
    objectives = r.front.goal.objectives
    rows = [
        (
            str(one.number),
            one.engine,
            *(wording.metric(name, one.metrics[name]) for name in objectives),
            str(len(one.candidate.judged)),
            about_member(r, one),
        )
        for one in r.front.members
    ]
    names = (f"{name} ({described(name).unit})" for name in objectives)
    noise = "; ".join(
        f"{name} ±{wording.percent(found.relative_sd)}" for name, found in r.front.noises.items()
    )
    command = _export(r, ["--front", str(r.front.members[-1].number)])
    return (
        f"{text}\n\n{table(('number', 'engine', *names, 'runs', ''), rows)}\n\n"
        f"Medians. Noise of one run (one standard deviation): {noise}.\n\n"
        f"`{command}` writes the file of a member by its number."
    )


def changes(r: Recommendation) -> str:
    """The lines to change."""
    if not r.changes:
        return ""
    rows = [
        (
            f"`{c.knob}`",
            shown(r.engine, c.knob, c.current),
            shown(r.engine, c.knob, c.recommended),
            c.evidence,
        )
        for c in r.changes
    ]
    head = ("Knob", r.basis.capitalize(), "Recommended", "What it buys")
    return f"## Changes\n\n{table(head, rows)}"


def memory(r: Recommendation) -> str:
    """What the recommended settings need, line by line."""
    lines = table(("What", "Memory", "Decided by"), r.memory)
    unsafe = f"\n\n**Not safe:** {r.crowding}." if r.crowding else ""
    return f"## Memory of the recommended settings\n\n{lines}{unsafe}"


def dropped(r: Recommendation) -> str:
    """What was tried and went back."""
    if not r.dropped:
        return ""
    rows = [
        (
            f"`{d.knob}`",
            shown(r.engine, d.knob, d.tried),
            shown(r.engine, d.knob, d.kept),
            d.reason,
        )
        for d in r.dropped
    ]
    return f"## Tried and taken back\n\n{table(('Knob', 'Tried', 'Stays', 'Why'), rows)}"


def rebuilds(r: Recommendation) -> str:
    """What changes that nobody allowed would buy."""
    if not r.rebuilds:
        return ""
    told = "\n".join(f"- {cell(sentence)}" for sentence in about_rebuilds(r))
    return (
        "## What a rebuild would buy\n\nThese stay as they are, since the data would have to be "
        f"loaded again; `--rebuild` lets the search change them.\n\n{told}"
    )


def apply(r: Recommendation) -> str:
    """How to get the file of each product, and what each change takes."""
    parts = ["## How to apply"]
    catalogue = knobs.catalogue(r.engine)
    for change, when in _WHEN.items():
        names = [c.knob for c in r.changes if catalogue[c.knob].change == change]
        if names:
            parts.append(f"- {when}: " + ", ".join(f"`{name}`" for name in names))
    lines = [f"    {export_command(r, dialect)}" for dialect in dialects.for_engine(r.engine)]
    bullets = "\n".join(parts[1:])
    commands = "\n".join(lines)
    return "\n\n".join(
        part for part in (parts[0], bullets, "The file for a product:", commands) if part
    )


def export_command(r: Recommendation, dialect: str) -> str:
    """What to type for the recommendation in a product's file."""
    words = ["--to", dialect]
    if r.as_measured and r.member is not None:
        words += ["--front", str(r.member.number)]
    return _export(r, [*words, "-o", f"{dialect}/{dialects.file_name(dialect)}"])


def _export(r: Recommendation, words: Sequence[str]) -> str:
    study = f"--study={r.study}" if r.study.startswith("-") else r.study
    results = [] if r.results is None else ["--results", str(r.results)]
    return shlex.join(["tunebench", "export", study, *words, *results])


def _spark(trials: Iterable[Trial], column: Column) -> str:
    mine = [
        t
        for t in trials
        if t.engine == column.engine and t.settings == column.settings and t.intervals
    ]
    if not mine:
        return ""
    rates = [i.get("ops_per_s") for i in mine[-1].intervals if i.get("phase") == "run"]
    return sparkline([float(rate) for rate in rates if rate is not None])
