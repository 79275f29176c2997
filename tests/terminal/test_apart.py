"""Studies and sweeps of the workbench in a process of their own, on the real core."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from advisor.core import Cancelled
from advisor.errors import WorkError
from advisor.store import Store
from tui import apart
from tui.apart import ApartSession
from tui.session import LibrarySession
from tui.views import StudyForm, SweepForm, SweepView, SweepWatcher, TrialView, Watcher

FORM = StudyForm(
    "linkbench", data="24MiB", memory="160MiB", trials="4", seconds="0.1", engine="btree", cold=True
)


class Seen:
    """What a study told, and a way to act on it."""

    def __init__(self, act: Callable[["Seen"], None] = lambda seen: None) -> None:
        self.told: list[tuple[str, Any]] = []
        self.trials: list[TrialView] = []
        self.act = act

    def watcher(self) -> Watcher:
        return Watcher(self.attach, self.started, self.interval, self.finished)

    def attach(self, stop: Callable[[], None], cancel: Callable[[], None]) -> None:
        self.stop, self.cancel = stop, cancel

    def started(self, number: int, of: int | None, engine: str) -> None:
        self.told.append(("started", (number, of, engine)))
        self.act(self)

    def interval(self, interval: Any) -> None:
        self.told.append(("interval", dict(interval)))

    def finished(self, trial: TrialView) -> None:
        self.told.append(("finished", trial.number))
        self.trials.append(trial)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that were started."""
    found: list[subprocess.Popen[bytes]] = []

    class Recorded(subprocess.Popen[bytes]):
        def __init__(self, *asked: Any, **how: Any) -> None:
            super().__init__(*asked, **how)
            found.append(self)

    monkeypatch.setattr(apart.subprocess, "Popen", Recorded)
    return found


def test_a_study_apart_tells_and_answers_what_it_does_here(
    tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    here, there = Seen(), Seen()
    own, other = LibrarySession(tmp_path / "here.duckdb"), ApartSession(tmp_path / "there.duckdb")
    mine = own.tune(own.plan(FORM), here.watcher())
    found = other.tune(other.plan(FORM), there.watcher())
    (process,) = started
    assert process.returncode is not None, "it has ended"
    # Of trials side by side, which the other process makes, one alone is told as it goes.
    ends = [[one for one in seen.told if one[0] != "interval"] for seen in (here, there)]
    assert (here.trials, ends[0]) == (there.trials, ends[1])
    assert any(kind == "interval" for kind, _ in there.told)
    assert (found.columns, found.changes, found.tried) == (mine.columns, mine.changes, mine.tried)
    dialect = other.dialects(found)[0].name
    assert other.preview(found, dialect) == own.preview(mine, dialect)


@pytest.mark.parametrize("wish", ["stop", "cancel"])
def test_wishes_reach_a_study_apart(wish: str, own_results: Path) -> None:
    session, seen = ApartSession(), Seen(lambda seen: getattr(seen, wish)())
    if wish == "cancel":
        with pytest.raises(Cancelled):
            session.tune(session.plan(FORM), seen.watcher())
        assert seen.trials == []
    else:
        # A wish takes its time to the other process: a few trials may end until then, never all.
        session.tune(session.plan(replace(FORM, trials="400")), seen.watcher())
        assert 1 <= len(seen.trials) < 400
    (study,) = session.studies()
    assert study.trials == len(seen.trials)


@pytest.mark.parametrize(("clock", "niceness"), [("simulated", apart.NICENESS), ("measured", 0)])
def test_what_is_simulated_lets_a_screen_go_first(
    clock: str, niceness: int, started: list[subprocess.Popen[bytes]]
) -> None:
    nice: list[int] = []

    def look(seen: Seen) -> None:
        nice.append(os.getpriority(os.PRIO_PROCESS, started[0].pid))
        seen.cancel()

    session, seen, own = ApartSession(), Seen(look), os.getpriority(os.PRIO_PROCESS, 0)
    form = FORM if clock == "simulated" else replace(FORM, profile="fillrandom", engine="lsm")
    plan = session.plan(form)
    assert plan.clock == clock
    with pytest.raises(Cancelled):
        session.tune(plan, seen.watcher())
    assert nice == [min(19, own + niceness)]


def test_a_study_whose_process_dies_says_how_and_keeps_what_is_stored(
    own_results: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    def kill_in_the_second(seen: Seen) -> None:
        if len(seen.trials) == 1:
            os.kill(started[0].pid, signal.SIGKILL)

    session, seen = ApartSession(), Seen(kill_in_the_second)
    with pytest.raises(WorkError, match="its process died of SIGKILL; is there memory"):
        session.tune(session.plan(FORM), seen.watcher())
    (study,) = session.studies()
    assert len(Store(own_results).trials(study.name)) >= 1


def test_what_goes_wrong_there_is_said_here(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.duckdb"
    damaged.write_text("no database")
    session = ApartSession(damaged)
    with pytest.raises(WorkError, match=r"damaged\.duckdb"):
        session.tune(session.plan(FORM), Seen().watcher())


def test_a_sweep_apart_is_told_point_by_point() -> None:
    session, seen, steps = ApartSession(), list[SweepView](), list[str]()
    form = SweepForm("linkbench", "clients=1,2", data="24MiB", memory="160MiB", seconds="0.1")
    watcher = SweepWatcher(lambda stop, cancel: None, steps.append, seen.append)
    found = session.sweep(session.plan_sweep(form), watcher)
    assert steps == ["1", "2"] and seen[-1].points == found.points == 4
    assert session.stored_sweep(found.name) == found


PARENT = """
import os, subprocess, sys
child = [sys.executable, "-P", "-c", {child!r}, str(os.getpid())]
subprocess.Popen(child, stdin=subprocess.PIPE).wait()
"""
CHILD = """
import sys
from advisor.processes import die_with
die_with(int(sys.argv[1]))
print("works", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="this kernel tells no child of its parent")
def test_a_process_ends_with_the_one_that_it_works_for() -> None:
    parent = [sys.executable, "-c", PARENT.format(child=CHILD)]
    with subprocess.Popen(parent, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"works\n"
        process.kill()
        # Both write there: it ends with the last of them.
        assert process.stdout.read() == b""
