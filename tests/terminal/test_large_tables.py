"""Tables of 2,000 trials: what a key or a trial costs is counted, so that no slow machine fails
these."""

import tracemalloc
from dataclasses import dataclass
from threading import Event
from time import process_time

import pytest
from rich.text import Text
from textual.app import App, ComposeResult
from textual.command import CommandPalette
from textual.widgets import DataTable

from tests.terminal.conftest import SIZE, text_of, until
from tests.terminal.fake_session import FakeSession
from tui.app import Workbench
from tui.screens.study import REDRAW_S, StudyScreen
from tui.views import Outcome, Plan, TrialView, Watcher
from tui.widgets.trials_table import TrialsTable
from tui.widgets.wrapping_table import WrappingTable

TRIALS = 2_000
LINES = 40
"""Of the screen, more than its tables have."""


def trial(number: int) -> TrialView:
    """One of many, whose places among the others are as good as random."""
    ops = 5_000.0 + number * 7_919 % 30_011
    metrics = {"ops_per_s": ops, "p99_us": 1e7 / ops, "write_kb_per_op": 2.0, "space_amp": 1.1}
    settings = f"write_buffer_size=256MiB block_size=16KiB max_background_jobs={number}"
    return TrialView(number, "lsm" if number % 3 else "btree", ops, metrics, settings)


class OneTable(App[None]):
    """A table of trials, and nothing else."""

    CSS = "WrappingTable { height: 1fr; overflow-x: hidden; }"

    def compose(self) -> ComposeResult:
        yield TrialsTable()

    def on_mount(self) -> None:
        self.query_one(TrialsTable).show(trial(number) for number in range(1, TRIALS + 1))

    @property
    def table(self) -> TrialsTable:
        return self.query_one(TrialsTable)


@dataclass
class Work:
    """Rows that were added, drawn and wrapped."""

    added: int = 0
    drawn: int = 0
    wrapped: int = 0

    def forget(self) -> None:
        self.added = self.drawn = self.wrapped = 0


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    done = Work()
    add_row, draw_row, wrap = DataTable.add_row, WrappingTable._draw_row, Text.wrap

    def added(*args, **options):
        done.added += 1
        return add_row(*args, **options)

    def drawn(*args, **options):
        done.drawn += 1
        return draw_row(*args, **options)

    def wrapped(*args, **options):
        done.wrapped += 1
        return wrap(*args, **options)

    monkeypatch.setattr(DataTable, "add_row", added)
    monkeypatch.setattr(WrappingTable, "_draw_row", drawn)
    monkeypatch.setattr(Text, "wrap", wrapped)
    return done


async def test_a_key_draws_the_rows_that_the_cursor_left_and_came_to(work: Work) -> None:
    app = OneTable()
    async with app.run_test(size=(120, LINES)) as pilot:
        await until(pilot, lambda: "34,9" in text_of(app))
        work.forget()
        await pilot.press(*["down"] * 5)
        await until(pilot, lambda: app.table.cursor_row == 5)
        await pilot.pause()
        assert work.added == 0
        assert work.drawn <= 5 * 4
        assert work.wrapped <= 5 * LINES


async def test_a_trial_adds_its_row_and_draws_no_other(work: Work) -> None:
    app = OneTable()
    async with app.run_test(size=(120, LINES)) as pilot:
        await until(pilot, lambda: "34,9" in text_of(app))
        work.forget()
        for number in range(TRIALS + 1, TRIALS + 11):
            app.table.add_trials([trial(number)])
        await pilot.pause()
        assert work.added == 10
        assert work.drawn <= 10 * 2
        assert app.table.row_count == TRIALS + 10
        shown = [str(app.table.get_row_at(row)[2]) for row in range(app.table.row_count)]
        numbers = [float(one.replace(",", "")) for one in shown]
        assert numbers == sorted(numbers, reverse=True)


async def test_a_sort_moves_rows_and_adds_none(work: Work) -> None:
    app = OneTable()
    async with app.run_test(size=(120, LINES)) as pilot:
        await until(pilot, lambda: "34,9" in text_of(app))
        work.forget()
        before = process_time()
        for column in range(7):
            app.table.sort_by(column)
        spent = process_time() - before
        await pilot.pause()
        assert work.added == 0
        assert work.drawn <= 2 * LINES
        # A sort of them takes some 10 ms; a table that was made anew took a second.
        assert spent < 7 * 0.5


