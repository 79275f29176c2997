"""The second half of the report: what was asked, how the numbers came about, and every trial."""

from __future__ import annotations

from advisor import knobs
from advisor.analytic import LEAST_TRIALS, FirstTier
from advisor.evidence import (
    LATENCIES,
    MOVED,
    Evidence,
    asked,
    bytes_of,
    histories,
    made,
    operation_of,
    operations,
    purposes,
    shape_of,
)
from advisor.goal import described
from advisor.published import shipped_summary
from advisor.recommend import (
    COMPARED_METRICS,
    ENDURANCE_TITLES,
    Recommendation,
    wear_cells,
    wording,
)
from advisor.report.markdown import (
    NOT_MEASURED,
    cell,
    counted,
    shown,
    sparkline,
    spread_cell,
    table,
)
from advisor.robust import cell as part_of_best
from advisor.robust import head as about_cells
from advisor.robust import sentences, worst_cell
from advisor.sizes import format_factor, format_size
from advisor.steadiness import NOT_YET
from advisor.sweep import Sweep, settings_of, standing
from advisor.sweep import sentences as swept_sentences
from advisor.trial import ANSWERING, Trial
from advisor.verify import Difference

_CLOCKS = {
    "measured": "measured: the wall clock of this machine, real files on its disk",
    "real": "real: the product itself on this machine",
    "simulated": "simulated: a virtual clock and a modelled device, no real one",
}


def question(found: Evidence) -> str:
    """What was asked."""
    rows = [(one.title, one.text) for one in asked(found)]
    return "## The question\n\n" + table(("", ""), rows)


def method(found: Evidence) -> str:
    """With what it was answered, and what it takes to get the same numbers again."""
    r = found.advice
    finished = sum(trial.finished for trial in r.trials)
    tried = len({trial.key for trial in r.trials if trial.finished})
    rows = [
        ("Clock", _CLOCKS[r.clock]),
        ("Trials", f"{finished} finished of {len(r.trials)}; {tried} different settings"),
        *((one.title, one.text) for one in made(found)),
        *_first_tier(r),
    ]
    scaled = "" if r.scale == 1 else "\n\nRatios carry over, sizes are multiplied back."
    return f"## How it was measured\n\n{table(('', ''), rows)}{scaled}"


def history(found: Evidence) -> str:
    """When the search found better settings than all before, for each engine and size of copy."""
    metric = found.advice.goal.metric
    rows, drawn = [], []
    for one in histories(found):
        copy = "that decides" if one.decides else "smaller"
        reached = [trial.metrics[metric] for trial in one.trials]
        drawn.append(f"    {f'{one.engine}, {copy}':<22}{sparkline(reached)}")
        rows += [
            (
                str(trial.number),
                one.engine,
                copy,
                wording.metric(metric, trial.metrics[metric]),
                trial.why,
            )
            for trial in one.best
        ]
    if not drawn:
        return ""
    best = table(("trial", "engine", "copy", f"best {metric} so far", "role"), rows)
    lines = "\n".join(drawn)
    return f"## History of the search\n\n{best}\n\n{metric} of the trials in turn:\n\n{lines}"


def importance(found: Evidence) -> str:
    """The share of each knob in good scores."""
    rows = [
        (f"`{knob}`", engine, wording.percent(share))
        for engine, shares in found.importance.items()
        for knob, share in shares.items()
    ]
    if not rows:
        return ""
    note = "Which knobs tell the better quarter of the trials from the others (PED-ANOVA)."
    return f"## Importance\n\n{note}\n\n{table(('Knob', 'Engine', 'Share'), rows)}"


def latency(found: Evidence) -> str:
    """Each operation of base and recommended."""
    rows = [
        (
            name,
            column.title,
            *(
                NOT_MEASURED
                if (value := operation_of(column, name, metric)) is None
                else wording.metric(metric, value)
                for metric in LATENCIES
            ),
        )
        for name in operations(found.compared)
        for column in found.compared
    ]
    return f"## Latency by operation\n\n{table(('', '', *LATENCIES), rows)}" if rows else ""


