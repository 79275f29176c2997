"""Advice as the workbench sees it: what a study found, and its file in any format of either
engine."""

from __future__ import annotations

from pathlib import Path

from advisor import dialects
from advisor.files import expanded
from advisor.handover import advice_for, usual_dialect, write_files
from advisor.knobs import ENGINES, catalogue
from advisor.recommend import (
    ENDURANCE_TITLES,
    Endurance,
    Recommendation,
    about_engine,
    about_front,
    about_member,
    about_other,
    about_rebuilds,
    about_settings,
    endurance,
    tried,
    warning,
)
from advisor.robust import Robustness, Tried, cell, sentences, worst_cell
from advisor.robust import newest as newest_robustness
from advisor.search import Study
from advisor.store import Store
from advisor.verify import newest as newest_verification
from advisor.verify import size_decides
from tui import format as fmt
from tui.delivery import medians
from tui.verify_report import contender, how
from tui.views import (
    Change,
    ContenderView,
    DialectView,
    NumberColumn,
    Outcome,
    RobustView,
    VerificationView,
)


def outcome_of(advice: Recommendation, current: str, study: Study) -> Outcome:
    """The recommendation of a study as the screens show it; `current` names the user's own file, if
    any."""
    store = Store(advice.results)
    wear = endurance(advice, store)
    memory = [
        f"memory: {line.name} {line.size} {line.decided_by}".strip() for line in advice.memory
    ]
    unsafe = [f"not safe: {advice.crowding}"] if advice.crowding else []
    return Outcome(
        study=advice.study,
        engine=advice.engine,
        verdict="\n".join((about_engine(advice), about_settings(advice))),
        warning=warning(advice),
        goal=str(advice.goal),
        clock=advice.clock,
        trials=len(advice.trials),
        tried=tried(advice),
        metrics=advice.goal.metrics,
        columns=tuple(_columns(advice, wear)),
        changes=tuple(_changes(advice)),
        notes=(
            *unsafe,
            *_front(advice),
            *advice.real,
            *about_rebuilds(advice),
            *([f"endurance {wear.how}"] if wear.rows else []),
            *memory,
            *advice.notes,
        ),
        verified=_verified(advice, store),
        importance=tuple(study.importance(advice.engine).items()),
        robust=_robust(advice, store),
        less_is_better=advice.goal.direction == "minimize",
        details=(advice, expanded(current) if current else None),
    )


def dialects_of(outcome: Outcome) -> list[DialectView]:
    """The formats of the recommended engine, the one of the user's own file first, then those of
    the other engine where the study looked at it."""
    advice, current = _advice_of(outcome)
    usual = usual_dialect(advice, current, None)
    own = sorted(dialects.for_engine(advice.engine), key=lambda name: name != usual)
    found = [DialectView(name, dialects.title(name), dialects.file_name(name)) for name in own]
    fared = about_other(advice)
    for engine in ENGINES if fared else ():
        if engine != advice.engine:
            remark = f"{engine} {fared}"
            found += [
                DialectView(name, dialects.title(name), dialects.file_name(name), remark)
                for name in dialects.for_engine(engine)
            ]
    return found


def preview(outcome: Outcome, dialect: str, store: Store) -> str:
    """The text of the file as it would be written."""
    advice, current = _advice_in(outcome, dialect, store)
    return advice.write(dialect, current)


def export(outcome: Outcome, dialect: str, path: Path, store: Store, *, force: bool) -> str:
    """Write the file and its reports; answers what was written."""
    advice, current = _advice_in(outcome, dialect, store)
    written = write_files(advice, dialect, path, current, force=force)
    return " and ".join(str(file) for file in written)


def _advice_of(outcome: Outcome) -> tuple[Recommendation, Path | None]:
    advice, current = outcome.details
    return advice, current


def _advice_in(outcome: Outcome, dialect: str, store: Store) -> tuple[Recommendation, Path | None]:
    """The advice that a format can carry: that of the outcome, or the best of the other engine."""
    advice, current = _advice_of(outcome)
    if dialects.engine_of(dialect) == advice.engine:
        return advice, current
    study = Study.load(advice.study, store)
    return advice_for(study, dialect, current, measure=False), current


def _columns(advice: Recommendation, wear: Endurance) -> list[NumberColumn]:
    """What is compared, with what it does to the drive where that is known."""
    worn = {row.title: row.figures for row in wear.rows if row.engine == advice.engine}
    names = [name for name in ENDURANCE_TITLES if name in fmt.WEAR]
    return [
        NumberColumn(
            column.title,
            medians(column) | {name: worn[column.title][name] for name in names}
            if column.title in worn
            else medians(column),
        )
        for column in advice.columns
    ]


def _changes(advice: Recommendation) -> list[Change]:
    knobs = catalogue(advice.engine)
    return [
        Change(
            change.knob,
            knobs[change.knob].show(change.current),
            knobs[change.knob].show(change.recommended),
            change.evidence.removeprefix(f"{advice.clock}: "),
            change.alone,
            change.company,
        )
        for change in advice.changes
    ]


def _robust(advice: Recommendation, store: Store) -> RobustView | None:
    found = newest_robustness(advice.study, advice.profile, store)
    if found is None:
        return None
    told = sentences(found)
    if not found.is_about(advice.settings):
        told.insert(0, "Of an earlier recommendation of this study.")
    shown = dict.fromkeys((found.recommended, found.choice))
    return RobustView(
        found.choice.contender.name,
        (*(point.name for point in found.points), "worst"),
        tuple((one.contender.name, _parts(found, one)) for one in shown),
        tuple(told),
    )


def _parts(found: Robustness, one: Tried) -> tuple[str, ...]:
    """What a candidate has of the best at each point, and where it is worst."""
    return *(cell(found, one, at) for at in range(len(found.points))), worst_cell(found, one)


def _front(advice: Recommendation) -> list[str]:
    """The front, a line for each member."""
    front = advice.front
    if front is None:
        return []
    lines = []
    for one in front.members:
        numbers = (
            f"{fmt.value(name, one.metrics[name])} {fmt.label(name)}"
            for name in front.goal.objectives
        )
        remark = about_member(advice, one)
        told = f"front {one.number}: {', '.join(numbers)}, {fmt.ENGINE_TITLES[one.engine]}"
        lines.append(f"{told} ({remark})" if remark else told)
    return [about_front(advice), *lines]


def _verified(advice: Recommendation, store: Store) -> VerificationView | None:
    found = newest_verification(advice.study, advice.profile, store)
    if found is None:
        return None
    rows = [contender(found, one) for one in found.compared]
    told = "; ".join(how(found))
    if not found.is_about(advice.settings):
        told += "; of an earlier recommendation of this study"
    if another_question := size_decides(found, advice):
        told += f"; {another_question}"
    return VerificationView(
        found.product,
        found.goal.metric,
        told,
        tuple(
            ContenderView(name, value, f"{real} ({interval})" if interval else real, *rest)
            for name, value, real, interval, *rest in rows
        ),
    )
