"""A comparison on paper: what is compared, its numbers side by side, and the settings that
differ."""

from collections.abc import Sequence

import typer

from advisor.compare import Apart, Side, SideBySide
from advisor.knobs import Setting, catalogue
from advisor.sizes import format_size
from tui import format as fmt
from tui.output import Column, print_table
from tui.views import ComparedLine, ComparisonView, SideView


def print_comparison(found: SideBySide) -> None:
    """The head lines and tables of a comparison on stdout."""
    for side in found.sides:
        typer.echo(f"{typer.style(side.name, bold=True)}  {_what(side)}")
        typer.echo(f"  {_how(side)}")
    if found.rows:
        typer.echo()
        _print_metrics(found)
    for apart in found.apart:
        typer.echo()
        _print_settings(found, apart)
    if not found.apart:
        typer.echo()
        typer.echo("no two are of the same engine: their settings are not compared")
    for note in found.notes:
        typer.echo(typer.style(f"note: {note}", dim=True))


def document(found: SideBySide) -> dict[str, object]:
    """The comparison as one document of JSON."""
    return {
        "compared": [_plain(side) for side in found.sides],
        "not_compared": {
            side.name: why for side, why in zip(found.others, found.refusals, strict=True) if why
        },
        "metrics": [
            {
                "metric": row.metric,
                "values": row.values,
                "verdicts": [
                    None
                    if one is None
                    else {"outcome": one.outcome, "gain": one.gain, "noise": one.noise}
                    for one in row.verdicts
                ],
            }
            for row in found.rows
        ],
        "settings": [
            {
                "engine": apart.engine,
                "names": [found.sides[place].name for place in apart.places],
                "knobs": apart.knobs,
            }
            for apart in found.apart
        ],
        "notes": found.notes,
    }


def view(found: SideBySide) -> ComparisonView:
    """The comparison as the workbench shows it."""
    return ComparisonView(
        sides=tuple(SideView(side.name, _what(side), _how(side)) for side in found.sides),
        metrics=tuple(
            ComparedLine(
                fmt.label(row.metric),
                tuple(fmt.value(row.metric, value) for value in row.values),
                tuple("" if one is None else str(one) for one in row.verdicts),
            )
            for row in found.rows
        ),
        settings=tuple(
            ComparedLine(knob, _placed(found, apart, knob, values))
            for apart in found.apart
            for knob, values in apart.knobs.items()
        ),
        notes=found.notes,
    )


def _placed(
    found: SideBySide, apart: Apart, knob: str, values: Sequence[Setting | None]
) -> tuple[str, ...]:
    """A setting of some sides among all of them."""
    told = [""] * len(found.sides)
    for place, value in zip(apart.places, values, strict=True):
        told[place] = _shown(apart, knob, value)
    return tuple(told)


def _plain(side: Side) -> dict[str, object]:
    trial = side.trial
    return {
        "name": side.name,
        "kind": side.kind,
        "engine": side.engine,
        "outcome": trial.outcome,
        "error": trial.error,
        "clock": side.clock,
        "workload": trial.workload,
        "hardware": trial.hardware,
        "product": trial.product,
        "scale": trial.scale,
        "seconds": trial.seconds,
        "steady": trial.steady,
        "problem": side.problem,
        "runs": len(side.trials),
        "trials": [one.id for one in side.trials],
        "settings": side.settings,
        "metrics": {name: spread.median for name, spread in side.metrics.items()},
    }


def _what(side: Side) -> str:
    trial = side.trial
    engine = trial.product or f"the {fmt.ENGINE_TITLES[side.engine]} engine"
    what = "the settings that the study recommends" if side.kind == "study" else "a run"
    return f"{what}: {trial.workload} on {engine}, {fmt.clock_words(trial)}"


def _how(side: Side) -> str:
    trial, problem = side.trial, side.problem
    told = [fmt.scale(trial.scale, trial.clock)]
    if problem is None:
        told.append("its data and memory were not kept")
    else:
        sizes = f"{format_size(problem.data_bytes)} of data, {format_size(problem.memory_bytes)}"
        told.append(f"{sizes} of memory, {fmt.counted(problem.clients, 'client')}")
    told.append(f"{fmt.counted(len(side.trials), 'run')} of {trial.seconds:.3g} s")
    return "; ".join([*told, *([side.remark] if side.remark else [])])


def _print_metrics(found: SideBySide) -> None:
    """A side that gets no verdict has no column for them: a note says why."""
    names = _names(found)
    judged = [place for place, why in enumerate(found.refusals) if not why]
    columns = [Column("metric"), *(Column(name, right=True) for name in names)]
    columns += [Column(f"{names[place + 1]} against {names[0]}") for place in judged]
    print_table(
        columns,
        [
            [fmt.label(row.metric), *(fmt.value(row.metric, value) for value in row.values)]
            + [str(row.verdicts[place] or "") for place in judged]
            for row in found.rows
        ],
    )


def _print_settings(found: SideBySide, apart: Apart) -> None:
    names = [found.sides[place].name for place in apart.places]
    engine = fmt.ENGINE_TITLES[apart.engine]
    if not apart.knobs:
        typer.echo(f"the settings of the {engine} engine are the same in {' and '.join(names)}")
        return
    print_table(
        [Column(f"setting of the {engine}"), *(Column(name, right=True) for name in names)],
        [
            [knob, *(_shown(apart, knob, value) for value in values)]
            for knob, values in apart.knobs.items()
        ],
    )


def _shown(apart: Apart, knob: str, value: Setting | None) -> str:
    if value is None:
        return fmt.NOT_MEASURED
    known = catalogue(apart.engine).get(knob)
    return str(value) if known is None else known.show(value)


def _names(found: SideBySide) -> Sequence[str]:
    return [side.name for side in found.sides]
