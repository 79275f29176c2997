"""The workbench over the real library, with the closed-form core below it."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import DataTable, Input, OptionList

import advisor
from advisor import core, dialects
from advisor.core import Cancelled
from advisor.knobs import ENGINES
from advisor.published import replay_all
from advisor.search import Bounds
from advisor.store import Store
from tests.support.fake_core import FakeCore
from tests.support.problems import record
from tests.terminal.conftest import SIZE, text_of, until
from tui import published_session
from tui.app import Workbench
from tui.forms import question_of
from tui.profile_text import profile_text
from tui.session import LibrarySession
from tui.views import (
    FormProblems,
    PublishedView,
    ReplayWatcher,
    StudyForm,
    SweepForm,
    SweepView,
    SweepWatcher,
    TrialView,
    Watcher,
)
from tui.widgets.trials_table import best_first


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCore:
    fake = FakeCore()
    monkeypatch.setattr(core, "load", lambda: fake)
    return fake


def watcher(seen: list[TrialView]) -> Watcher:
    return Watcher(
        attach=lambda stop, cancel: None,
        started=lambda number, of, engine: None,
        interval=lambda interval: None,
        finished=seen.append,
    )


def test_beyond_a_limit_the_nearest_trial_is_on_top(fake: FakeCore) -> None:
    session = LibrarySession()
    form = StudyForm("linkbench", trials="8", goal="maximize ops_per_s subject to p99_us <= 1")
    seen: list[TrialView] = []
    session.tune(session.plan(form), watcher(seen))
    assert all(trial.score is None for trial in seen)
    nearest = min(seen, key=best_first)
    assert nearest.metrics["p99_us"] == min(trial.metrics["p99_us"] for trial in seen)


async def test_from_a_profile_to_a_written_file(fake: FakeCore, tmp_path: Path) -> None:
    app = Workbench(LibrarySession())
    target = tmp_path / "my.cnf"
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.screen.query_one(OptionList).option_count > 0)
        profiles = app.screen.query_one(OptionList)
        profiles.highlighted = profiles.get_option_index("linkbench")
        app.screen.query_one("#input-trials", Input).value = "8"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "press a for the advice" in text_of(app))
        assert app.screen.query_one("#trials", DataTable).row_count >= 7
        await pilot.press("a")
        await until(pilot, lambda: "no verdict between the engines" in text_of(app))
        await pilot.press("e")
        await until(pilot, lambda: bool(app.screen.query("#input-path")))
        app.screen.query_one("#input-path", Input).value = str(target)
        await pilot.click("#write")
        await until(pilot, lambda: (tmp_path / "report.md").exists())
    assert "my.cnf for MyRocks in MariaDB" in target.read_text()


def test_a_form_names_every_field_that_is_wrong() -> None:
    form = StudyForm(
        "linkbench",
        data="much",
        clients="0",
        goal="faster",
        trials="ten",
        minutes="nan",
        seconds="-1",
    )
    with pytest.raises(FormProblems) as wrong:
        LibrarySession().plan(form)
    wrong_ones = {"data", "clients", "goal", "trials", "minutes", "seconds"}
    assert set(wrong.value.problems) == wrong_ones


def test_minutes_alone_bound_a_study_whatever_its_trials() -> None:
    for trials, minutes, planned in (("", "2.5", None), ("30", "2.5", 30), ("", "", 100)):
        plan = LibrarySession().plan(StudyForm("linkbench", trials=trials, minutes=minutes))
        assert plan.trials == planned
        assert plan.details[1] == Bounds(
            trials=planned if trials else None, minutes=2.5 if minutes else None
        )


def test_an_empty_form_asks_what_the_profile_asks() -> None:
    plan = LibrarySession().plan(StudyForm("linkbench"))
    assert plan.goal == "maximize ops_per_s"
    assert plan.trials == LibrarySession().usual_bounds().trials


def test_a_form_may_ask_for_a_study_without_earlier_ones() -> None:
    asked, _ = question_of(StudyForm("linkbench", cold=True))
    usual, _ = question_of(StudyForm("linkbench"))
    assert asked.cold and not usual.cold


def test_trials_count_from_one_and_say_what_differs(fake: FakeCore) -> None:
    session, seen = LibrarySession(), []
    session.tune(session.plan(StudyForm("linkbench", trials="4", engine="lsm")), watcher(seen))
    assert [trial.number for trial in seen][:3] == [1, 2, 3]
    assert seen[0].changed == "the defaults"
    assert seen[1].changed == "rule: tuning guide"


def test_a_stored_study_gives_the_same_advice_again(fake: FakeCore) -> None:
    session = LibrarySession()
    told = session.tune(session.plan(StudyForm("linkbench", trials="8")), watcher([]))
    again = session.outcome(told.study)
    assert (again.engine, again.changes, again.columns) == (told.engine, told.changes, told.columns)


def test_a_stopped_study_still_gives_advice(fake: FakeCore, own_results: Path) -> None:
    session = LibrarySession()
    stops = []
    stopping = Watcher(
        attach=lambda stop, cancel: stops.append(stop),
        started=lambda number, of, engine: None,
        interval=lambda interval: None,
        finished=lambda trial: stops[0]() if trial.number == 2 else None,
    )
    told = session.tune(session.plan(StudyForm("linkbench", trials="30")), stopping)
    assert told.trials == 2
    assert len(Store(own_results).trials(told.study)) == 2


def test_the_users_own_file_decides_which_product_comes_first(
    fake: FakeCore, tmp_path: Path
) -> None:
    mine = tmp_path / "my.cnf"
    mine.write_text("[mysqld]\nrocksdb_block_cache_size=1G\n")
    session = LibrarySession()
    form = StudyForm("linkbench", trials="4", engine="lsm", current=str(mine))
    told = session.tune(session.plan(form), watcher([]))
    assert session.dialects(told)[0].name == "myrocks-mariadb-10.11"


def test_the_file_is_previewed_and_written_for_either_engine(
    fake: FakeCore, tmp_path: Path
) -> None:
    session = LibrarySession()
    told = session.tune(session.plan(StudyForm("linkbench", trials="12")), watcher([]))
    offered = session.dialects(told)
    own = [one.name for one in offered if not one.remark]
    others = [one for one in offered if one.remark]
    assert set(own) == set(dialects.for_engine(told.engine)) and own[0] == offered[0].name
    assert {dialects.engine_of(one.name) for one in others} == {*ENGINES} - {told.engine}
    for one in (offered[0], others[0]):
        target = tmp_path / one.name / one.file_name
        session.export(told, one.name, target, force=False)
        assert session.preview(told, one.name) == target.read_text()
    assert all(one.remark.split()[0] == dialects.engine_of(one.name) for one in others)


def test_the_outcome_has_what_lines_buy_and_what_knobs_weigh(fake: FakeCore) -> None:
    session = LibrarySession()
    told = session.tune(session.plan(StudyForm("linkbench", trials="40")), watcher([]))
    again = session.outcome(told.study)
    assert any(one.alone is not None or one.company is not None for one in told.changes)
    assert [share for _, share in told.importance] == sorted(
        (share for _, share in told.importance), reverse=True
    )
    assert told.importance != () and again.importance == told.importance
    assert told.robust is None


def test_profiles_of_the_current_folder_are_listed_and_mistakes_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from advisor.profile import load

    text = profile_text(load("linkbench"))
    (tmp_path / "good.toml").write_text(text)
    (tmp_path / "bad.toml").write_text(text.replace("clients = ", "clients = -"))
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    monkeypatch.chdir(tmp_path)
    local = {one.name: one for one in LibrarySession().profiles() if one.name.endswith(".toml")}
    assert set(local) == {"good.toml", "bad.toml"}
    assert local["good.toml"].problem == ""
    assert "clients" in local["bad.toml"].problem


def test_a_pipe_or_an_endless_file_among_the_profiles_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "endless.toml").symlink_to("/dev/zero")
    monkeypatch.chdir(tmp_path)
    assert not any(one.name.endswith(".toml") for one in LibrarySession().profiles())


@pytest.mark.parametrize("text", ["x" * 300, "~nobody-knows/my.cnf", "9" * 5000])
def test_a_form_says_what_is_wrong_with_a_name_or_number_that_nobody_can_mean(text: str) -> None:
    form = StudyForm(profile="linkbench", current=text, clients=text, trials=text, data=text)
    with pytest.raises(FormProblems) as caught:
        LibrarySession().plan(form)
    assert set(caught.value.problems) == {"current", "clients", "trials", "data"}


def test_a_form_says_where_in_its_file_something_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "my.cnf").write_text("[mysqld]\ninnodb_io_capacity=lots\n")
    with pytest.raises(FormProblems, match=r"my.cnf:2: found innodb_io_capacity=lots"):
        LibrarySession().plan(StudyForm(profile="linkbench", current=str(tmp_path / "my.cnf")))


def test_a_study_is_deleted_from_the_results(fake: FakeCore, own_results: Path) -> None:
    Store(own_results).add_study(record("night"))
    LibrarySession(own_results).delete("night")
    assert LibrarySession(own_results).studies() == []


@pytest.mark.parametrize("moment", ["before", "in a trial", "after a trial"])
def test_a_cancelled_study_ends_at_once_and_gives_no_advice(
    moment: str, fake: FakeCore, own_results: Path
) -> None:
    session = LibrarySession(own_results)
    cancels: list[Callable[[], None]] = []

    def attach(_stop: Callable[[], None], cancel: Callable[[], None]) -> None:
        cancels.append(cancel)
        if moment == "before":
            cancel()

    def cancel_if(now: str) -> None:
        if now == moment:
            cancels[0]()

    watcher = Watcher(
        attach,
        started=lambda number, planned, engine: None,
        interval=lambda interval: cancel_if("in a trial"),
        finished=lambda row: cancel_if("after a trial"),
    )
    with pytest.raises(Cancelled):
        session.tune(session.plan(StudyForm("linkbench", trials="12")), watcher)
    kept = Store(own_results).trials("linkbench-1") if own_results.exists() else []
    assert len(kept) == (1 if moment == "after a trial" else 0)
    assert len(fake.specs) == (0 if moment == "before" else 1)


def sweep_watcher(seen: list[SweepView], steps: list[str]) -> SweepWatcher:
    return SweepWatcher(attach=lambda stop, cancel: None, step=steps.append, moved=seen.append)


def test_a_sweep_is_told_point_by_point_and_read_back(fake: FakeCore) -> None:
    session = LibrarySession()
    plan = session.plan_sweep(SweepForm("linkbench", "memory=2GiB,4GiB,8GiB"))
    seen: list[SweepView] = []
    steps: list[str] = []
    found = session.sweep(plan, sweep_watcher(seen, steps))
    assert [view.points for view in seen] == list(range(7))
    assert steps == ["2GiB", "4GiB", "8GiB"]
    assert [step.label for step in found.steps] == steps and found.planned == 6
    assert "interrupted" not in " ".join(seen[1].sentences)
    assert session.stored_sweep(found.name) == found
    (row,) = session.sweeps()
    assert (row.name, row.points, row.planned) == ("linkbench-sweep-1", 6, 6)


def test_a_stored_map_is_read_as_a_grid(fake: FakeCore) -> None:
    found = advisor.sweep("linkbench", ["memory=2GiB,4GiB,8GiB", "clients=1,4"])
    session = LibrarySession()
    (row,) = session.sweeps()
    assert (row.axis, row.points, row.planned) == ("memory and clients", 12, 12)
    view = session.stored_sweep(found.name)
    assert view.grid is not None and view.steps == ()
    assert view.grid.labels == ("2GiB", "4GiB", "8GiB")
    assert [(label, len(line)) for label, line in view.grid.lines] == [("1", 3), ("4", 3)]


@pytest.mark.parametrize("when", ["before", "in a step"])
def test_a_cancelled_sweep_drops_its_step(fake: FakeCore, when: str) -> None:
    session = LibrarySession()
    plan = session.plan_sweep(SweepForm("linkbench", "memory=2GiB,4GiB"))
    cancels: list[Callable[[], None]] = []

    def attach(_stop: Callable[[], None], cancel: Callable[[], None]) -> None:
        cancels.append(cancel)
        if when == "before":
            cancel()

    def step(_label: str) -> None:
        if when == "in a step":
            cancels[0]()

    watcher = SweepWatcher(attach, step, lambda view: None)
    if when == "before":
        assert session.sweep(plan, watcher).points == 0
    else:
        with pytest.raises(Cancelled):
            session.sweep(plan, watcher)
    assert session.sweeps()[0].points == 0


@pytest.mark.parametrize(
    ("form", "fields"),
    [
        (SweepForm("linkbench", ""), {"over"}),
        (SweepForm("linkbench", "memory=1GiB..2GiB", steps="1", goal="fast"), {"steps", "goal"}),
        (
            SweepForm("linkbench", "memory=1GiB..2GiB", memory="4GiB", retune="2"),
            {"memory", "retune"},
        ),
        (SweepForm("linkbench", "innodb_io_capacity=200,400", retune="20"), {"retune"}),
        (SweepForm("fillrandom", "clients=1,x", seconds="-1"), {"over", "seconds"}),
        (SweepForm("linkbench", "requests_per_second=10,99999999"), {"over"}),
        (SweepForm("fillrandom", "clients=1,70000"), {"over"}),
    ],
)
def test_the_form_of_a_sweep_names_every_field_that_is_wrong(
    form: SweepForm, fields: set[str]
) -> None:
    with pytest.raises(FormProblems) as wrong:
        LibrarySession().plan_sweep(form)
    assert set(wrong.value.problems) == fields


def reported(spec: dict[str, Any], *, cancelled: Callable[[], bool]) -> dict[str, Any]:
    """A run of any engine: twice as many operations per second on the LSM."""
    rate = 2000.0 if spec["engine"] == "lsm" else 1000.0
    return {"metrics": {"ops_per_s": rate, "write_kb_per_op": 1.0}, "intervals": [], "load": {}}


@pytest.fixture
def in_this_process(fake: FakeCore, monkeypatch: pytest.MonkeyPatch) -> None:
    own = partial(replay_all, run=reported, workers=1)
    monkeypatch.setattr(published_session, "replay_all", own)


def test_a_replay_fills_and_is_there_when_it_is_looked_at_again(in_this_process: None) -> None:
    session = LibrarySession()
    assert "linkbench-50gb" in [row.name for row in session.experiments()]
    before = session.published("linkbench-50gb")
    assert not any(one.simulated for one in before.figures)
    assert any(one.published for one in before.figures)
    seen: list[PublishedView] = []
    counts: list[tuple[int, int]] = []
    watcher = ReplayWatcher(
        attach=lambda stop, cancel: None,
        runs=lambda done, runs: counts.append((done, runs)),
        moved=seen.append,
    )
    found = session.replay("linkbench-50gb", watcher)
    assert counts[0][0] == 0 and counts[-1][0] == counts[-1][1] > 0
    assert [one.metric for one in seen[-1].figures] == [one.metric for one in before.figures]
    assert any(one.ratio for one in found.figures)
    assert session.published("linkbench-50gb") == found


def test_claims_wait_for_their_runs_and_some_for_nothing(in_this_process: None) -> None:
    claims = {one.id: one for one in LibrarySession().published("linkbench-flash").claims}
    assert (claims["G3"].verdict, claims["G3"].why) == ("not yet", "")
    assert claims["G7"].verdict == "no answer" and claims["G7"].why


def test_a_replay_that_is_ended_before_its_first_run_says_so(in_this_process: None) -> None:
    watcher = ReplayWatcher(
        attach=lambda stop, cancel: stop(),
        runs=lambda done, runs: None,
        moved=lambda view: None,
    )
    with pytest.raises(Cancelled, match="before a run gave a figure"):
        LibrarySession().replay("linkbench-50gb", watcher)
