"""The workbench, driven as a person would drive it."""

from pathlib import Path

import pytest
from textual.widgets import DataTable, Input, OptionList, Select

from tests.terminal.conftest import SIZE, text_of, until
from tests.terminal.fake_session import OUTCOME, FakeSession
from tui.app import Workbench
from tui.screens.export import ExportDialog
from tui.screens.profiles import ProfilesScreen
from tui.screens.recommendation import RecommendationScreen
from tui.screens.results import ResultsScreen
from tui.screens.study import StudyScreen
from tui.views import Plan, StudyView
from tui.widgets.study_form import StudyFormView

STORED = StudyView("night", "linkbench", "2026-11-20 14:02", 6, "simulated", OUTCOME.goal)


async def _open_study(pilot, session: FakeSession) -> None:
    await until(pilot, lambda: pilot.app.screen.query_one(OptionList).option_count > 0)
    await pilot.press("ctrl+s")
    await until(pilot, lambda: isinstance(pilot.app.screen, StudyScreen))
    await until(pilot, lambda: bool(pilot.app.screen.query_one("#trials")))


async def _finish_trials(pilot, session: FakeSession, count: int) -> None:
    session.release(count)
    table = pilot.app.screen.query_one("#trials", DataTable)
    wanted = table.row_count + count
    await until(pilot, lambda: table.row_count == wanted)


async def test_the_first_profile_is_shown_with_its_numbers(workbench: Workbench) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "linkbench, 1 billion ids" in text_of(workbench))
        assert "200GiB of data · 16GiB of memory · 16 clients" in text_of(workbench)


async def test_a_profile_that_cannot_be_read_says_why_and_cannot_be_started(
    workbench: Workbench,
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: workbench.screen.query_one(OptionList).option_count == 3)
        await pilot.press("end", "ctrl+s")
        await until(pilot, lambda: "found 'fast', accepted: a goal" in text_of(workbench))
        assert isinstance(workbench.screen, ProfilesScreen)


async def test_a_wrong_field_is_explained_below_it(workbench: Workbench) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: workbench.screen.query_one(OptionList).option_count > 0)
        await pilot.press("enter", "m", "u", "c", "h", "ctrl+s")
        await until(pilot, lambda: "found 'much', accepted: a size" in text_of(workbench))
        assert workbench.screen.query_one("#input-data", Input).has_focus


async def test_the_form_keeps_no_value_of_another_profile(workbench: Workbench) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: workbench.screen.query_one(OptionList).option_count == 3)
        form = workbench.screen.query_one(StudyFormView)
        workbench.screen.query_one("#input-memory", Input).value = "1GiB"
        workbench.screen.query_one("#input-trials", Input).value = "9"
        workbench.screen.query_one("#engine", Select).value = "btree"
        await pilot.press("down")
        await until(pilot, lambda: form.form().profile == "insert-benchmark")
        assert (form.form().memory, form.form().engine, form.form().trials) == ("", "lsm", "9")
        await pilot.press("up")
        await until(pilot, lambda: form.form().profile == "linkbench")
        assert (form.form().memory, form.form().engine) == ("1GiB", "btree")


async def test_a_goal_for_one_operation_is_written_with_its_brackets(
    workbench: Workbench, session: FakeSession
) -> None:
    goal = "minimize p99_us[get_node]"
    async with workbench.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: isinstance(workbench.screen, ProfilesScreen))
        plan = Plan("linkbench", "p99_us[get_node]", goal, "measured", 3)
        await workbench.push_screen(StudyScreen(session, plan))
        await until(pilot, lambda: goal in text_of(workbench))
        assert "p99, get_node by trial" in text_of(workbench)
        await until(pilot, lambda: bool(workbench.screen.query("#chart Grid")))


