"""Published experiments as the workbench sees them: the list, one beside its tables, and its
replay."""

from __future__ import annotations

from threading import Event

from advisor import core
from advisor.core import Cancelled
from advisor.published import (
    NO_FIGURES,
    Progress,
    Replay,
    Row,
    Verdict,
    experiment,
    experiments,
    replay_all,
    unreplayed,
)
from advisor.published.scorecard import ANSWERS, shrunk
from tui import format as fmt
from tui.views import ClaimView, ExperimentRow, FigureView, PublishedView, ReplayWatcher

NOT_YET = "not yet"


def rows() -> list[ExperimentRow]:
    """The experiments in the order in which they are replayed."""
    return [ExperimentRow(one.name, len(one.runs), one.text) for one in experiments()]


def shown(name: str) -> PublishedView:
    """An experiment before its first run."""
    return view(unreplayed(experiment(name)), is_over=False)


def run(name: str, watcher: ReplayWatcher) -> PublishedView:
    """Replay it in the calling thread. Raises `Cancelled` if it was ended before any run gave a
    figure, and what the core's loading raises."""
    ended = Event()
    watcher.attach(ended.set, ended.set)
    core.load()

    def count(at: Progress) -> None:
        watcher.runs(at.done, at.runs)

    found = list(
        replay_all(
            [experiment(name)],
            progress=count,
            filling=lambda replay: watcher.moved(view(replay, is_over=False)),
            interrupted=ended.is_set,
        )
    )
    if not found:
        raise Cancelled("the replay was ended before a run gave a figure")
    return view(found[0], is_over=found[0].is_whole)


def view(replay: Replay, *, is_over: bool) -> PublishedView:
    """A replay; until it `is_over`, what has no answer may still get one."""
    one = replay.experiment
    told = (f"{one.hardware}, shrunk to {shrunk(replay.factor)} of the data", *one.sources)
    ordered = sorted(replay.rows, key=lambda row: row.published is None)
    return PublishedView(
        one.name,
        "; ".join(told),
        tuple(map(_figure, ordered)),
        tuple(_claim(verdict, is_over) for verdict in replay.claims),
        (*replay.notes, *one.caveats),
    )


def _figure(row: Row) -> FigureView:
    return FigureView(
        row.metric,
        "" if row.published is None else str(row.published),
        "" if row.simulated is None else fmt.count(row.simulated),
        "" if row.ratio is None else fmt.times(row.ratio),
    )


def _claim(verdict: Verdict, is_over: bool) -> ClaimView:
    may_come = not is_over and verdict.holds is None and verdict.why == NO_FIGURES
    answer = NOT_YET if may_come else ANSWERS[verdict.holds]
    why = "" if may_come else verdict.why
    return ClaimView(verdict.claim.id, answer, verdict.claim.text, why)
