"""The second half of the page: how the numbers came about, and every one of them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from advisor import knobs
from advisor.evidence import (
    LATENCIES,
    MOVED,
    Evidence,
    Fact,
    asked,
    bytes_of,
    made,
    operation_of,
    operations,
    purposes,
    questions,
)
from advisor.goal import described
from advisor.html.answer import NOT_MEASURED
from advisor.html.element import (
    Markup,
    code,
    element,
    ids,
    joined,
    marked,
    number,
    row,
    said,
    section,
    table,
)
from advisor.knobs import Engine, Settings
from advisor.recommend import COMPARED_METRICS, Column, wording
from advisor.robust import cell, head, sentences, worst_cell
from advisor.sizes import format_factor, format_size
from advisor.steadiness import NOT_YET
from advisor.trial import Trial
from advisor.verify import Compared, Verification

MOST_TRIALS = 500
"""Rows of the table of trials: a page of more is slow to read, and to open."""


def verified(found: Evidence) -> Markup:
    """Predicted beside what the product itself did."""
    verification = found.verified
    if verification is None:
        return Markup()
    r = found.advice
    base, *others = verification.compared
    titles: list[str] = ["", joined(code(base.contender.name), ", real")]
    for one in others:
        titles += [joined(code(one.contender.name), f", {side}") for side in ("real", "predicted")]
    rows = []
    for metric in dict.fromkeys((*r.goal.metrics, *COMPARED_METRICS)):
        value = base.value(metric)
        if value is None:
            continue
        cells = [_of_view(verification, 0, metric, "real", value, wording.metric(metric, value))]
        for place, one in enumerate(others, 1):
            cells += _ratios(verification, place, one, metric)
        rows.append((joined(code(metric), f" {described(metric).unit}"), *cells))
    verdicts = [
        element("li", code(one.contender.name), ": ", said(verification.verdict(one)))
        for one in others
    ]
    earlier = "" if verification.is_about(r.settings) else "They are of an earlier recommendation."
    return section(
        "Predicted against real",
        element("p", "On ", code(verification.product), " itself; ratios to the base, with ",
                "intervals over runs in turns. ", earlier),
        *(element("p", said(sentence)) for sentence in found.of_the_product),
        table(titles, rows, numbers=True),
        element("p", "By ", code(r.goal.metric), ":"),
        element("ul", *verdicts),
    )  # fmt: skip


def _ratios(found: Verification, place: int, one: Compared, metric: str) -> list[Markup]:
    real, predicted = one.differences.get(metric), one.predicted_ratio(metric, found.base)
    cells = [Markup(NOT_MEASURED), Markup(NOT_MEASURED)]
    if real is not None:
        ratio = _of_view(found, place, metric, "real_ratio", real.ratio, f"{real.ratio:.2f}x")
        interval = f" [{real.low:.2f} to {real.high:.2f}]" if real.pairs > 1 else ""
        cells[0] = joined(ratio, said(interval) if interval else "")
    if predicted is not None:
        shown = f"{predicted:.2f}x"
        cells[1] = _of_view(found, place, metric, "predicted_ratio", predicted, shown)
    return cells


def _of_view(
    found: Verification, place: int, metric: str, column: str, value: float, shown: str
) -> Markup:
    key = f"{found.session} {place} {metric}"
    return number(shown, value, table="verified", key=key, name=column)


def robust(found: Evidence) -> Markup:
    """The candidates at what was asked and at its neighbours."""
    known, metric = found.robust, found.advice.goal.metric
    if known is None:
        return Markup()
    rows = []
    for one in known.tried:
        cells = [
            joined(said(cell(known, one, at)), _reached(one.runs[at], metric))
            for at in range(len(known.points))
        ]
        rows.append((said(one.contender.name), *cells, said(worst_cell(known, one))))
    titles = ("", *(said(point.name) for point in known.points), "worst")
    is_old = not known.is_about(found.advice.settings)
    earlier = "They are of an earlier recommendation." if is_old else ""
    return section(
        "At its neighbours",
        element("p", said(f"{head(known)}."), " ", earlier),
        table(titles, rows, numbers=True),
        element("ul", *(element("li", said(sentence)) for sentence in sentences(known))),
    )


def _reached(runs: Sequence[Trial], metric: str) -> Markup:
    """The median behind a cell; nothing where nothing ran."""
    known = [one for one in runs if one.finished and metric in one.metrics]
    if not known:
        return Markup()
    value = statistics.median(one.metrics[metric] for one in known)
    source = {"trial": ids(one.id for one in known), "name": metric, "as": "median"}
    return joined(" (", number(wording.metric(metric, value), value, **source), ")")


def latency(found: Evidence, drawn: Markup) -> Markup:
    """Each operation of base and recommended."""
    rows = []
    for name in operations(found.compared):
        for column in found.compared:
            cells = [_operation(column, name, metric) for metric in LATENCIES]
            rows.append((joined(code(name), f", {column.title}"), *cells))
    titles = ["", *(code(metric) for metric in LATENCIES)]
    return section("Latency by operation", drawn, _folded(table(titles, rows, numbers=True), rows))


def _operation(column: Column, operation: str, metric: str) -> Markup:
    value = operation_of(column, operation, metric)
    if value is None:
        return Markup(NOT_MEASURED)
    trials = [one for one in column.trials if metric in one.by_operation.get(operation, {})]
    source = {"table": "trial_operation", "trial": ids(one.id for one in trials)}
    source |= {"key": operation, "name": metric, "as": "median"}
    return number(wording.metric(metric, value), value, **source)


def written(found: Evidence, drawn: Markup) -> Markup:
    """Where the bytes of base and recommended went, as the scaled runs wrote them."""
    rows = []
    for name in purposes(found.compared):
        for column in found.compared:
            cells = [_moved(column, name, metric) for metric in MOVED]
            rows.append((joined(code(name), f", {column.title}"), *cells))
    shown = table(("", "written", "read"), rows, numbers=True)
    why = "Of the scaled runs, as they were counted."
    return section(
        "Bytes by purpose", drawn, element("p", why, class_="note"), _folded(shown, rows)
    ) if rows else Markup()  # fmt: skip


def _moved(column: Column, purpose: str, metric: str) -> Markup:
    value = bytes_of(column, purpose, metric)
    if value is None:
        return Markup(NOT_MEASURED)
    trials = [one for one in column.trials if metric in one.bytes_by_purpose.get(purpose, {})]
    source = {"table": "trial_bytes", "trial": ids(one.id for one in trials)}
    source |= {"key": purpose, "name": metric, "as": "median"}
    return number(format_size(round(value)), value, **source)


def importance(found: Evidence, drawn: Markup) -> Markup:
    """The share of each knob in good scores."""
    rows = [
        (
            joined(code(knob), f" ({engine})"),
            number(
                wording.percent(share), share, formula="importance", key=engine, name=knob
            ),
        )
        for engine, shares in found.importance.items()
        for knob, share in shares.items()
    ]  # fmt: skip
    note = "Which knobs tell the better quarter of the trials from the others (PED-ANOVA)."
    return section(
        "Importance",
        drawn,
        element("p", note, class_="note"),
        _folded(table(("Knob", "Share"), rows, numbers=True), rows),
    ) if rows else Markup()  # fmt: skip


def provenance(found: Evidence) -> Markup:
    """What it takes to get the same numbers again."""
    facts = (*asked(found), Fact("Clock", found.advice.clock), *made(found))
    folded = (
        element("details", element("summary", title), element("pre", code(text)))
        for title, text in questions(found)
    )
    rows = [(one.title, _fact(one)) for one in facts]
    return section("Provenance", table(("", ""), rows), *folded)


def _fact(one: Fact) -> Markup:
    return number(one.text, one.value, **one.source) if one.source else code(one.text)


def limits(found: Evidence) -> Markup:
    """Where the numbers end."""
    notes = [element("li", said(note)) for note in found.advice.notes]
    notes += [
        element("li", marked(note))
        for note in (
            "Differences smaller than the noise are none; such changes went back.",
            "A line marked `rule` was not measured.",
            "Trials last seconds: what builds up over days is not in them.",
            "How far the simulation agrees with published results: `tunebench published`.",
        )
    ]
    return section("Limits", element("ul", *notes))


def trials(found: Evidence) -> Markup:
    """Every trial, or the last ones where there are very many."""
    r = found.advice
    metrics = list(dict.fromkeys((r.goal.metric, *COMPARED_METRICS)))
    shown = r.trials[-MOST_TRIALS:]
    titles = ["", "engine", "role", "scale", *map(code, metrics), "changes to the defaults"]
    lines = [_trial(one, metrics) for one in shown]
    more = ""
    if len(shown) < len(r.trials):
        words = "The last of them; the file of results has all (`tunebench results`)."
        more = element("p", marked(words), class_="note")
    whole = joined(element("summary", "Every trial"), table([*titles, "steady"], lines))
    return section("All trials", more, element("details", whole))


def _trial(one: Trial, metrics: list[str]) -> Markup:
    cells: list[str] = [
        number(str(one.number), one.number, table="trial", name="number"),
        one.engine,
        one.role,
        number(format_factor(one.scale), one.scale, table="trial", name="scale"),
    ]
    for name in metrics:
        value = one.metrics.get(name)
        cells.append("" if value is None else number(wording.metric(name, value), value, name=name))
    steady = {None: "", True: "yes", False: NOT_YET}[one.steady]
    told = said(one.error) if one.error else changed(one.engine, one.settings)
    return row([*cells, told, steady], data_trial=one.id)


def changed(engine: Engine, settings: Settings) -> Markup:
    """What differs from the defaults, as names and values."""
    known, default = knobs.catalogue(engine), knobs.defaults(engine)
    return code(
        " ".join(
            f"{name}={known[name].show(settings[name])}"
            for name in known
            if name in settings and settings[name] != default[name]
        )
    )


def _folded(shown: Markup, rows: Sequence[object]) -> Markup:
    if not rows:
        return Markup()
    return element("details", element("summary", "The numbers"), shown)