def written(found: Evidence) -> str:
    """Where the bytes of base and recommended went, as the scaled runs wrote them."""
    rows = [
        (
            name,
            column.title,
            *(
                NOT_MEASURED
                if (value := bytes_of(column, name, metric)) is None
                else format_size(round(value))
                for metric in MOVED
            ),
        )
        for name in purposes(found.compared)
        for column in found.compared
    ]
    if not rows:
        return ""
    why = "Of the scaled runs, as they were counted."
    return f"## Bytes by purpose\n\n{table(('', '', 'written', 'read'), rows)}\n\n{why}"


def shape(found: Evidence) -> str:
    """How the engine of the recommended settings looked from within over its last run."""
    rows = []
    for name, points in shape_of(found.final).items():
        values = [value for _, value in points]
        told = (values[0], min(values), max(values), values[-1])
        rows.append((f"`{name}`", *(_gauge(name, one) for one in told), sparkline(values)))
    if not rows:
        return ""
    head = ("", "at first", "lowest", "highest", "at last", "over the run")
    return f"## Within the engine over the run\n\n{table(head, rows)}"


def _gauge(name: str, value: float) -> str:
    return format_size(round(value)) if name.endswith("_bytes") else f"{100 * value:.0f}%"


def _first_tier(r: Recommendation) -> list[tuple[str, str]]:
    """How far the closed forms are off in the trials that they were asked after."""
    smallest = min((trial.scale for trial in r.trials), default=0.0)
    searched = [trial for trial in r.trials if trial.role not in ANSWERING]
    looks = [trial for trial in searched if trial.scale == smallest]
    rows = []
    for engine in dict.fromkeys(trial.engine for trial in looks):
        direct_io = r.profile.holds_page_cache_out(r.clock)
        tier = FirstTier.of(r.profile, engine, direct_io=direct_io)
        error = tier.error(looks) if tier is not None else None
        if error is None or error.trials < LEAST_TRIALS:
            continue
        said = (
            f"{r.goal.metric} of a trial from the others: off by {wording.percent(error.median)} "
            f"in the median, {wording.percent(error.worst)} at worst"
        )
        if not error.is_telling:
            said += ", hardly better than their mean"
        proposed = sum(trial.role == "analytic" and trial.engine == engine for trial in looks)
        rows.append((f"Closed forms, {engine}", f"{said}; {counted(proposed, 'proposal')} tried"))
    return rows


def verified(evidence: Evidence) -> str:
    """Predicted beside what the product itself did."""
    r, found = evidence.advice, evidence.verified
    if found is None:
        return ""
    base, *others = found.compared
    sides = [f"{one.contender.name}, {side}" for one in others for side in ("real", "predicted")]
    head = ("", f"{base.contender.name}, real", *sides)
    rows = []
    for metric in dict.fromkeys((*r.goal.metrics, *COMPARED_METRICS)):
        value = base.value(metric)
        cells = ["-" if value is None else f"{value:,.4g}"]
        for one in others:
            predicted = one.predicted_ratio(metric, base)
            cells.append(_with_interval(one.differences.get(metric)))
            cells.append("-" if predicted is None else f"{predicted:.2f}x")
        if value is not None:
            rows.append((f"{metric} ({described(metric).unit})", *cells))
    verdicts = "\n".join(
        f"- {cell(one.contender.name)}: {cell(found.verdict(one))}" for one in others
    )
    sizing = found.sizing
    how = (
        f"{format_size(sizing.data_bytes)} of data ({format_factor(sizing.scale.factor)} of the "
        f"profile's), {sizing.operations:,} operations of each run from settled to settled, "
        f"{counted(found.rounds, 'round')} that all finished, predicted for "
        f"{found.predicted_on}. Ratios are to {base.contender.name}, "
        "geometric means over runs in turns with the same keys, with intervals of 98.75% confidence"
    )
    said = "".join(f"{sentence}\n\n" for sentence in evidence.of_the_product)
    return (
        f"## On {cell(found.product)} itself\n\n{table(head, rows)}\n\n{said}{how}."
        + (
            ""
            if found.is_about(r.settings)
            else " They are of an earlier recommendation of this study."
        )
        + f"\n\nBy {r.goal.metric}:\n\n{verdicts}"
    )


def _with_interval(found: Difference | None) -> str:
    if found is None:
        return "-"
    interval = f" [{found.low:.2f} to {found.high:.2f}]" if found.pairs > 1 else ""
    return f"{found.ratio:.2f}x{interval}"


