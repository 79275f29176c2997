"""What a person does with stored studies: find, mark, compare, tag, ask."""

from pathlib import Path

import pytest
from textual.widgets import DataTable, Input

from advisor.store import Store
from tests.support.problems import record, trial
from tests.terminal.conftest import SIZE, text_of, until
from tests.terminal.fake_session import STUDIES, FakeSession
from tui.app import Workbench
from tui.screens.comparison import ComparisonScreen
from tui.screens.query import FIRST, QueryScreen, TablesTable
from tui.screens.results import ResultsScreen
from tui.session import LibrarySession
from tui.widgets.answer_table import AnswerTable
from tui.widgets.studies_table import StudiesTable


@pytest.fixture
def session() -> FakeSession:
    return FakeSession(results=list(STUDIES))


async def _open(pilot, session) -> StudiesTable:
    pilot.app.push_screen(ResultsScreen(session))
    await until(pilot, lambda: isinstance(pilot.app.focused, StudiesTable))
    # What is pressed or clicked before a row is drawn meets an empty table.
    await until(pilot, lambda: not session.results or session.results[0].name in text_of(pilot.app))
    return pilot.app.screen.query_one(StudiesTable)


def _listed(table: StudiesTable) -> list[str]:
    return [str(table.get_row_at(row)[0]).split(" ")[0] for row in range(table.row_count)]


