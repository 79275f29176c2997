"""`tunebench validation`: how far our engines and the real ones agree."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tui.options import DIRECTORY, JSON, MINUTES, ROCKSDB, SERVER

if TYPE_CHECKING:
    from advisor.real import RealEngine
    from advisor.validation import Case, Progress, Rivalry, Row, Sides, Suite, Winner
    from tui.narration import LiveLine

FEW = 8
"""Wrong winners that are listed unasked."""


class Product(StrEnum):
    """What `--product` accepts."""

    rocksdb = "rocksdb"
    innodb = "innodb"
    myrocks = "myrocks"


def validation(
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            metavar="FILE",
            help="The table; the one that ships without it.",
            show_default=False,
        ),
    ] = None,
    fill: Annotated[
        bool,
        typer.Option(
            "--fill",
            help="First make the runs that the table lacks; hours. Goes on where it ended.",
        ),
    ] = False,
    predict: Annotated[
        bool,
        typer.Option(
            "--predict",
            help="First predict anew, with the engines of today, all that the table has real "
            "runs of; minutes.",
        ),
    ] = False,
    product: Annotated[
        Product,
        typer.Option("--product", help="The real engine that predictions are compared with."),
    ] = Product.rocksdb,
    rocksdb: ROCKSDB = None,
    server: SERVER = None,
    cases: Annotated[
        list[str] | None,
        typer.Option("--case", metavar="NAME", help="Only this workload; repeatable."),
    ] = None,
    configurations: Annotated[
        int | None,
        typer.Option("--configurations", min=1, help="Only so many settings."),
    ] = None,
    failures: Annotated[
        bool,
        typer.Option("--failures", help="List the wrong winners by all metrics, all of them."),
    ] = False,
    minutes: MINUTES = None,
    directory: DIRECTORY = None,
    as_json: JSON = False,
) -> None:
    """Compare predicted with real over many settings of a product.

    --fill and --predict are for this machine, which `tunebench doctor --calibrate` has to know.
    """
    from advisor.errors import InputError
    from advisor.validation import SUITES, agreement, read, rivalries, shipped, wrong_winners
    from advisor.validation import failures as wrong_cells
    from tui import problem
    from tui.output import print_json

    if fill and predict:
        raise InputError("--predict", None, "--fill", "one of the two")
    if (fill or predict) and file is None:
        option, what = ("--fill", "the table to fill") if fill else ("--predict", "its table")
        raise InputError(option, None, "no --file", what)
    if fill and file is not None:
        real = problem.real_engine(product, rocksdb, server, None, None)
        if real is not None:
            problem.told(real)
        _fill(file, SUITES[product], real, cases, configurations, minutes, directory)
    else:
        for option, given in (
            ("--rocksdb", rocksdb),
            ("--server", server),
            ("--minutes", minutes),
            ("--configurations", configurations),
            ("--directory", directory),
        ):
            if given is not None:
                raise InputError(option, None, str(given), "with --fill alone")
    if file is not None and not file.is_file():
        raise InputError("--file", None, f"{file}: no such file", "a table, or --fill to make it")
    if predict and file is not None:
        _predict(file, SUITES[product], cases)
    rows = shipped(SUITES[product].file) if file is None else read(file)
    if cases is not None:
        known = {row.case for row in rows}
        for name in cases:
            if name not in known:
                raise InputError("--case", None, repr(name), ", ".join(sorted(known)) or "no rows")
        rows = [row for row in rows if row.case in cases]
    beside = []
    if file is None and product is not Product.rocksdb:
        both = (shipped(SUITES[one].file) for one in (Product.myrocks, Product.innodb))
        beside = [one for one in rivalries(*both) if cases is None or one.case in cases]
    if as_json:
        print_json(
            {
                "products": beside,
                "winners": wrong_winners(rows),
                "failures": wrong_cells(rows),
                "agreement": agreement(rows),
            }
        )
    else:
        _print(rows, None if failures else FEW)
        _print_rivalries(beside)


def _fill(
    file: Path,
    suite: "Suite",
    real: "RealEngine | None",
    names: list[str] | None,
    most: int | None,
    minutes: float | None,
    directory: Path | None,
) -> None:
    from advisor.validation import fill
    from tui.narration import LiveLine

    chosen = _cases("--fill", suite, names)
    assert real is not None, "every product of a suite is a real engine"
    with LiveLine() as line:
        told = _Told(line)
        fill(
            file,
            suite,
            real,
            cases=chosen,
            configurations=suite.configurations()[:most],
            minutes=minutes,
            directory=directory,
            on_progress=told.progress,
            on_failure=told.failure,
        )


def _predict(file: Path, suite: "Suite", names: list[str] | None) -> None:
    from advisor.validation import renew
    from tui.narration import LiveLine

    chosen = _cases("--predict", suite, names)
    with LiveLine() as line:
        told = _Told(line)
        renew(file, suite, cases=chosen, on_progress=told.progress, on_failure=told.failure)


def _cases(option: str, suite: "Suite", names: list[str] | None) -> "list[Case]":
    """Those that are named, or all; refuses to predict for a machine that was not measured."""
    from advisor.errors import InputError
    from advisor.hardware import hardware
    from advisor.trial import THIS_MACHINE

    unknown = [name for name in names or () if name not in {one.name for one in suite.cases}]
    if unknown:
        accepted = ", ".join(case.name for case in suite.cases)
        raise InputError("--case", None, repr(unknown[0]), accepted)
    if unfit := hardware(THIS_MACHINE).unfit:
        raise InputError(option, None, unfit, "`tunebench doctor --calibrate` first")
    return [case for case in suite.cases if names is None or case.name in names]


@dataclass
class _Told:
    """The line of the running run, and a line for each that failed."""

    line: "LiveLine"

    def progress(self, one: "Progress") -> None:
        self.line.show(
            f"run {one.number} of {one.of}: {one.case}, {one.configuration}, {one.source}"
        )

    def failure(self, one: "Progress", why: str) -> None:
        from tui.output import narrate

        self.line.clear()
        narrate(f"{one.case}, {one.configuration}, {one.source}: {why}")


def _print(rows: "list[Row]", most_failures: int | None) -> None:
    from advisor.validation import agreement, failures, wrong_winners
    from tui import format as fmt
    from tui.output import Column, print_table

    if not rows:
        typer.echo("no runs yet: `tunebench validation --fill --file FILE` makes them")
        return
    products = sorted({row.product for row in rows if row.product})
    hosts = sorted({row.host for row in rows})
    several = len(hosts) > 1
    told = [f"{n}: {host}" for n, host in enumerate(hosts, 1)] if several else hosts
    typer.echo(typer.style(f"{', '.join(products)} on {'; '.join(told)}", bold=True))
    typer.echo()
    print_table(
        [
            *map(Column, ("workload", "by", "predicted best", "real best")),
            *([Column("machine", right=True)] if several else []),
            Column("it loses", right=True),
            Column("noise", right=True),
            Column("verdict"),
        ],
        [
            [
                one.case,
                fmt.label(one.metric),
                one.predicted.configuration,
                one.real.configuration,
                *([str(hosts.index(one.host) + 1)] if several else []),
                f"{100 * one.loss:.1f} %",
                f"{100 * one.noise:.1f} %",
                one.verdict,
            ]
            for one in wrong_winners(rows)
        ],
    )
    typer.echo()
    _print_failures(failures(rows), most_failures)
    typer.echo()
    print_table(
        [
            Column("workload"),
            Column("metric"),
            Column("settings", right=True),
            Column("Spearman", right=True),
            Column("predicted/real", right=True),
            Column("worst", right=True),
        ],
        [
            [
                one.case,
                fmt.label(one.metric),
                str(one.configurations),
                "-" if one.spearman is None else f"{one.spearman:.2f}",
                fmt.times(one.median_ratio),
                fmt.times(one.worst_ratio),
            ]
            for one in agreement(rows)
        ],
    )


def _print_rivalries(found: "list[Rivalry]") -> None:
    """MyRocks beside InnoDB on the same work with the same memory, where both ran."""
    from tui import format as fmt
    from tui.output import Column, print_table

    if not found:
        return
    typer.echo("\nMyRocks : InnoDB, by first settings; then over all pairs of settings")
    print_table(
        [
            Column("workload"),
            Column("by"),
            Column("real", right=True),
            Column("predicted", right=True),
            Column("pairs", right=True),
            Column("within 1.25x", right=True),
            Column("wrong winners", right=True),
        ],
        [
            [
                one.case,
                fmt.label(one.metric),
                fmt.times(one.first.real),
                fmt.times(one.first.predicted),
                str(len(one.ratios)),
                f"{one.near:.0%}",
                f"{one.wrong} of {one.told}",
            ]
            for one in found
        ],
    )


def _print_failures(found: "list[Winner]", most: int | None) -> None:
    """The cells whose winner is the wrong one, each with what was predicted and what came of it."""
    from tui import format as fmt
    from tui.output import Column, print_table

    if not found:
        typer.echo("no wrong winner by any metric")
        return
    shown = found[:most]

    def sides(metric: str, one: "Sides") -> list[str]:
        values = (fmt.value(metric, value) for value in (one.predicted, one.real))
        return [one.configuration, *values]

    left = "" if len(shown) == len(found) else f", the first {len(shown)}: --failures lists all"
    typer.echo(f"wrong winners by all metrics, {len(found)}{left}")
    print_table(
        [
            *map(Column, ("workload", "metric", "predicted best")),
            *(Column(side, right=True) for side in ("predicted", "real")),
            Column("real best"),
            *(Column(title, right=True) for title in ("predicted", "real", "it loses", "noise")),
        ],
        [
            [
                one.case,
                fmt.label(one.metric),
                *sides(one.metric, one.predicted),
                *sides(one.metric, one.real),
                f"{100 * one.loss:.1f} %",
                f"{100 * one.noise:.1f} %",
            ]
            for one in shown
        ],
    )
