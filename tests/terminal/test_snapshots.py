"""The screens as text: a change of what the user sees must be meant."""

from syrupy.assertion import SnapshotAssertion
from textual.widgets import DataTable, OptionList

from tests.terminal.conftest import SIZE, picture, text_of, until
from tests.terminal.fake_session import OUTCOME, FakeSession
from tui.app import Workbench
from tui.screens.export import ExportDialog
from tui.screens.recommendation import RecommendationScreen
from tui.screens.results import ResultsScreen, StudiesTable
from tui.screens.study import StudyScreen
from tui.views import StudyForm, StudyView


async def test_the_profiles(workbench: Workbench, snapshot: SnapshotAssertion) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: workbench.screen.query_one(OptionList).option_count == 3)
        await until(pilot, lambda: "1 billion ids" in text_of(workbench))
        await until(pilot, lambda: "seconds per trial   2" in text_of(workbench))
        assert await picture(pilot) == snapshot


async def test_a_study_after_three_trials(
    workbench: Workbench, session: FakeSession, snapshot: SnapshotAssertion
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        plan = session.plan(StudyForm("linkbench"))
        workbench.push_screen(StudyScreen(session, plan))
        await until(pilot, lambda: isinstance(workbench.screen, StudyScreen))
        await until(pilot, lambda: bool(workbench.screen.query_one("#chart")))
        session.release(3)
        await until(pilot, lambda: workbench.screen.query_one(DataTable).row_count == 3)
        await until(pilot, lambda: "trial 4/6 · LSM · measuring" in text_of(workbench))
        await until(pilot, lambda: text_of(workbench).count("●") == 3)
        assert await picture(pilot) == snapshot


async def test_the_advice(
    workbench: Workbench, session: FakeSession, snapshot: SnapshotAssertion
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        workbench.push_screen(RecommendationScreen(session, OUTCOME))
        await until(pilot, lambda: "max_background_jobs" in text_of(workbench))
        assert await picture(pilot) == snapshot


async def test_the_advice_on_a_narrow_terminal(
    workbench: Workbench, session: FakeSession, snapshot: SnapshotAssertion
) -> None:
    async with workbench.run_test(size=(80, 24)) as pilot:
        workbench.push_screen(RecommendationScreen(session, OUTCOME))
        await until(pilot, lambda: "max_background_jobs" in text_of(workbench))
        assert await picture(pilot) == snapshot


async def test_the_export_dialog(
    workbench: Workbench, session: FakeSession, snapshot: SnapshotAssertion
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: workbench.screen.query_one(OptionList).option_count == 3)
        workbench.push_screen(ExportDialog(session, OUTCOME))
        await until(pilot, lambda: "tuned/my.cnf" in text_of(workbench))
        assert await picture(pilot) == snapshot


async def test_the_results(session: FakeSession, snapshot: SnapshotAssertion) -> None:
    session.results.append(
        StudyView("night", "linkbench", "2026-11-20 14:02", 6, "simulated", OUTCOME.goal)
    )
    app = Workbench(session)
    async with app.run_test(size=SIZE) as pilot:
        app.push_screen(ResultsScreen(session))
        await until(pilot, lambda: isinstance(app.screen, ResultsScreen))
        await until(pilot, lambda: isinstance(app.focused, StudiesTable))
        await until(pilot, lambda: "needs 19 GiB" in text_of(app))
        assert await picture(pilot) == snapshot
