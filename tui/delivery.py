"""From a study to the user's hands: the advice on stdout, the file and its report on disk."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from advisor import dialects, handover
from advisor.atomic import check_target
from advisor.errors import InputError
from advisor.knobs import Engine, catalogue
from advisor.memory_need import needed_parts
from advisor.recommend import (
    ENDURANCE_TITLES,
    Endurance,
    Recommendation,
    about_engine,
    about_front,
    about_member,
    about_rebuilds,
    about_settings,
    endurance,
    tried,
    warning,
    wear_cells,
)
from advisor.recommend import Column as NumberColumn
from advisor.search import Study
from advisor.store import Store
from tui import format as fmt
from tui.output import Column, narrate, plain, print_json, print_table


@dataclass(frozen=True)
class Target:
    """Where the recommendation goes. Without a dialect the winning engine decides."""

    dialect: str | None
    path: Path
    force: bool


def checked_target(
    dialect: str | None, path: Path | None, force: bool, engines: tuple[Engine, ...], study: str
) -> Target | None:
    """What `--to`, `-o` and `--force` ask for together, refused before the long work if it cannot
    end well."""
    if dialect is not None:
        check_dialect(dialect, engines)
    if path is None:
        for option, given in (("--to", dialect is not None), ("--force", force)):
            if given:
                raise InputError(option, None, "no -o", "-o with the file to write")
        return None
    check_target(path, force)
    for report in handover.reports_beside(path, study):
        check_target(report, force)
    return Target(dialect, path, force)


def check_dialect(dialect: str, engines: tuple[Engine, ...]) -> None:
    """Refuse a dialect that none of the engines is written in."""
    spoken = [name for engine in engines for name in dialects.for_engine(engine)]
    if dialect not in spoken:
        raise InputError("--to", None, repr(dialect), "one of " + ", ".join(spoken))


def advice_for(
    study: Study,
    dialect: str | None,
    current: Path | None = None,
    *,
    measure: bool = True,
    member: int | None = None,
) -> Recommendation:
    """As `handover.advice_for`; that it is of another engine than the best is narrated."""

    def tell(engine: Engine, best: Recommendation) -> None:
        why = f"; {best.verdict.text}" if best.verdict is not None else ""
        title = fmt.ENGINE_TITLES[engine]
        narrate(f"{dialect} is for {title}, so the best of {engine} is written{why}")

    return handover.advice_for(
        study, dialect, current, measure=measure, member=member, on_other_engine=tell
    )


def deliver(
    advice: Recommendation, target: Target | None, current: Path | None, *, as_json: bool
) -> None:
    """Print the advice, and write what was asked for."""
    written: list[Path] = []
    dialect = None
    if target is not None:
        dialect = target.dialect or handover.usual_dialect(advice, current, target.path)
        written = handover.write_files(advice, dialect, target.path, current, force=target.force)
    if as_json:
        print_json({**document(advice), "dialect": dialect, "written": written})
        return
    print_advice(advice)
    if dialect is not None:
        narrate(wrote(dialect, written))


def wrote(dialect: str, written: Sequence[Path]) -> str:
    """What was written, in a sentence."""
    file, *reports = written
    return f"wrote {file} for {dialect}, and {' and '.join(map(str, reports))}"


def document(advice: Recommendation) -> dict[str, Any]:
    """The advice for `--json`: numbers as medians; the trials stay in the results file."""
    wear = endurance(advice, Store(advice.results))
    return {
        "study": advice.study,
        "profile": advice.profile.name,
        "clock": advice.clock,
        "goal": str(advice.goal),
        "scale": advice.scale,
        "trials": len(advice.trials),
        "engine": advice.engine,
        "tried": Counter(trial.engine for trial in advice.trials),
        "winner": advice.verdict.winner if advice.verdict else None,
        "verdict": advice.verdict.text if advice.verdict else None,
        "warning": warning(advice) or None,
        "gain": plain(advice.gain),
        "file": plain(advice.standing),
        "real": list(advice.real),
        "settings": dict(advice.settings),
        "changes": plain(advice.changes),
        "dropped": plain(advice.dropped),
        "rebuilds": plain(advice.rebuilds),
        "memory": {
            "budget_bytes": advice.profile.memory_bytes,
            "parts": [
                part._asdict()
                for part in needed_parts(advice.profile, advice.engine, advice.settings)
            ],
            "not_safe": advice.crowding or None,
        },
        "columns": [
            {"title": column.title, "runs": column.runs, "metrics": medians(column)}
            for column in advice.columns
        ],
        "front": _front(advice),
        "endurance": {
            "rows": [
                {"title": row.title, "engine": row.engine, **row.figures} for row in wear.rows
            ],
            "how": wear.how or None,
            "why_not": wear.why_not or None,
        },
        "broken": list(advice.broken),
        "notes": list(advice.notes),
    }


def _front(advice: Recommendation) -> list[dict[str, Any]] | None:
    if advice.front is None:
        return None
    return [
        {
            "number": one.number,
            "engine": one.engine,
            "settings": dict(one.settings),
            "metrics": dict(one.metrics),
            "runs": len(one.candidate.judged),
            "overall": one.overall,
            "remark": about_member(advice, one) or None,
        }
        for one in advice.front.members
    ]


def medians(column: NumberColumn) -> dict[str, float]:
    """The numbers of a column, one per metric."""
    return {name: spread.median for name, spread in column.metrics.items()}


def print_advice(advice: Recommendation) -> None:
    """The verdict, the numbers side by side, the changes, memory and the wear of the drive."""
    if loud := warning(advice):
        typer.echo(typer.style(f"warning: {loud}", bold=True))
    typer.echo(typer.style(about_engine(advice), bold=True))
    typer.echo(about_settings(advice))
    for sentence in (about_front(advice), *advice.real):
        if sentence:
            typer.echo(sentence)
    clock = fmt.CLOCK_TITLES[advice.clock]
    typer.echo(typer.style(f"{advice.goal}, {tried(advice)}, {clock}", dim=True))
    typer.echo()
    _print_columns(advice)
    _print_front(advice)
    _print_changes(advice)
    _print_memory(advice)
    _print_wear(endurance(advice, Store(advice.results)))
    for note in (*about_rebuilds(advice), *advice.notes):
        typer.echo(typer.style(f"note: {note}", dim=True))


def _print_columns(advice: Recommendation) -> None:
    columns = [(column.title, medians(column)) for column in advice.columns]
    head = [Column("")] + [Column(title, right=True) for title, _ in columns]
    rows = []
    for name in fmt.compared([metrics for _, metrics in columns], advice.goal.metrics):
        numbers = [metrics.get(name) for _, metrics in columns]
        row = [fmt.label(name)] + [fmt.value(name, number) for number in numbers]
        if len(numbers) > 1:
            row.append(fmt.difference(numbers[-2], numbers[-1]))
        rows.append(row)
    if len(columns) > 1:
        head.append(Column(f"against {columns[-2][0]}", right=True))
    print_table(head, rows)


def _print_front(advice: Recommendation) -> None:
    if advice.front is None or not advice.front.members:
        return
    typer.echo()
    objectives = advice.front.goal.objectives
    head = [Column("front", right=True), Column("engine")]
    head += [Column(fmt.label(name), right=True) for name in objectives]
    head += [Column("runs", right=True), Column("")]
    rows = [
        [
            str(one.number),
            one.engine,
            *(fmt.value(name, one.metrics[name]) for name in objectives),
            str(len(one.candidate.judged)),
            about_member(advice, one),
        ]
        for one in advice.front.members
    ]
    print_table(head, rows)


def _print_memory(advice: Recommendation) -> None:
    typer.echo()
    head = [Column("memory"), Column("needs", right=True), Column("decided by")]
    print_table(head, [list(line) for line in advice.memory])
    if advice.crowding:
        typer.echo(typer.style(f"not safe: {advice.crowding}", bold=True))


def _print_wear(found: Endurance) -> None:
    typer.echo()
    if not found.rows:
        typer.echo(typer.style(f"endurance of the drive: not told, {found.why_not}", dim=True))
        return
    head = [Column("endurance"), Column("engine")]
    head += [Column(title, right=True) for title in ENDURANCE_TITLES.values()]
    rows = [[one.title, fmt.ENGINE_TITLES[one.engine], *wear_cells(one)] for one in found.rows]
    print_table(head, rows)
    typer.echo(typer.style(found.how, dim=True))


def _print_changes(advice: Recommendation) -> None:
    if not advice.changes:
        return
    typer.echo()
    knobs = catalogue(advice.engine)
    head = [
        Column("setting"),
        Column("current", right=True),
        Column("recommended", right=True),
        Column("what it buys"),
    ]
    rows = [
        [
            change.knob,
            knobs[change.knob].show(change.current),
            knobs[change.knob].show(change.recommended),
            change.evidence,
        ]
        for change in advice.changes
    ]
    print_table(head, rows)
