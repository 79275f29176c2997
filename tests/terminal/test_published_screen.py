"""The screen of published experiments, driven as a person would drive it."""

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.pilot import Pilot
from textual.widgets import OptionList

from tests.terminal.conftest import SIZE, picture, text_of, until
from tests.terminal.fake_session import FakeSession
from tui.app import Workbench
from tui.screens.profiles import ProfilesScreen
from tui.screens.published import PublishedScreen

SIZES = [(80, 24), (120, 40), (200, 60)]


async def opened(pilot: Pilot[None]) -> PublishedScreen:
    """By its key, from the profiles."""
    await until(pilot, lambda: pilot.app.screen.query_one(OptionList).option_count == 3)
    await pilot.press("ctrl+l")
    await until(pilot, lambda: isinstance(pilot.app.screen, PublishedScreen))
    await until(pilot, lambda: "about 10.4" in text_of(pilot.app))
    assert isinstance(pilot.app.screen, PublishedScreen)
    return pilot.app.screen


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_an_experiment_after_two_of_its_runs(
    workbench: Workbench,
    session: FakeSession,
    snapshot: SnapshotAssertion,
    size: tuple[int, int],
) -> None:
    async with workbench.run_test(size=size) as pilot:
        await opened(pilot)
        await pilot.press("r")
        session.release(2)
        await until(pilot, lambda: "2 of 4 runs" in text_of(workbench))
        await until(pilot, lambda: "0.82x" in text_of(workbench))
        assert await picture(pilot) == snapshot


async def test_figures_come_as_runs_end_and_claims_get_their_answers(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        assert "11.2" not in text_of(workbench) and "not yet" in text_of(workbench)
        await pilot.press("enter")
        session.release(1)
        await until(pilot, lambda: "11.2" in text_of(workbench))
        assert "holds" not in text_of(workbench)
        assert screen.check_action("replay", ()) is False
        session.release(3)
        await until(pilot, lambda: screen.check_action("replay", ()) is True)
        await until(pilot, lambda: "fails" in text_of(workbench))
        assert "not yet" not in text_of(workbench) and "(an example)" in text_of(workbench)


async def test_another_experiment_can_be_looked_at_meanwhile(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("r")
        session.release(1)
        await until(pilot, lambda: "11.2" in text_of(workbench))
        await pilot.press("down")
        await until(pilot, lambda: "11.2" not in text_of(workbench))
        session.release(1)
        await until(pilot, lambda: "2 of 4 runs" in text_of(workbench))
        await pilot.press("up")
        await until(pilot, lambda: "0.82x" in text_of(workbench))


async def test_stopping_keeps_the_figures_that_there_are(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        await pilot.press("r")
        session.release(1)
        await until(pilot, lambda: "11.2" in text_of(workbench))
        await pilot.press("s")
        await until(pilot, lambda: screen.check_action("replay", ()) is True)
        assert "11.2" in text_of(workbench)


async def test_leaving_a_replay_asks_first_and_quitting_ends_it(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("r")
        await until(pilot, lambda: "0 of 4 runs" in text_of(workbench))
        await pilot.press("escape")
        await until(pilot, lambda: "still running" in text_of(workbench))
        await pilot.press("y")
        await until(pilot, lambda: isinstance(workbench.screen, ProfilesScreen))
        assert session.cancelled.wait(5)


async def test_a_replay_that_fails_says_why(workbench: Workbench, session: FakeSession) -> None:
    session.failure = RuntimeError("a process that carries out runs was killed")
    async with workbench.run_test(size=SIZE, notifications=True) as pilot:
        await opened(pilot)
        await pilot.press("r")
        session.release(1)
        await until(pilot, lambda: "was killed" in text_of(workbench))
