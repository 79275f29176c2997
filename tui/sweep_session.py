"""Sweeps as the workbench sees them: stored ones, the form of a new one, and its walk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Event, Lock

from advisor.store import Store, SweepRecord
from advisor.sweep import Asked, Place, Point, Sweep, stored, sweep
from tui import sweep_report
from tui.forms import sweep_of
from tui.views import SweepForm, SweepPlan, SweepRow, SweepView, SweepWatcher


def rows(store: Store) -> list[SweepRow]:
    """The stored sweeps, the newest first."""
    return [
        SweepRow(
            name=one.name,
            axis=one.axis if one.across is None else f"{one.axis} and {one.across}",
            created=one.created.replace("T", " ")[:16],
            points=one.points,
            planned=_planned(one),
            clock=one.clock,
            goal=one.goal,
        )
        for one in store.sweeps()
    ]


def shown(name: str, store: Store) -> SweepView:
    """A stored sweep. Raises `InputError` where it cannot be put together again."""
    return sweep_report.view(stored(name, store))


def plan(form: SweepForm) -> SweepPlan:
    """Check a form; raises `FormProblems`. The sweep gets its name when it begins."""
    asked = sweep_of(form, "")
    return SweepPlan(f"{asked.profile.name} over {asked.over}", asked)


def walk(plan: SweepPlan, store: Store, watcher: SweepWatcher) -> SweepView:
    """Make the sweep in the calling thread. Raises `Cancelled` for a step that was dropped."""
    wishes = _Wishes()
    watcher.attach(wishes.stopping.set, wishes.cancel)
    open_: Asked = plan.details
    asked = replace(open_, name=store.free_name(f"{open_.profile.name}-sweep"))
    made: list[Point] = []

    def tell() -> None:
        # Told as a whole one: what is missing has still to come.
        watcher.moved(sweep_report.view(Sweep(asked, tuple(made), True)))

    def begin(place: Place, drop: Callable[[], None]) -> None:
        watcher.step(asked.label(place))
        wishes.begin(drop)

    def add(_number: int, point: Point) -> None:
        made.append(point)
        tell()

    tell()
    found = sweep(asked, store, on_step=begin, on_point=add, stopped=wishes.stopping.is_set)
    return sweep_report.view(found)


class _Wishes:
    """What the user asks of a sweep, before and while it has a step."""

    def __init__(self) -> None:
        self.stopping = Event()
        self._lock = Lock()
        self._is_cancelled = False
        self._drop: Callable[[], None] | None = None

    def cancel(self) -> None:
        """End the running step, and begin no other."""
        self.stopping.set()
        with self._lock:
            self._is_cancelled = True
            drop = self._drop
        if drop is not None:
            drop()

    def begin(self, drop: Callable[[], None]) -> None:
        """A step begins, which `drop` ends."""
        with self._lock:
            self._drop = drop
            is_cancelled = self._is_cancelled
        if is_cancelled:
            drop()


def _planned(one: SweepRecord) -> int | None:
    asked = one.asked
    if not asked:
        return None
    lines = len(asked["across"]["values"]) if one.across is not None else 1
    return len(asked["values"]) * lines * len(asked["engines"])
