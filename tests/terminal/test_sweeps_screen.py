"""The screen of sweeps, driven as a person would drive it."""

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from tests.terminal.conftest import SIZE, picture, text_of, until
from tests.terminal.fake_session import STORED_MAP, STORED_SWEEPS, FakeSession
from tui.app import Workbench
from tui.screens.profiles import ProfilesScreen
from tui.screens.sweep_form import SweepDialog
from tui.screens.sweeps import SweepsScreen

SIZES = [(80, 24), (120, 40), (200, 60)]


async def opened(pilot: Pilot[None]) -> SweepsScreen:
    """By its key, from the profiles."""
    await until(pilot, lambda: pilot.app.screen.query_one(OptionList).option_count == 3)
    await pilot.press("ctrl+o")
    await until(pilot, lambda: isinstance(pilot.app.screen, SweepsScreen))
    assert isinstance(pilot.app.screen, SweepsScreen)
    return pilot.app.screen


async def started(pilot: Pilot[None]) -> SweepsScreen:
    screen = await opened(pilot)
    await until(pilot, lambda: "No sweep is stored yet" in text_of(pilot.app))
    await pilot.press("n")
    await until(pilot, lambda: bool(pilot.app.screen.query("#input-over")))
    pilot.app.screen.query_one("#input-over", Input).value = "memory=4GiB..64GiB"
    await pilot.press("enter")
    await until(pilot, lambda: "running: memory 4GiB" in text_of(pilot.app))
    return screen


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_stored_sweeps(
    session: FakeSession, snapshot: SnapshotAssertion, size: tuple[int, int]
) -> None:
    session.kept_sweeps = STORED_SWEEPS
    app = Workbench(session)
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await until(pilot, lambda: "B-tree overtakes LSM" in text_of(app))
        assert await picture(pilot) == snapshot


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_a_stored_map_is_a_grid(
    session: FakeSession, snapshot: SnapshotAssertion, size: tuple[int, int]
) -> None:
    session.kept_sweeps = [STORED_MAP, *STORED_SWEEPS]
    app = Workbench(session)
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await until(pilot, lambda: "LSM 2.25x" in text_of(app))
        assert await picture(pilot) == snapshot


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_a_new_sweep(
    workbench: Workbench, snapshot: SnapshotAssertion, size: tuple[int, int]
) -> None:
    async with workbench.run_test(size=size) as pilot:
        await opened(pilot)
        await pilot.press("n")
        await until(pilot, lambda: "trials a step" in text_of(workbench))
        assert await picture(pilot) == snapshot


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_a_sweep_after_three_steps(
    workbench: Workbench,
    session: FakeSession,
    snapshot: SnapshotAssertion,
    size: tuple[int, int],
) -> None:
    async with workbench.run_test(size=size) as pilot:
        await started(pilot)
        session.release(3)
        await until(pilot, lambda: "running: memory 32GiB" in text_of(workbench))
        await until(pilot, lambda: "6 of 10" in text_of(workbench))
        assert await picture(pilot) == snapshot


async def test_a_sweep_fills_point_by_point_and_says_what_it_found(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await started(pilot)
        assert session.swept[0].profile == "linkbench"
        session.release(1)
        await until(pilot, lambda: "41,200" in text_of(workbench))
        assert "48,100" not in text_of(workbench)
        session.release(4)
        await until(pilot, lambda: "differences below 3.1 %" in text_of(workbench))
        assert "10 of 10" in text_of(workbench)


async def test_while_one_runs_another_can_be_looked_at(session: FakeSession) -> None:
    session.kept_sweeps = STORED_SWEEPS
    app = Workbench(session)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: "B-tree overtakes LSM" in text_of(app))
        await pilot.press("n")
        await until(pilot, lambda: bool(app.screen.query("#input-over")))
        app.screen.query_one("#input-over", Input).value = "memory=4GiB..64GiB"
        await pilot.press("enter")
        await until(pilot, lambda: "running: memory 4GiB" in text_of(app))
        await pilot.press("down")
        await until(pilot, lambda: "differences below" in text_of(app))
        session.release(1)
        await until(pilot, lambda: "2 of 10" in text_of(app))
        assert "running" not in text_of(app)
        await pilot.press("up")
        await until(pilot, lambda: "running: memory 8GiB" in text_of(app))
        assert screen.check_action("new", ()) is False


async def test_stopping_keeps_what_was_measured(workbench: Workbench, session: FakeSession) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        screen = await started(pilot)
        await pilot.press("s")
        session.release(5)
        await until(pilot, lambda: screen.check_action("new", ()) is True)
        await until(pilot, lambda: "2 of 10" in text_of(workbench))


async def test_leaving_a_running_sweep_asks_first(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await started(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: "still running" in text_of(workbench))
        await pilot.press("n")
        await until(pilot, lambda: isinstance(workbench.screen, SweepsScreen))
        assert not session.cancelled.is_set()
        await pilot.press("escape", "y")
        await until(pilot, lambda: isinstance(workbench.screen, ProfilesScreen))
        assert session.cancelled.wait(5)


async def test_quitting_cancels_a_sweep(workbench: Workbench, session: FakeSession) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await started(pilot)
        await pilot.press("ctrl+q")
    assert session.cancelled.wait(5)


async def test_a_sweep_that_fails_says_why(workbench: Workbench, session: FakeSession) -> None:
    session.failure = RuntimeError("the disk under /tmp is full")
    async with workbench.run_test(size=SIZE, notifications=True) as pilot:
        await started(pilot)
        session.release(1)
        await until(pilot, lambda: "the disk under /tmp is full" in text_of(workbench))


async def test_a_wrong_axis_is_explained_below_it(workbench: Workbench) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("n")
        await until(pilot, lambda: bool(workbench.screen.query("#input-over")))
        await pilot.press("x", "enter")
        await until(pilot, lambda: "found 'x', accepted: memory" in text_of(workbench))
        assert isinstance(workbench.screen, SweepDialog)
        assert workbench.screen.query_one("#input-over", Input).has_focus


async def test_a_sweep_that_cannot_be_drawn_says_why(session: FakeSession) -> None:
    session.kept_sweeps = STORED_SWEEPS[1:]
    app = Workbench(session)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await until(pilot, lambda: "does not say what was asked" in text_of(app))