@pytest.mark.parametrize(
    ("typed", "left"),
    [
        ("NIGHT", ["night"]),
        ("ycsb", ["flash"]),
        ("slow", ["linkbench-2"]),
        ("minimize", ["flash"]),
        ("kept maximize", ["night", "linkbench-2"]),
    ],
)
async def test_a_filter_looks_at_name_workload_tags_and_goal(
    workbench: Workbench, session: FakeSession, typed: str, left: list[str]
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        table = await _open(pilot, session)
        await pilot.press("slash", *typed.replace(" ", "_"))
        workbench.screen.query_one("#filter", Input).value = typed
        await until(pilot, lambda: _listed(table) == left)
        await pilot.press("escape")
        await until(pilot, lambda: len(_listed(table)) == 3 and table.has_focus)


async def test_a_filter_that_leaves_nothing_says_so(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await _open(pilot, session)
        await pilot.press("slash", *"nowhere")
        await until(pilot, lambda: "No study has all these words." in text_of(workbench))
        assert workbench.screen.query_one("#trials", DataTable).row_count == 0


async def test_marked_studies_are_compared_in_the_order_of_their_marks(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await _open(pilot, session)
        await pilot.press("down", "down", "space", "up", "up", "space", "c")
        await until(pilot, lambda: isinstance(workbench.screen, ComparisonScreen))
        await until(pilot, lambda: "worse by 44% (noise ±4.3%)" in text_of(workbench))
    assert session.compared == [("linkbench-2", "night")]


async def test_a_mark_is_taken_off_and_goes_with_its_study(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await _open(pilot, session)
        await pilot.press("space", "space")
        await until(pilot, lambda: "2 marked" in text_of(workbench))
        await pilot.press("up", "up", "space")
        await until(pilot, lambda: "1 marked" in text_of(workbench))
        await pilot.press("d", "y")
        await until(pilot, lambda: "marked" not in text_of(workbench))


async def test_nothing_marked_is_no_comparison(session: FakeSession) -> None:
    app = Workbench(session)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await _open(pilot, session)
        await pilot.press("c")
        await until(pilot, lambda: "Mark the studies to compare" in text_of(app))
    assert session.compared == []


async def test_a_comparison_that_fails_says_why(session: FakeSession) -> None:
    session.failure = RuntimeError("flash has no finished trial")
    app = Workbench(session)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await _open(pilot, session)
        await pilot.press("space", "c")
        await until(pilot, lambda: "flash has no finished trial" in text_of(app))
        assert isinstance(app.screen, ResultsScreen)


async def test_a_tag_is_written_and_taken_off(workbench: Workbench, session: FakeSession) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await _open(pilot, session)
        await pilot.press("t", *"best", "enter")
        await until(pilot, lambda: "best · kept" in text_of(workbench))
        await pilot.press(*"kept", "enter")
        await until(pilot, lambda: "best · kept" not in text_of(workbench))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(workbench.screen, ResultsScreen))
        await until(pilot, lambda: "best" in text_of(workbench))
    assert session.results[0].tags == ("best",)


async def test_studies_are_sorted_by_their_columns(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        table = await _open(pilot, session)
        await pilot.press("o")
        await until(pilot, lambda: _listed(table) == ["flash", "linkbench-2", "night"])
        await pilot.press("O")
        await until(pilot, lambda: _listed(table) == ["night", "linkbench-2", "flash"])
        await pilot.press("o", "o", "o")
        await until(pilot, lambda: "trials ▼" in text_of(workbench))
        assert _listed(table) == ["flash", "linkbench-2", "night"]


async def test_a_click_on_a_heading_sorts_by_it(workbench: Workbench, session: FakeSession) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        table = await _open(pilot, session)
        await pilot.click(StudiesTable, offset=(2, 0))
        await until(pilot, lambda: "study ▲" in text_of(workbench))
        assert _listed(table) == ["flash", "linkbench-2", "night"]


async def test_the_trials_shown_are_those_of_the_study_under_the_cursor(
    workbench: Workbench, session: FakeSession
) -> None:
    asked: list[str] = []
    trials = session.trials
    session.trials = lambda study: asked.append(study) or trials(study)
    async with workbench.run_test(size=SIZE) as pilot:
        table = await _open(pilot, session)
        await pilot.press("o", "down")
        await until(pilot, lambda: bool(asked) and asked[-1] == table.key_at_cursor())
        assert table.key_at_cursor() == "linkbench-2"


async def test_a_query_is_asked_and_a_wrong_one_explained_in_a_line(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await _open(pilot, session)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(workbench.screen, QueryScreen))
        await pilot.press("enter")
        await until(pilot, lambda: "3 rows" in text_of(workbench))
        answer = workbench.screen.query_one(AnswerTable)
        assert [str(cell) for cell in answer.get_row_at(1)] == ["night", "btree", "2", "14020"]
        await pilot.press(*"gone", "enter")
        await until(pilot, lambda: "Table with name gone does not exist!" in text_of(workbench))
        await pilot.press("tab", "tab", "enter")
        await until(pilot, lambda: len(session.asked) == 3)
    assert session.asked == [FIRST, "gone", 'SELECT * FROM "run" LIMIT 100']


async def test_the_results_file_answers_queries_of_the_workbench(own_results: Path) -> None:
    store = Store(own_results)
    store.add_study(record("night"))
    for _ in range(3):
        store.add_trial(trial(), "night")
    app = Workbench(LibrarySession())
    async with app.run_test(size=SIZE) as pilot:
        app.push_screen(QueryScreen(LibrarySession()))
        await until(pilot, lambda: "drive_years" in text_of(app))
        listed = app.screen.query_one(TablesTable)
        names = [str(listed.get_row_at(row)[0]) for row in range(listed.row_count)]
        assert "run_bytes" in names
        await pilot.press("enter")
        await until(pilot, lambda: "1 row" in text_of(app))
        assert [str(one) for one in app.screen.query_one(AnswerTable).get_row_at(0)] == [
            "night",
            "lsm",
            "3",
            "1000",
        ]
        app.screen.query_one("#query", Input).value = "DELETE FROM tag"
        await pilot.press("enter")
        await until(pilot, lambda: "a statement of the kind DELETE" in text_of(app))
        assert "accepted" not in text_of(app)


def test_an_answer_of_many_rows_is_cut(own_results: Path) -> None:
    Store(own_results).add_study(record("night"))
    found = LibrarySession().sql("SELECT range AS n, n / 2 AS half FROM range(1000)")
    assert (len(found.rows), found.is_cut, found.numbers) == (500, True, (True, True))
    assert found.rows[1] == ("1", "0.5")


def test_a_tag_that_a_study_has_is_taken_off(own_results: Path) -> None:
    Store(own_results).add_study(record("night"))
    session = LibrarySession()
    assert session.tag("night", "kept") == ("kept",)
    assert session.studies()[0].tags == ("kept",)
    assert session.tag("night", "kept") == ()


def test_the_tables_of_trials_read_no_intervals(
    own_results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(own_results)
    asked: list[bool] = []
    trials = Store.trials

    def counted(self: Store, study: str | None, *, intervals: bool = True):
        asked.append(intervals)
        return trials(self, study, intervals=intervals)

    monkeypatch.setattr(Store, "trials", counted)
    monkeypatch.setattr("advisor.search.stored_question", lambda *_: None)
    monkeypatch.setattr("tui.session.trial_view", lambda one, _: one)
    store.add_study(record("night"))
    store.add_trial(trial(), "night")
    assert len(LibrarySession().trials("night")) == 1
    assert asked == [False]
