"""The report of a recommendation in Markdown: what was asked, what was measured and how, what to
change and what each change buys, and where the numbers end."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from advisor import atomic, dialects, knobs
from advisor.analytic import LEAST_TRIALS, FirstTier
from advisor.goal import FLASH_METRICS, described
from advisor.knobs import Engine, Setting
from advisor.published import shipped_summary
from advisor.recommend import (
    COMPARED_METRICS,
    ENDURANCE_TITLES,
    Column,
    Endurance,
    Recommendation,
    about_engine,
    about_front,
    about_member,
    about_rebuilds,
    about_settings,
    tried,
    warning,
    wear_cells,
    wording,
)
from advisor.robust import Robustness, cell, sentences, worst_cell
from advisor.robust import head as about_cells
from advisor.sizes import format_factor, format_size
from advisor.steadiness import NOT_YET
from advisor.trial import ANSWERING, Trial
from advisor.verify import Difference, Verification

BARS = "▁▂▃▄▅▆▇█"
SPARK_WIDTH = 40

_CLOCKS = {
    "measured": "measured: the wall clock of this machine, real files on its disk",
    "real": "real: the product itself on this machine",
    "simulated": "simulated: a virtual clock and a modelled device, no real one",
}
_WHEN = {
    "dynamic": "Now, on a running server",
    "restart": "With a restart",
    "rebuild": "Complete only when the data has been rewritten",
}


def write(
    recommendation: Recommendation,
    path: Path | str,
    *,
    verified: Verification | None = None,
    robust: Robustness | None = None,
    wear: Endurance | None = None,
    force: bool = False,
) -> None:
    """Writes the report, with what a real engine and the neighbours said of it, and what it does to
    the drive. Raises `InputError` for an existing file without `force`, or a path that cannot be
    written."""
    atomic.write_text(path, markdown(recommendation, verified, robust, wear), force)


def markdown(
    recommendation: Recommendation,
    verified: Verification | None = None,
    robust: Robustness | None = None,
    wear: Endurance | None = None,
) -> str:
    """The report as text."""
    sections = (
        _answer(recommendation),
        _question(recommendation),
        _method(recommendation),
        _comparison(recommendation),
        _front(recommendation),
        _verified(recommendation, verified),
        _robust(recommendation, robust),
        _wear(wear),
        _changes(recommendation),
        _memory(recommendation),
        _dropped(recommendation),
        _rebuilds(recommendation),
        _apply(recommendation),
        _limits(recommendation),
        _agreement(recommendation),
        _trials(recommendation),
    )
    return (
        "\n\n".join([_title(recommendation.study), *(section for section in sections if section)])
        + "\n"
    )


def is_report_of(study: str, path: Path) -> bool:
    """Whether a file is a report of the study of this name."""
    return begins_with(path, _title(study))


def begins_with(path: Path, line: str) -> bool:
    """Whether this is the first line of a file."""
    line += "\n"
    try:
        if not path.is_file():
            return False
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline(len(line)) == line
    except OSError:
        return False


def sparkline(values: Sequence[float], width: int = SPARK_WIDTH) -> str:
    """Values as bars from 0 to their maximum, averaged down to `width` bars; empty for no
    values."""
    if not values:
        return ""
    count = min(width, len(values))
    edges = [i * len(values) // count for i in range(count + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    top = max(means)
    if top <= 0:
        return BARS[0] * count
    return "".join(BARS[min(int(mean / top * len(BARS)), len(BARS) - 1)] for mean in means)


def _title(study: str) -> str:
    return f"# Tuning report: {_cell(study)}"


def _answer(r: Recommendation) -> str:
    loud = warning(r)
    lines = [f"**Warning:** {loud}."] if loud else []
    lines.append(f"**Engine:** {about_engine(r)}.")
    lines.append(f"**Settings:** {about_settings(r)}.")
    lines.append(f"**Tried:** {tried(r)}.")
    return "\n\n".join(lines)


def _question(r: Recommendation) -> str:
    profile, workload, machine = r.profile, r.profile.workload, r.profile.hardware
    rows = [
        ("Profile", profile.name),
        ("Workload", f"{workload.kind}, {profile.clients} clients"),
        (
            "Data",
            f"{format_size(profile.data_bytes)}, {profile.units:,} {workload.info.sized_by}",
        ),
        ("Memory", format_size(profile.memory_bytes)),
        ("Goal", str(profile.goal)),
        *([("Judged by", str(r.goal))] if r.front is not None else []),
        (
            "Machine",
            f"{machine.name}: {machine.cpu_cores} cores, {format_size(machine.memory_bytes)}",
        ),
    ]
    return "## The question\n\n" + _table(("", ""), rows)


def _method(r: Recommendation) -> str:
    finished = sum(trial.finished for trial in r.trials)
    tried = len({trial.key for trial in r.trials if trial.finished})
    basis = "assumed: nothing was repeated" if r.noise.degrees == 0 else "from repeated runs"
    scale = "full size" if r.scale == 1 else f"{format_factor(r.scale)} of the full size"
    hosts = sorted({trial.host for trial in r.trials if trial.host})
    versions = sorted({trial.core_version for trial in r.trials if trial.core_version})
    rows = [
        ("Clock", _CLOCKS[r.clock]),
        ("Scale", f"{scale}; ratios carry over, sizes are multiplied back"),
        ("Trials", f"{finished} finished of {len(r.trials)}; {tried} different settings"),
        (
            "Noise of one run",
            f"±{wording.percent(r.noise.relative_sd)} (one standard deviation, {basis})",
        ),
        *_first_tier(r),
        ("Host", ", ".join(hosts) or "unknown"),
        ("Core", ", ".join(versions) or "unknown"),
    ]
    return "## How it was measured\n\n" + _table(("", ""), rows)


def _first_tier(r: Recommendation) -> list[tuple[str, str]]:
    """How far the closed forms are off in the trials that they were asked after."""
    smallest = min((trial.scale for trial in r.trials), default=0.0)
    searched = [trial for trial in r.trials if trial.role not in ANSWERING]
    looks = [trial for trial in searched if trial.scale == smallest]
    rows = []
    for engine in dict.fromkeys(trial.engine for trial in looks):
        tier = FirstTier.of(r.profile, engine)
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
        rows.append((f"Closed forms, {engine}", f"{said}; {_counted(proposed, 'proposal')} tried"))
    return rows


def _comparison(r: Recommendation) -> str:
    head = ("", *(f"{column.title} ({_counted(column.runs, 'run')})" for column in r.columns))
    rows = [
        (f"{name} ({described(name).unit})", *(_value(column, name) for column in r.columns))
        for name in dict.fromkeys((*r.goal.metrics, *COMPARED_METRICS, *FLASH_METRICS))
        if any(name in column.metrics for column in r.columns)
    ]
    sparks = [(column.title, _spark(r.trials, column)) for column in r.columns]
    drawn = "\n".join(f"    {title:<12}{spark}" for title, spark in sparks if spark)
    text = f"## Recommended beside the others\n\n{_table(head, rows)}"
    text += "\n\nMedians; in brackets the lowest and highest run."
    return (
        f"{text}\n\nOperations per second over the last run of each:\n\n{drawn}" if drawn else text
    )


def _front(r: Recommendation) -> str:
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
        f"{text}\n\n{_table(('number', 'engine', *names, 'runs', ''), rows)}\n\n"
        f"Medians. Noise of one run (one standard deviation): {noise}.\n\n"
        f"`{command}` writes the file of a member by its number."
    )


def _verified(r: Recommendation, found: Verification | None) -> str:
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
        f"- {_cell(one.contender.name)}: {_cell(found.verdict(one))}" for one in others
    )
    sizing = found.sizing
    how = (
        f"{format_size(sizing.data_bytes)} of data ({format_factor(sizing.scale.factor)} of the "
        f"profile's), {sizing.operations:,} operations of each run from settled to settled, "
        f"{_counted(found.rounds, 'round')} that all finished, predicted for "
        f"{found.predicted_on}. Ratios are to {base.contender.name}, "
        "geometric means over runs in turns with the same keys, with intervals of 98.75% confidence"
    )
    said = "".join(f"{sentence}\n\n" for sentence in r.real)
    return (
        f"## On {_cell(found.product)} itself\n\n{_table(head, rows)}\n\n{said}{how}."
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


def _robust(r: Recommendation, found: Robustness | None) -> str:
    if found is None:
        return ""
    titles = ("", *(point.name for point in found.points), "worst")
    places = range(len(found.points))
    rows = [
        (one.contender.name, *(cell(found, one, at) for at in places), worst_cell(found, one))
        for one in found.tried
    ]
    earlier = "" if found.is_about(r.settings) else " Of an earlier recommendation of this study."
    told = "\n".join(f"- {_cell(sentence)}" for sentence in sentences(found))
    about = f"{about_cells(found)}.{earlier}"
    return f"## At its neighbours\n\n{about}\n\n{_table(titles, rows)}\n\n{told}"


def _wear(found: Endurance | None) -> str:
    if found is None:
        return ""
    head = "## Endurance of the drive\n\n"
    if not found.rows:
        return f"{head}Not told: {_cell(found.why_not)}."
    titles = ("", "engine", *ENDURANCE_TITLES.values())
    rows = [(one.title, one.engine, *wear_cells(one)) for one in found.rows]
    return f"{head}{_table(titles, rows)}\n\nMedians, {found.how}."


def _changes(r: Recommendation) -> str:
    if not r.changes:
        return ""
    rows = [
        (
            f"`{c.knob}`",
            _shown(r.engine, c.knob, c.current),
            _shown(r.engine, c.knob, c.recommended),
            c.evidence,
        )
        for c in r.changes
    ]
    head = ("Knob", r.basis.capitalize(), "Recommended", "What it buys")
    return f"## Changes\n\n{_table(head, rows)}"


def _memory(r: Recommendation) -> str:
    table = _table(("What", "Memory", "Decided by"), r.memory)
    unsafe = f"\n\n**Not safe:** {r.crowding}." if r.crowding else ""
    return f"## Memory of the recommended settings\n\n{table}{unsafe}"


def _dropped(r: Recommendation) -> str:
    if not r.dropped:
        return ""
    rows = [
        (
            f"`{d.knob}`",
            _shown(r.engine, d.knob, d.tried),
            _shown(r.engine, d.knob, d.kept),
            d.reason,
        )
        for d in r.dropped
    ]
    return f"## Tried and taken back\n\n{_table(('Knob', 'Tried', 'Stays', 'Why'), rows)}"


def _rebuilds(r: Recommendation) -> str:
    if not r.rebuilds:
        return ""
    told = "\n".join(f"- {_cell(sentence)}" for sentence in about_rebuilds(r))
    return (
        "## What a rebuild would buy\n\nThese stay as they are, since the data would have to be "
        f"loaded again; `--rebuild` lets the search change them.\n\n{told}"
    )


def _apply(r: Recommendation) -> str:
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


def _limits(r: Recommendation) -> str:
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


def _agreement(r: Recommendation) -> str:
    """How far the simulation agrees with what others measured; nothing for measured trials."""
    if r.clock == "measured":
        return ""
    return (
        "## How far the simulation can be trusted\n\n"
        "Published experiments, replayed by this version (`tunebench published` shows each figure):"
        f"\n\n{shipped_summary()}"
    )


def _trials(r: Recommendation) -> str:
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
    return f"## All trials\n\n{_table(head, rows)}"


def _steady(trial: Trial) -> str:
    if trial.steady is None:
        return ""
    return "yes" if trial.steady else NOT_YET


def _differences(trial: Trial) -> str:
    default = knobs.defaults(trial.engine)
    return " ".join(
        f"{name}={_shown(trial.engine, name, value)}"
        for name, value in trial.settings.items()
        if value != default.get(name)
    )


def _value(column: Column, name: str) -> str:
    spread = column.metrics.get(name)
    if spread is None:
        return ""
    median = wording.metric(name, spread.median)
    if spread.repetitions == 1:
        return median
    return f"{median} [{wording.metric(name, spread.low)} to {wording.metric(name, spread.high)}]"


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


def _shown(engine: Engine, name: str, value: Setting) -> str:
    return knobs.catalogue(engine)[name].show(value)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
