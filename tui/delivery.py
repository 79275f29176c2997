"""From a study to the user's hands: the advice on stdout, the file and its report on disk."""

import stat
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from advisor import dialects, imports
from advisor.atomic import check_target, write_text
from advisor.errors import InputError
from advisor.files import exists, is_file
from advisor.knobs import Engine, catalogue
from advisor.memory_need import needed_parts
from advisor.recommend import Column as NumberColumn
from advisor.recommend import (
    Recommendation,
    about_engine,
    about_settings,
    recommend,
    tried,
    warning,
)
from advisor.report import is_report_of, markdown
from advisor.search import Study
from advisor.store import Store
from advisor.verify import decided, newest
from tui import format as fmt
from tui.output import Column, narrate, plain, print_json, print_table

REPORT = "report.md"
"""The report beside a file, unless another study has left its own there."""


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
    check_target(report_beside(path, study), force)
    return Target(dialect, path, force)


def check_dialect(dialect: str, engines: tuple[Engine, ...]) -> None:
    """Refuse a dialect that none of the engines is written in."""
    spoken = [name for engine in engines for name in dialects.for_engine(engine)]
    if dialect not in spoken:
        raise InputError("--to", None, repr(dialect), "one of " + ", ".join(spoken))


def usual_dialect(engine: Engine, current: Path | None, path: Path | None) -> str:
    """The dialect for an engine when none was asked for: that of the user's own file, else one
    whose file is called as the user calls it, else the engine's usual one."""
    spoken = dialects.for_engine(engine)
    if current is not None:
        own = imports.read(current).dialect(engine)
        if own in spoken:
            return own
    suffixes = [file.suffix for file in (path, current) if file is not None and file.suffix]
    for suffix in suffixes:
        for name in spoken:
            if Path(dialects.file_name(name)).suffix == suffix:
                return name
    return spoken[0]


def advice_for(
    study: Study, dialect: str | None, current: Path | None = None, *, measure: bool = True
) -> Recommendation:
    """The recommendation of a study, as a real engine left it where one was asked at its end. A
    dialect of the engine that did not win gets the best of the engine that it belongs to, and the
    loss is told. The dialect of the user's own file goes before the engine's usual one."""
    return decided(study, _advice_of_trials(study, dialect, current, measure=measure))


def _advice_of_trials(
    study: Study, dialect: str | None, current: Path | None, *, measure: bool
) -> Recommendation:
    asked = dialect or own_dialect(study, current)
    best = recommend(study, measure=False, dialect=asked)
    if dialect is None or dialects.engine_of(dialect) == best.engine:
        return recommend(study, dialect=asked) if measure else best
    engine = dialects.engine_of(dialect)
    other = recommend(study, measure=measure, engine=engine, dialect=dialect)
    why = f"; {best.verdict.text}" if best.verdict is not None else ""
    title = fmt.ENGINE_TITLES[engine]
    narrate(f"{dialect} is for {title}, so the best of {engine} is written{why}")
    return other


def report_beside(path: Path, study: str) -> Path:
    """Where the report of a written file goes: `report.md` beside it, or a name after the file's
    where that is taken by something else than the report of this study."""
    usual = path.with_name(REPORT)
    if path != usual and (not exists(usual) or is_report_of(study, usual)):
        return usual
    return path.with_name(f"{path.name}.{REPORT}")


def own_file(study: Study) -> Path | None:
    """The file that a stored study started from, if it is still there."""
    source = study.question.source
    return source if source is not None and exists(source) else None


def own_dialect(study: Study, current: Path | None) -> str | None:
    """The dialect of the user's own file about an engine of the study."""
    if current is None:
        return None
    found = imports.read(current)
    spoken = (found.dialect(engine) for engine in study.engines if engine in found.settings)
    return next((dialect for dialect in spoken if dialect), None)


def write_files(
    advice: Recommendation, dialect: str, path: Path, current: Path | None, *, force: bool
) -> list[Path]:
    """The product's file, which is the user's own one with the changes where that is of the
    product, and the report beside it."""
    report = report_beside(path, advice.study)
    if exists(report) and not force:
        raise InputError(report, None, "a file that exists already", "another folder, or --force")
    write_text(path, advice.write(dialect, current), force=force)
    if current is not None and is_file(current):
        # It may hold the passwords of the file that it was made from.
        path.chmod(stat.S_IMODE(current.stat().st_mode) | stat.S_IWUSR)
    verification = newest(advice.study, advice.profile, Store(advice.results))
    write_text(report, markdown(advice, verification), force=force)
    return [path, report]


def deliver(
    advice: Recommendation, target: Target | None, current: Path | None, *, as_json: bool
) -> None:
    """Print the advice, and write what was asked for."""
    written: list[Path] = []
    dialect = None
    if target is not None:
        dialect = target.dialect or usual_dialect(advice.engine, current, target.path)
        written = write_files(advice, dialect, target.path, current, force=target.force)
    if as_json:
        print_json({**document(advice), "dialect": dialect, "written": written})
        return
    print_advice(advice)
    if dialect is not None:
        narrate(f"wrote {written[0]} for {dialect}, and {written[1]}")


def document(advice: Recommendation) -> dict[str, Any]:
    """The advice for `--json`: numbers as medians; the trials stay in the results file."""
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
        "broken": list(advice.broken),
        "notes": list(advice.notes),
    }


def medians(column: NumberColumn) -> dict[str, float]:
    """The numbers of a column, one per metric."""
    return {name: spread.median for name, spread in column.metrics.items()}


def print_advice(advice: Recommendation) -> None:
    """The verdict, the numbers side by side, and the changes."""
    if loud := warning(advice):
        typer.echo(typer.style(f"warning: {loud}", bold=True))
    typer.echo(typer.style(about_engine(advice), bold=True))
    typer.echo(about_settings(advice))
    for sentence in advice.real:
        typer.echo(sentence)
    clock = fmt.CLOCK_TITLES[advice.clock]
    typer.echo(typer.style(f"{advice.goal}, {tried(advice)}, {clock}", dim=True))
    typer.echo()
    _print_columns(advice)
    _print_changes(advice)
    _print_memory(advice)
    for note in advice.notes:
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


def _print_memory(advice: Recommendation) -> None:
    typer.echo()
    head = [Column("memory"), Column("needs", right=True), Column("decided by")]
    print_table(head, [list(line) for line in advice.memory])
    if advice.crowding:
        typer.echo(typer.style(f"not safe: {advice.crowding}", bold=True))


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
