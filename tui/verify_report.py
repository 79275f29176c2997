"""A verification on paper: each contender, predicted and real."""

from collections.abc import Sequence

import typer

from advisor.sizes import format_factor, format_size
from advisor.verify import Compared, Difference, Errors, Verification
from tui import format as fmt
from tui.output import Column, print_table

_SHOWN_ERRORS = 8


def print_verification(
    found: Verification, errors: Sequence[Errors], another_question: str = ""
) -> None:
    """The tables of a verification on stdout, with what `size_decides` says."""
    typer.echo(typer.style(head(found), bold=True))
    for line in how(found):
        typer.echo(line)
    if another_question:
        typer.echo(another_question)
    typer.echo()
    print_contenders(found)
    typer.echo()
    _print_metrics(found)
    if errors:
        typer.echo()
        _print_errors(errors, found.metrics)


def head(found: Verification) -> str:
    """What ran on what."""
    return f"study {found.study} on {found.product or 'a real engine that finished no run'}"


def how(found: Verification) -> tuple[str, str]:
    """The size of the runs, and what they are compared with."""
    sizing = found.sizing
    size = [
        f"{format_size(sizing.data_bytes)} of data, {format_size(sizing.memory_bytes)} of memory "
        f"({format_factor(sizing.scale.factor)} of the profile's)",
        f"{sizing.operations:,} operations a run, from settled to settled",
        "direct I/O" if sizing.direct_io else "through the page cache",
        *([f"in {sizing.disk}"] if sizing.disk else ()),
    ]
    rounds = [fmt.counted(found.rounds, "round"), *([found.ending] if found.ending else ())]
    base = found.base.contender.name
    ran = f"{', '.join(size)}; {', '.join(rounds)}"
    return ran, f"predicted for {found.predicted_on}; ratios are to {base}"


def print_contenders(found: Verification) -> None:
    """Every contender by the goal's metric, on stdout."""
    titles = (fmt.label(found.goal.metric), "real", "interval", "predicted")
    columns = [Column("settings"), *(Column(title, right=True) for title in titles)]
    rows = [contender(found, one) for one in found.compared]
    print_table([*columns, Column("verdict")], rows)


def contender(found: Verification, one: Compared) -> list[str]:
    """One contender by the goal's metric: name, value, real ratio, its interval, predicted ratio,
    verdict."""
    metric = found.goal.metric
    predicted = one.predicted_ratio(metric, found.base)
    difference = one.differences.get(metric)
    return [
        one.contender.name,
        fmt.value(metric, one.value(metric)),
        "" if difference is None else fmt.times(difference.ratio),
        "" if difference is None or difference.pairs < 2 else _interval(difference),
        "" if predicted is None or one is found.base else fmt.times(predicted),
        found.verdict(one),
    ]


def _interval(difference: Difference) -> str:
    return f"{difference.low:.2f} to {difference.high:.2f}"


def _print_metrics(found: Verification) -> None:
    """Every metric of every contender: real, and real and predicted as ratios to the base."""
    columns = [Column("metric")]
    for one in found.compared:
        columns.append(Column(one.contender.name, right=True))
        if one is not found.base:
            columns += [Column("real", right=True), Column("predicted", right=True)]
    rows = []
    for metric in found.metrics:
        row = [fmt.label(metric)]
        for one in found.compared:
            row.append(fmt.value(metric, one.value(metric)))
            if one is not found.base:
                difference = one.differences.get(metric)
                predicted = one.predicted_ratio(metric, found.base)
                row.append("" if difference is None else fmt.times(difference.ratio))
                row.append("" if predicted is None else fmt.times(predicted))
        rows.append(row)
    print_table(columns, rows)


def _print_errors(errors: Sequence[Errors], metrics: Sequence[str]) -> None:
    typer.echo("predicted over real, of all verifications so far, in either direction")
    known = [one for one in errors if one.metric in metrics][:_SHOWN_ERRORS]
    print_table(
        [Column("metric"), Column("usual", right=True), Column("worst", right=True), Column("of")],
        [
            [
                fmt.label(one.metric),
                fmt.times(one.median_factor),
                fmt.times(one.worst_factor),
                fmt.counted(one.comparisons, "comparison"),
            ]
            for one in known
        ],
    )
