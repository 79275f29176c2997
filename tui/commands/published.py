"""`tunebench published`: a published experiment, replayed beside its table."""

from collections.abc import Sequence
from threading import Event
from typing import TYPE_CHECKING, Annotated, Self

import typer

from tui import completions
from tui.leaving import INTERRUPTED, on_interrupt
from tui.options import FORCE, JSON, OUTPUT

if TYPE_CHECKING:
    from pathlib import Path

    from advisor.published import Experiment, Progress, Replay


def published(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="The experiment to replay; without it and --all they are listed.",
            autocompletion=completions.experiments,
            show_default=False,
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Replay all experiments.")] = False,
    output: OUTPUT = None,
    force: FORCE = False,
    as_json: JSON = False,
) -> None:
    """Replay published experiments on simulated hardware and show both tables.

    The scorecard goes to a file with -o, else to stdout. Ctrl-C ends the replay at once and prints
    the scorecard of what was replayed by then.
    """
    from advisor import atomic
    from advisor.errors import InputError
    from tui.output import narrate

    if every and name is not None:
        raise InputError("--all", None, f"also the name {name!r}", "a name or --all, not both")
    if name is None and not every:
        if output is not None:
            raise InputError("-o", None, "no experiment", "-o with the name of one, or with --all")
        _list(as_json)
        return
    if output is not None:
        atomic.check_target(output, force)
    narrate("loading the published experiments")
    from advisor.published import experiment, experiments

    chosen = [experiment(name)] if name is not None else experiments()
    _replay(chosen, as_json, output, force)


def _list(as_json: bool) -> None:
    from advisor.published import experiments
    from tui.output import Column, print_json, print_table

    known = experiments()
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
    from tui.output import narrate, print_json

    core.load()
    interrupted = Event()
    with _Told() as told, on_interrupt(interrupted.set):
        replays = list(replay_all(chosen, progress=told, interrupted=interrupted.is_set))
    whole = {one.experiment.name for one in replays if one.is_whole}
    unfinished = [one.name for one in chosen if one.name not in whole]
    if output is not None and not unfinished:
        atomic.write_text(output, scorecard(replays), force)
        narrate(f"wrote {output}")
    if as_json:
        partial = {"unfinished": unfinished} if unfinished else {}
        print_json({"experiments": [one.document() for one in replays], **partial})
    elif replays and (output is None or unfinished):
        typer.echo(scorecard(replays, unfinished), nl=False)
    if unfinished:
        kept = f"; {output} was not written" if output is not None else ""
        narrate(f"interrupted; {len(whole)} of {len(chosen)} experiments were replayed{kept}")
        raise typer.Exit(INTERRUPTED)
    _fail_without_figures(replays)


class _Told:
    """How far the replay is: on a terminal one line that changes, elsewhere one for each
    experiment."""

    def __init__(self) -> None:
        from tui.narration import LiveLine

        self._line = LiveLine()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.clear()

    def __call__(self, at: "Progress") -> None:
        from tui.output import narrate

        if self._line.is_visible:
            self._line.show(f"{at.experiment}: {at.done} of {at.runs} runs")
        elif at.done == 0:
            narrate(f"{at.experiment}: {at.runs} runs")


def _fail_without_figures(replays: "Sequence[Replay]") -> None:
    from advisor.errors import WorkError

    if all(one.is_empty for one in replays):
        reason = next((note for one in replays for note in one.notes), "no run was made")
        raise WorkError(f"no run gave a figure: {reason}")
