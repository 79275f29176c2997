"""The screens as text: a change of what the user sees must be meant."""

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.widgets import DataTable, OptionList

from tests.terminal.conftest import SIZE, picture, text_of, until
from tests.terminal.fake_session import (
    COMPARISON,
    FULL_OUTCOME,
    LONG_OUTCOME,
    OUTCOME,
    STUDIES,
    VERIFIED_OUTCOME,
    FakeSession,
)
from tui.app import Workbench
from tui.screens.comparison import ComparisonScreen
from tui.screens.export import ExportDialog
from tui.screens.query import QueryScreen
from tui.screens.recommendation import RecommendationScreen
from tui.screens.results import ResultsScreen
from tui.screens.study import StudyScreen
from tui.views import Outcome, StudyForm
from tui.widgets.studies_table import StudiesTable

SIZES = [(80, 24), (120, 40)]
WIDE = [*SIZES, (200, 60)]


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_the_profiles(
    workbench: Workbench, snapshot: SnapshotAssertion, size: tuple[int, int]
) -> None:
    async with workbench.run_test(size=size) as pilot:
        await until(pilot, lambda: workbench.screen.query_one(OptionList).option_count == 3)
        await until(pilot, lambda: "A social graph" in text_of(workbench))
        await until(pilot, lambda: "seconds per trial   2" in text_of(workbench))
        assert await picture(pilot) == snapshot


@pytest.mark.parametrize("size", WIDE, ids=str)
async def test_a_study_after_five_trials(
    workbench: Workbench,
    session: FakeSession,
    snapshot: SnapshotAssertion,
    size: tuple[int, int],
) -> None:
    async with workbench.run_test(size=size) as pilot:
        plan = session.plan(StudyForm("linkbench"))
        workbench.push_screen(StudyScreen(session, plan))
        await until(pilot, lambda: isinstance(workbench.screen, StudyScreen))
        await until(pilot, lambda: bool(workbench.screen.query_one("#chart")))
        session.release(5)
        await until(pilot, lambda: workbench.screen.query_one(DataTable).row_count == 5)
        await until(pilot, lambda: "trial 6/6 · B-tree · measuring" in text_of(workbench))
        drawn = 4 if size[0] > 100 else 0
        await until(pilot, lambda: text_of(workbench).count("●") == drawn)
        assert await picture(pilot) == snapshot


@pytest.mark.parametrize("size", WIDE, ids=str)
@pytest.mark.parametrize(
    "outcome",
    [OUTCOME, LONG_OUTCOME, VERIFIED_OUTCOME, FULL_OUTCOME],
    ids=["short", "long", "verified", "full"],
)
async def test_the_advice(
    workbench: Workbench,
    session: FakeSession,
    snapshot: SnapshotAssertion,
    outcome: Outcome,
    size: tuple[int, int],
) -> None:
    async with workbench.run_test(size=size) as pilot:
        workbench.push_screen(RecommendationScreen(session, outcome))
        await until(pilot, lambda: "write_buffer_size" in text_of(workbench))
        assert await picture(pilot) == snapshot


async def test_what_speaks_for_the_advice_comes_into_sight_with_the_focus(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=(80, 24)) as pilot:
        workbench.push_screen(RecommendationScreen(session, FULL_OUTCOME))
        await until(pilot, lambda: "write_buffer_size" in text_of(workbench))
        assert "─ robust choice" not in text_of(workbench)
        await pilot.press("tab", "tab", "tab")
        await until(pilot, lambda: "─ robust choice" in text_of(workbench))


@pytest.mark.parametrize("size", WIDE, ids=str)
async def test_the_export_dialog(
    workbench: Workbench, session: FakeSession, snapshot: SnapshotAssertion, size: tuple[int, int]
) -> None:
    async with workbench.run_test(size=size) as pilot:
        await until(pilot, lambda: workbench.screen.query_one(OptionList).option_count == 3)
        workbench.push_screen(ExportDialog(session, OUTCOME))
        await until(pilot, lambda: "7 lines" in text_of(workbench))
        assert await picture(pilot) == snapshot


@pytest.mark.parametrize("size", WIDE, ids=str)
async def test_the_results(
    session: FakeSession, snapshot: SnapshotAssertion, size: tuple[int, int]
) -> None:
    session.results.extend(STUDIES)
    app = Workbench(session)
    async with app.run_test(size=size) as pilot:
        app.push_screen(ResultsScreen(session))
        await until(pilot, lambda: isinstance(app.focused, StudiesTable))
        await until(pilot, lambda: "needs 19 GiB" in text_of(app))
        assert await picture(pilot) == snapshot


@pytest.mark.parametrize("size", WIDE, ids=str)
async def test_the_results_filtered_marked_and_sorted(
    session: FakeSession, snapshot: SnapshotAssertion, size: tuple[int, int]
) -> None:
    session.results.extend(STUDIES)
    app = Workbench(session)
    async with app.run_test(size=size) as pilot:
        app.push_screen(ResultsScreen(session))
        await until(pilot, lambda: isinstance(app.focused, StudiesTable))
        await pilot.press("slash", *"kept", "enter", "space", "o")
        await until(pilot, lambda: "1 marked" in text_of(app) and "study ▲" in text_of(app))
        assert await picture(pilot) == snapshot


async def test_the_dialog_of_tags(session: FakeSession, snapshot: SnapshotAssertion) -> None:
    session.results.extend(STUDIES)
    app = Workbench(session)
    async with app.run_test(size=SIZE) as pilot:
        app.push_screen(ResultsScreen(session))
        await until(pilot, lambda: isinstance(app.focused, StudiesTable))
        await pilot.press("t")
        await until(pilot, lambda: "tags of night" in text_of(app))
        assert await picture(pilot) == snapshot


@pytest.mark.parametrize("size", WIDE, ids=str)
async def test_studies_side_by_side(
    workbench: Workbench, snapshot: SnapshotAssertion, size: tuple[int, int]
) -> None:
    async with workbench.run_test(size=size) as pilot:
        workbench.push_screen(ComparisonScreen(COMPARISON))
        await until(pilot, lambda: "write_buffer_size" in text_of(workbench))
        assert await picture(pilot) == snapshot


@pytest.mark.parametrize("size", WIDE, ids=str)
async def test_a_query_and_its_answer(
    workbench: Workbench, session: FakeSession, snapshot: SnapshotAssertion, size: tuple[int, int]
) -> None:
    async with workbench.run_test(size=size) as pilot:
        workbench.push_screen(QueryScreen(session))
        await until(pilot, lambda: "run_interval" in text_of(workbench))
        await pilot.press("enter")
        await until(pilot, lambda: "14020" in text_of(workbench))
        assert await picture(pilot) == snapshot