def robust(evidence: Evidence) -> str:
    """The candidates at what was asked and at its neighbours."""
    r, found = evidence.advice, evidence.robust
    if found is None:
        return ""
    titles = ("", *(point.name for point in found.points), "worst")
    places = range(len(found.points))
    rows = [
        (
            one.contender.name,
            *(part_of_best(found, one, at) for at in places),
            worst_cell(found, one),
        )
        for one in found.tried
    ]
    earlier = "" if found.is_about(r.settings) else " Of an earlier recommendation of this study."
    told = "\n".join(f"- {cell(sentence)}" for sentence in sentences(found))
    about = f"{about_cells(found)}.{earlier}"
    return f"## At its neighbours\n\n{about}\n\n{table(titles, rows)}\n\n{told}"


def wear(evidence: Evidence) -> str:
    """What the settings do to the drive."""
    found = evidence.wear
    if found is None:
        return ""
    head = "## Endurance of the drive\n\n"
    if not found.rows:
        return f"{head}Not told: {cell(found.why_not)}."
    titles = ("", "engine", *ENDURANCE_TITLES.values())
    rows = [(one.title, one.engine, *wear_cells(one)) for one in found.rows]
    return f"{head}{table(titles, rows)}\n\nMedians, {found.how}."


def swept(found: Sweep) -> str:
    """A stored sweep of the same question: what each engine reaches at each place, and which
    leads."""
    asked, metric = found.asked, found.goal.metric
    rows = []
    for place in asked.places:
        points = [found.at(place, engine) for engine in asked.engines]
        reached = [point.spread(metric) if point is not None else None for point in points]
        if not any(reached):
            continue
        rows.append(
            (
                asked.label(place),
                *(NOT_MEASURED if one is None else spread_cell(metric, one) for one in reached),
                standing(found, place),
            )
        )
    told = "\n".join(f"- {cell(sentence)}" for sentence in swept_sentences(found))
    steps = table((asked.axis.name, *asked.engines, "leads"), rows)
    about = f"Of the sweep `{cell(asked.name)}`: {metric}, {settings_of(found)}."
    return f"## Over {asked.over}\n\n{about}\n\n{steps}\n\n{told}"


def limits(r: Recommendation) -> str:
    """Where the numbers end."""
    notes = [
        *r.notes,
        "differences smaller than the noise are not differences; such changes went back",
        "a change stays where it was told from noise among as many comparisons as there were "
        "changes (Holm)",
        "a line marked `rule` was not measured by itself",
        "trials last seconds: what builds up over days, such as fragmentation, is not in them",
    ]
    if r.clock == "measured" and not r.profile.hardware.detect:
        notes.append(f"the trials ran on the host above, not on {r.profile.hardware.name}")
    if r.clock == "measured":
        notes.append(
            "scaled data may stay in the cache of the system, where full-size data would not"
        )
    return "## Limits\n\n" + "\n".join(f"- {note}" for note in notes)


def agreement(r: Recommendation) -> str:
    """How far the simulation agrees with what others measured; nothing for measured trials."""
    if r.clock == "measured":
        return ""
    return (
        "## How far the simulation can be trusted\n\n"
        "Published experiments, replayed by this version (`tunebench published` shows each figure):"
        f"\n\n{shipped_summary()}"
    )


def trials(r: Recommendation) -> str:
    """Every trial."""
    shown = list(dict.fromkeys((r.goal.metric, *COMPARED_METRICS)))
    head = ("#", "engine", "role", *shown, "changes against the defaults", "steady")
    rows = [
        (
            str(trial.number),
            trial.engine,
            trial.why,
            *(wording.metric(n, trial.metrics[n]) if n in trial.metrics else "" for n in shown),
            trial.error or _differences(trial),
            _steady(trial),
        )
        for trial in r.trials
    ]
    return f"## All trials\n\n{table(head, rows)}"


def _steady(trial: Trial) -> str:
    if trial.steady is None:
        return ""
    return "yes" if trial.steady else NOT_YET


def _differences(trial: Trial) -> str:
    default = knobs.defaults(trial.engine)
    return " ".join(
        f"{name}={shown(trial.engine, name, value)}"
        for name, value in trial.settings.items()
        if value != default.get(name)
    )
