"""One run on paper: its numbers, its operations, and where its bytes went."""

from collections.abc import Mapping

import typer

from advisor.steadiness import NOT_YET
from advisor.trial import Trial
from tui import format as fmt
from tui.output import Column, print_table


def print_trial(trial: Trial) -> None:
    """The report table of one run on stdout."""
    engine = trial.product or f"the {fmt.ENGINE_TITLES[trial.engine]} engine"
    head = f"{trial.workload} on {engine}, {fmt.clock_words(trial)}"
    typer.echo(typer.style(head, bold=True))
    typer.echo(fmt.scale(trial.scale, trial.clock))
    if trial.error:
        typer.echo(f"{trial.outcome}: {trial.error}")
    if trial.steady is not None:
        typer.echo("steady" if trial.steady else NOT_YET)
    typer.echo()
    print_table(
        [Column("metric"), Column("value", right=True)],
        [
            [fmt.label(name), fmt.value(name, number)]
            for name, number in sorted(trial.metrics.items(), key=_known_order)
        ],
    )
    if trial.by_operation:
        typer.echo()
        _print_latencies("operation", trial.by_operation)
    if trial.by_statement:
        typer.echo()
        _print_latencies("statement", trial.by_statement)
    if trial.bytes_by_purpose:
        typer.echo()
        _print_bytes(trial.bytes_by_purpose)
    for note in trial.notes:
        typer.echo(typer.style(f"note: {note}", dim=True))


def _known_order(item: tuple[str, float]) -> int:
    names = list(fmt.METRICS)
    return names.index(item[0]) if item[0] in fmt.METRICS else len(names)


def _print_latencies(what: str, rows: Mapping[str, Mapping[str, float]]) -> None:
    latencies = ("p50_us", "p95_us", "p99_us", "max_us")
    columns = [Column(what), Column("count", right=True)]
    columns += [Column(fmt.label(name), right=True) for name in latencies]
    print_table(
        columns,
        [
            [name, _whole(row.get("count"))]
            + [fmt.value(latency, row.get(latency)) for latency in latencies]
            for name, row in rows.items()
        ],
    )


def _print_bytes(purposes: Mapping[str, Mapping[str, float]]) -> None:
    print_table(
        [
            Column("purpose"),
            Column("written", right=True),
            Column("writes", right=True),
            Column("read", right=True),
            Column("reads", right=True),
            Column("syncs", right=True),
        ],
        [
            [
                name,
                fmt.value("disk_bytes", row.get("written_bytes")),
                _whole(row.get("writes")),
                fmt.value("disk_bytes", row.get("read_bytes")),
                _whole(row.get("reads")),
                _whole(row.get("syncs")),
            ]
            for name, row in purposes.items()
        ],
    )


def _whole(value: float | None) -> str:
    return fmt.NOT_MEASURED if value is None else f"{value:,.0f}"
