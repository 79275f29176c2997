"""`tunebench published`: a published experiment, replayed beside its table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tui.options import FORCE, JSON, OUTPUT

if TYPE_CHECKING:
    from pathlib import Path

    from advisor.published import Experiment, Replay


def published(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="The experiment to replay; without it and --all they are listed.",
            show_default=False,
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Replay all experiments.")] = False,
    output: OUTPUT = None,
    force: FORCE = False,
    as_json: JSON = False,
) -> None:
    """Replay published experiments on simulated hardware and show both tables.

    The scorecard goes to a file with -o, else to stdout.
    """
    from advisor import atomic
    from advisor.errors import InputError
    from advisor.published import experiment, experiments

    if every and name is not None:
        raise InputError("--all", None, f"also the name {name!r}", "a name or --all, not both")
    if name is None and not every:
        if output is not None:
            raise InputError("-o", None, "no experiment", "-o with the name of one, or with --all")
        _list(experiments(), as_json)
        return
    chosen = [experiment(name)] if name is not None else experiments()
    if output is not None:
        atomic.check_target(output, force)
    _replay(chosen, as_json, output, force)


def _list(known: "Sequence[Experiment]", as_json: bool) -> None:
    from tui.output import Column, print_json, print_table

    if as_json:
        print_json([{"name": one.name, "text": one.text} for one in known])
        return
    columns = [Column("experiment"), Column("runs", right=True), Column("what it is")]
    print_table(columns, [[one.name, str(len(one.runs)), one.text] for one in known])


def _replay(
    chosen: "Sequence[Experiment]", as_json: bool, output: "Path | None", force: bool
) -> None:
    from advisor import atomic, core
    from advisor.published import replay_all, scorecard
    from tui.narration import LiveLine
    from tui.output import narrate, print_json

    core.load()
    with LiveLine() as line:
        replays = list(
            replay_all(
                chosen,
                progress=lambda at: line.show(f"{at.experiment}: {at.done} of {at.runs} runs"),
            )
        )
    if output is not None:
        atomic.write_text(output, scorecard(replays), force)
        narrate(f"wrote {output}")
    if as_json:
        print_json({"experiments": [one.document() for one in replays]})
    elif output is None:
        typer.echo(scorecard(replays), nl=False)
    _fail_without_figures(replays)


def _fail_without_figures(replays: "Sequence[Replay]") -> None:
    from advisor.errors import WorkError

    if all(row.simulated is None for one in replays for row in one.rows):
        reason = next((note for one in replays for note in one.notes), "no run was made")
        raise WorkError(f"no run gave a figure: {reason}")