async def test_the_best_trial_of_a_study_is_on_top_and_in_big_digits(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await _open_study(pilot, session)
        await _finish_trials(pilot, session, 3)
        table = workbench.screen.query_one("#trials", DataTable)
        assert str(table.get_row_at(0)[2]) == "31,480"
        assert workbench.screen.query_one("#best-digits").value == "31,480"
        await until(pilot, lambda: "+73 % against the start" in text_of(workbench))


async def test_a_trial_that_did_not_fit_is_last_and_says_why(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await _open_study(pilot, session)
        await _finish_trials(pilot, session, 4)
        last = workbench.screen.query_one("#trials", DataTable).get_row_at(3)
        assert str(last[2]) == "-"
        assert str(last[-1]) == "needs 19 GiB, memory is 16 GiB"


async def test_the_running_trial_shows_its_newest_interval(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await _open_study(pilot, session)
        await until(
            pilot, lambda: "trial 1/6 · LSM · measuring · 20,000 ops/s" in text_of(workbench)
        )


async def test_the_chart_joins_with_the_first_trial(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await _open_study(pilot, session)
        await _finish_trials(pilot, session, 1)
        await until(pilot, lambda: bool(workbench.screen.query("#chart")))
        await until(pilot, lambda: "●" in text_of(workbench))


async def test_a_finished_study_leads_to_its_advice(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await _open_study(pilot, session)
        await _finish_trials(pilot, session, 6)
        await until(pilot, lambda: "press a for the advice" in text_of(workbench))
        await pilot.press("a")
        await until(pilot, lambda: isinstance(workbench.screen, RecommendationScreen))
        assert "3 changes" in text_of(workbench)
        assert "+112 %" in text_of(workbench)


async def test_stopping_ends_the_study_after_the_running_trial(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await _open_study(pilot, session)
        await pilot.press("s")
        session.release(6)
        await until(pilot, lambda: "press a for the advice" in text_of(workbench))
        await until(pilot, lambda: workbench.screen.query_one("#trials", DataTable).row_count > 0)
        assert workbench.screen.query_one("#trials", DataTable).row_count == 1


async def test_a_study_that_fails_says_so_in_plain_words(
    workbench: Workbench, session: FakeSession
) -> None:
    session.failure = RuntimeError("the disk under /tmp is full")
    async with workbench.run_test(size=SIZE, notifications=True) as pilot:
        await _open_study(pilot, session)
        session.release(1)
        await until(pilot, lambda: "the disk under /tmp is full" in text_of(workbench))
        assert "No trial was finished." in text_of(workbench)


async def test_leaving_a_running_study_asks_first(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await _open_study(pilot, session)
        await pilot.press("escape")
        await until(pilot, lambda: "still running" in text_of(workbench))
        await pilot.press("n")
        await until(pilot, lambda: isinstance(workbench.screen, StudyScreen))
        assert not session.cancelled.is_set()
        await pilot.press("escape", "y")
        await until(pilot, lambda: isinstance(workbench.screen, ProfilesScreen))
        assert session.cancelled.wait(5)


async def test_quitting_in_the_middle_of_a_trial_cancels_it(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await _open_study(pilot, session)
        await pilot.press("ctrl+q")
    assert session.cancelled.wait(5)
    assert workbench.return_code == 0


async def _open_advice(pilot, session: FakeSession) -> None:
    pilot.app.push_screen(RecommendationScreen(session, OUTCOME))
    await until(pilot, lambda: isinstance(pilot.app.screen, RecommendationScreen))


async def test_the_advice_is_written_where_the_user_says(
    workbench: Workbench, session: FakeSession, tmp_path: Path
) -> None:
    target = tmp_path / "my.cnf"
    async with workbench.run_test(size=SIZE) as pilot:
        await _open_advice(pilot, session)
        await pilot.press("e")
        await until(pilot, lambda: bool(workbench.screen.query("#input-path")))
        workbench.screen.query_one("#input-path", Input).value = str(target)
        await pilot.click("#write")
        await until(pilot, lambda: session.exported != [])
    assert session.exported == [("myrocks-mariadb-10.11", target, False)]


async def test_an_existing_file_is_replaced_only_after_a_second_yes(
    workbench: Workbench, session: FakeSession, tmp_path: Path
) -> None:
    target = tmp_path / "my.cnf"
    target.write_text("mine\n")
    async with workbench.run_test(size=SIZE) as pilot:
        await _open_advice(pilot, session)
        await pilot.press("e")
        await until(pilot, lambda: bool(workbench.screen.query("#input-path")))
        workbench.screen.query_one("#input-path", Input).value = str(target)
        await pilot.click("#write")
        await until(pilot, lambda: "exists already" in text_of(workbench))
        assert target.read_text() == "mine\n"
        await pilot.press("y")
        await until(pilot, lambda: session.exported != [])
    assert session.exported == [("myrocks-mariadb-10.11", target, True)]


async def test_the_proposed_file_follows_the_product(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await _open_advice(pilot, session)
        await pilot.press("e")
        await until(pilot, lambda: bool(workbench.screen.query("#dialect")))
        workbench.screen.query_one("#dialect").value = "rocksdb-10.4"
        path = workbench.screen.query_one("#input-path", Input)
        await until(pilot, lambda: path.value == "tuned/OPTIONS")


async def test_the_file_is_shown_before_it_is_written_in_any_product(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await _open_advice(pilot, session)
        await pilot.press("e")
        await until(pilot, lambda: "# my.cnf for myrocks-mariadb-10.11" in text_of(workbench))
        workbench.screen.query_one("#dialect").value = "mysql-8.4"
        await until(pilot, lambda: "# my.cnf for mysql-8.4" in text_of(workbench))
        assert "btree lost: lsm has +176% ops_per_s" in text_of(workbench)
        workbench.screen.query_one("#dialect").value = "rocksdb-10.4"
        await until(pilot, lambda: "# the results file is locked" in text_of(workbench))
    assert session.exported == []


async def test_while_the_file_is_written_keys_answer_and_nothing_else_begins(
    workbench: Workbench, session: FakeSession, tmp_path: Path
) -> None:
    target = tmp_path / "my.cnf"
    session.may_write.clear()
    async with workbench.run_test(size=SIZE) as pilot:
        await _open_advice(pilot, session)
        await pilot.press("e")
        await until(pilot, lambda: bool(workbench.screen.query("#input-path")))
        workbench.screen.query_one("#input-path", Input).value = str(target)
        await pilot.click("#write")
        await until(pilot, lambda: "writing the file and its reports" in text_of(workbench))
        await pilot.click("#write")
        await pilot.press("escape")
        assert isinstance(workbench.screen, ExportDialog)
        session.may_write.set()
        await until(pilot, lambda: isinstance(workbench.screen, RecommendationScreen))
    assert session.exported == [("myrocks-mariadb-10.11", target, False)]


async def test_a_file_that_cannot_be_written_leaves_the_dialog_open(
    workbench: Workbench, session: FakeSession
) -> None:
    session.failure = RuntimeError("the disk is full")
    async with workbench.run_test(size=SIZE) as pilot:
        await _open_advice(pilot, session)
        await pilot.press("e")
        await until(pilot, lambda: bool(workbench.screen.query("#input-path")))
        await pilot.click("#write")
        await until(pilot, lambda: "the disk is full" in text_of(workbench))
        assert not workbench.screen.query_one("#write").disabled


async def test_an_empty_results_file_says_how_to_begin(workbench: Workbench) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "No study is stored yet." in text_of(workbench))


async def test_a_stored_study_shows_its_trials_and_its_advice(session: FakeSession) -> None:
    session.results.append(STORED)
    app = Workbench(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(app.screen, ResultsScreen))
        await until(pilot, lambda: app.screen.query_one("#trials", DataTable).row_count == 6)
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, RecommendationScreen))


async def test_a_study_is_deleted_only_after_a_second_yes(session: FakeSession) -> None:
    session.results.append(STORED)
    app = Workbench(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+r")
        await until(pilot, lambda: app.screen.query_one("#trials", DataTable).row_count == 6)
        await pilot.press("d")
        await until(pilot, lambda: "Delete the study night with 6 trials?" in text_of(app))
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, ResultsScreen))
        assert session.results == [STORED]
        await pilot.press("d", "y")
        await until(pilot, lambda: "No study is stored yet." in text_of(app))
        assert session.results == []
        assert app.screen.query_one("#trials", DataTable).row_count == 0


async def test_a_study_that_cannot_be_deleted_says_why_and_stays(session: FakeSession) -> None:
    session.results.append(STORED)
    session.failure = RuntimeError("process 7 runs it")
    app = Workbench(session)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await pilot.press("ctrl+r")
        await until(pilot, lambda: app.screen.query_one("#trials", DataTable).row_count == 6)
        await pilot.press("d", "y")
        await until(pilot, lambda: "process 7 runs it" in text_of(app))
        assert "night" in text_of(app)


async def test_help_explains_the_focused_field(workbench: Workbench) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: workbench.screen.query_one(OptionList).option_count > 0)
        await pilot.press("enter", "f1")
        await until(pilot, lambda: "How much data the workload has" in text_of(workbench))
        await pilot.press("f1")
        await until(pilot, lambda: "How much data the workload has" not in text_of(workbench))


@pytest.mark.parametrize("theme", ["tunebench-light", "textual-ansi", "nord"])
async def test_the_study_can_be_drawn_in_any_theme(
    workbench: Workbench, session: FakeSession, theme: str
) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        workbench.theme = theme if theme in workbench.available_themes else "ansi-dark"
        await _open_study(pilot, session)
        await _finish_trials(pilot, session, 2)
        await until(pilot, lambda: "●" in text_of(workbench))


async def test_a_narrow_terminal_keeps_every_part_reachable(
    workbench: Workbench, session: FakeSession
) -> None:
    async with workbench.run_test(size=(80, 24)) as pilot:
        await _open_study(pilot, session)
        await _finish_trials(pilot, session, 2)
        trials = workbench.screen.query_one("#trials", DataTable)
        await until(pilot, lambda: trials.region.height >= 3)


async def test_the_palette_leads_to_the_results(workbench: Workbench) -> None:
    async with workbench.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: workbench.screen.query_one(OptionList).option_count > 0)
        await pilot.press("ctrl+p", *"results")
        await until(pilot, lambda: "Browse the stored studies" in text_of(workbench))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(workbench.screen, ResultsScreen))


async def test_a_chart_that_comes_while_the_app_leaves_is_no_failure(
    workbench: Workbench,
) -> None:
    from tui.widgets.trial_chart import TrialChart

    async with workbench.run_test(size=SIZE) as pilot:
        await pilot.pause()
        workbench.screen.mount(TrialChart())
        workbench.exit(return_code=143)
    assert workbench.return_code == 143