async def test_the_cursor_stays_on_its_trial_while_others_arrive_and_rows_are_sorted() -> None:
    app = OneTable()
    async with app.run_test(size=(120, LINES)) as pilot:
        await until(pilot, lambda: "34,9" in text_of(app))
        await pilot.press(*["down"] * 7)
        await until(pilot, lambda: app.table.cursor_row == 7)
        chosen = app.table.key_at_cursor()
        app.table.add_trials([TrialView(9_999, "lsm", 1e6, {"ops_per_s": 1e6}, "the best")])
        await pilot.pause()
        assert (app.table.key_at_cursor(), app.table.cursor_row) == (chosen, 8)
        await pilot.press("o")
        await until(pilot, lambda: "# ▲" in text_of(app))
        assert app.table.key_at_cursor() == chosen
        assert app.table.cursor_row == int(chosen or 0) - 1


async def test_a_column_is_sorted_its_best_first_and_turned_round() -> None:
    app = OneTable()
    async with app.run_test(size=(120, LINES)) as pilot:
        await until(pilot, lambda: "34,9" in text_of(app))
        app.table.add_trials([TrialView(9_999, "lsm", None, {}, "a", note="needs 19 GiB")])
        app.table.sort_by(3)
        least = [str(app.table.get_row_at(row)[3]) for row in (0, TRIALS)]
        await pilot.press("O")
        await until(pilot, lambda: "p99 ▼" in text_of(app))
        most = [str(app.table.get_row_at(row)[3]) for row in (0, TRIALS)]
    assert (least[0], most[0]) == ("286 µs", "1.99 ms")
    # What was not measured is last either way.
    assert least[1] == most[1] == "-"


class ManyTrials(FakeSession):
    """A study whose trials end faster than any screen draws, once they may begin."""

    def __init__(self) -> None:
        super().__init__()
        self.may_begin = Event()
        self.may_begin.set()

    def tune(self, plan: Plan, watcher: Watcher) -> Outcome:
        watcher.attach(self.stopping.set, self.cancelled.set)
        self.may_begin.wait()
        for number in range(1, TRIALS + 1):
            watcher.started(number, TRIALS, "lsm")
            watcher.finished(trial(number))
        self.cancelled.wait()
        raise RuntimeError("cancelled")


async def test_trials_that_end_together_are_drawn_together(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = ManyTrials()
    app = Workbench(session)
    fills = 0
    fill = WrappingTable.fill

    def counted(*args, **options):
        nonlocal fills
        fills += 1
        return fill(*args, **options)

    monkeypatch.setattr(WrappingTable, "fill", counted)
    async with app.run_test(size=SIZE) as pilot:
        plan = Plan("linkbench", "ops_per_s", "maximize ops_per_s", "simulated", TRIALS)
        await app.push_screen(StudyScreen(session, plan))
        table = app.screen.query_one(TrialsTable)
        await until(pilot, lambda: table.row_count == TRIALS)
        assert work.added == TRIALS
        assert fills < TRIALS / 10
        await pilot.press("down")
        await until(pilot, lambda: table.cursor_row == 1)


async def test_a_study_is_not_drawn_below_a_palette() -> None:
    session = ManyTrials()
    session.may_begin.clear()
    app = Workbench(session)
    async with app.run_test(size=SIZE) as pilot:
        plan = Plan("linkbench", "ops_per_s", "maximize ops_per_s", "simulated", TRIALS)
        study = StudyScreen(session, plan)
        await app.push_screen(study)
        app.action_command_palette()
        await until(pilot, lambda: CommandPalette.is_open(app))
        session.may_begin.set()
        table = study.query_one(TrialsTable)
        await until(pilot, lambda: len(study._trials) == TRIALS)
        await pilot.pause(2 * REDRAW_S)
        assert table.row_count == 0
        await pilot.press("escape")
        await until(pilot, lambda: table.row_count == TRIALS)


async def test_2000_trials_take_little_memory() -> None:
    app = OneTable()
    tracemalloc.start()
    try:
        async with app.run_test(size=(120, LINES)) as pilot:
            await until(pilot, lambda: "34,9" in text_of(app))
            for _ in range(20):
                await pilot.press("pagedown")
            taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 60 << 20
