"""The first half of the page: the answer, and what speaks for each of its lines."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable

from advisor import dialects, knobs
from advisor.evidence import Evidence
from advisor.goal import FLASH_METRICS, described
from advisor.html.element import (
    Markup,
    code,
    element,
    ids,
    joined,
    number,
    said,
    section,
    table,
)
from advisor.knobs import Setting
from advisor.memory_need import needed_parts
from advisor.recommend import (
    COMPARED_METRICS,
    Column,
    about_engine,
    about_front,
    about_member,
    about_settings,
    tried,
    warning,
    wording,
)
from advisor.report import export_command
from advisor.sizes import format_size
from advisor.trial import Trial

NOT_MEASURED = "-"


def head(found: Evidence) -> Markup:
    """The answer in sentences and figures."""
    r = found.advice
    loud = warning(r)
    return joined(
        element("h1", "Tuning report: ", code(r.study)),
        element("p", said(f"Warning: {loud}."), class_="warning") if loud else "",
        element("p", element("strong", "Engine: "), said(f"{about_engine(r)}.")),
        element("p", element("strong", "Settings: "), said(f"{about_settings(r)}.")),
        _figures(found),
        element("p", said(f"{r.goal}; {tried(r)}, {r.clock}."), class_="note"),
    )


def _figures(found: Evidence) -> Markup:
    boxes = []
    for name in found.advice.goal.metrics:
        now = median(found.final, name)
        if not now:
            continue
        small: list[str] = [code(name)]
        if found.base is not None and (before := median(found.base, name)):
            small += [f" ({found.base.title}: ", before, ")"]
        boxes.append(element("div", element("b", now), element("small", *small)))
    return element("div", *boxes, class_="figures") if boxes else Markup()


def changes(found: Evidence, drawn: Markup) -> Markup:
    """The lines to change, what buys most first."""
    r = found.advice
    rows = [
        (
            code(one.knob),
            setting(found, one.knob, one.current, found.base),
            setting(found, one.knob, one.recommended, found.final),
            said(one.evidence),
        )
        for one in r.changes
    ]
    titles = ("Knob", r.basis.capitalize(), "Recommended", "What it buys")
    return section("What to change", table(titles, rows) if rows else "", drawn if rows else "")


def comparison(found: Evidence) -> Markup:
    """The columns of the advice side by side."""
    r = found.advice
    names = dict.fromkeys((*r.goal.metrics, *COMPARED_METRICS, *FLASH_METRICS))
    rows = [
        (joined(code(name), f" {described(name).unit}"), *(spread(one, name) for one in r.columns))
        for name in names
        if any(name in one.metrics for one in r.columns)
    ]
    titles = ["", *(joined(one.title, " ", _runs(one)) for one in r.columns)]
    return section(
        "Side by side",
        table(titles, rows, numbers=True),
        element("p", "Medians; in brackets the lowest and highest run.", class_="note"),
    )


def front(found: Evidence, drawn: Markup) -> Markup:
    """What may be chosen from, where there are several objectives."""
    r = found.advice
    if r.front is None:
        return Markup()
    objectives = r.front.goal.objectives
    rows = []
    for one in r.front.members:
        judged = one.candidate.judged
        of = Column("", one.engine, one.settings, {}, len(judged), judged)
        remark = about_member(r, one)
        numbers = (median(of, name) for name in objectives)
        rows.append((said(str(one.number)), one.engine, *numbers, said(str(len(judged))), remark))
    names = (joined(code(name), f" {described(name).unit}") for name in objectives)
    return section(
        "The front",
        element("p", said(f"{about_front(r)}.")),
        drawn,
        table(("Number", "Engine", *names, "Runs", ""), rows) if rows else "",
    )


def memory(found: Evidence) -> Markup:
    """What the recommended settings need, line by line."""
    r = found.advice
    parts = [one for one in needed_parts(r.profile, r.engine, r.settings) if one.bytes]
    rows = [
        (
            one.name,
            number(format_size(one.bytes), one.bytes, formula="memory", name=one.name),
            joined(*_listed(map(code, one.knobs))),
        )
        for one in parts
    ]
    total, budget = sum(one.bytes for one in parts), r.profile.memory_bytes
    of = number(format_size(budget), budget, formula="profile", name="memory_bytes")
    together = number(format_size(total), total, formula="memory", name="together")
    rows.append((Markup("<strong>together</strong>"), together, joined("of ", of)))
    return section(
        "Memory, line by line",
        table(("What", "Memory", "Decided by"), rows),
        element("p", said(f"Not safe: {r.crowding}."), class_="warning") if r.crowding else "",
    )


def dropped(found: Evidence) -> Markup:
    """What was tried and went back."""
    r = found.advice
    if not r.dropped:
        return Markup()
    rows = [
        (
            code(one.knob),
            setting(found, one.knob, one.tried, None),
            setting(found, one.knob, one.kept, None),
            said(one.reason),
        )
        for one in r.dropped
    ]
    return section("Tried and taken back", table(("Knob", "Tried", "Stays", "Why"), rows))


def apply(found: Evidence) -> Markup:
    """How to get the file of each product."""
    r = found.advice
    lines = "\n".join(export_command(r, one) for one in dialects.for_engine(r.engine))
    return section("How to apply", element("pre", code(lines)))


def median(column: Column, name: str) -> Markup:
    """The median of a metric over a column's runs; empty if it was not measured."""
    return _taken(column, name, "median", statistics.median)


def spread(column: Column, name: str) -> Markup:
    """Median, lowest and highest."""
    middle = median(column, name)
    if not middle:
        return Markup(NOT_MEASURED)
    if len(column.trials) < 2:
        return middle
    low, high = _taken(column, name, "low", min), _taken(column, name, "high", max)
    return joined(middle, " [", low, " to ", high, "]")


def _taken(column: Column, name: str, how: str, take: Callable[[list[float]], float]) -> Markup:
    measured = [one for one in column.trials if name in one.metrics]
    if not measured:
        return Markup()
    value = take([one.metrics[name] for one in measured])
    trials = ids(one.id for one in measured)
    source = {"trial": trials, "name": name, "as": how}
    return number(wording.metric(name, value), value, **source)


def setting(found: Evidence, knob: str, value: Setting, column: Column | None) -> Markup:
    """A value of a knob, with a trial that ran with it."""
    shown = knobs.catalogue(found.advice.engine)[knob].show(value)
    trial = _with(found, knob, value, column)
    if trial is None:
        return said(shown)
    told = json.dumps(value)
    return number(shown, told, table="trial", trial=trial.id, name="settings", key=knob)


def _with(found: Evidence, knob: str, value: Setting, column: Column | None) -> Trial | None:
    r = found.advice
    own = (*(column.trials if column is not None else ()), *r.trials)
    mine = (one for one in own if one.engine == r.engine and one.settings.get(knob) == value)
    return next(mine, None)


def _runs(column: Column) -> Markup:
    count = len(column.trials)
    if not count:
        return Markup()
    source = {"table": "trial", "trial": ids(one.id for one in column.trials)}
    told = number(str(count), count, name="number", **source, **{"as": "count"})
    return joined("(", told, " run)" if count == 1 else " runs)")


def _listed(parts: Iterable[Markup]) -> list[str]:
    shown: list[str] = []
    for part in parts:
        shown += [", ", part] if shown else [part]
    return shown
