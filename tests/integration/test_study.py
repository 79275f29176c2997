"""Whole studies on a core whose best settings are known."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from advisor import knobs
from advisor.core import DiskFull
from advisor.errors import InputError
from advisor.search import (
    BestChanged,
    Bounds,
    Event,
    IntervalSeen,
    Question,
    Study,
    StudyFinished,
    TrialFinished,
    TrialStarted,
)
from advisor.search.doubts import LONGER
from advisor.search.ranking import candidates
from advisor.search.rules import rules
from advisor.store import Store
from advisor.trial import settings_key
from tests.support.fake_core import FakeCore, RunError, SpecError
from tests.support.problems import GIB, problem, study

MIB = 1 << 20


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Study:
    found = study(tmp_path_factory.mktemp("finished"))
    assert found.run() == "complete"
    return found


def test_a_study_finds_the_better_engine_and_what_matters(finished: Study) -> None:
    found = finished
    best = found.best()
    assert best is not None and best.engine == "lsm"
    default = next(t for t in found.trials if t.role == "default" and t.engine == "lsm")
    # MyRocks' own block cache has 512 MiB, RocksDB's 32.
    assert best.metrics()["ops_per_s"] > 2 * default.metrics["ops_per_s"]
    assert best.settings["filter_policy"] != "nullptr"
    assert int(best.settings["block_cache"]) > 2 * GIB


def test_a_goal_that_only_the_other_engine_reaches_makes_it_win(tmp_path: Path) -> None:
    profile = problem(goal="maximize ops_per_s subject to write_kb_per_op <= 5")
    lsm_like = FakeCore()

    def swap(spec: Mapping[str, Any]) -> None:
        if spec["engine"] == "lsm":
            raise RunError("corruption", False)

    lsm_like.fail = swap
    found = study(tmp_path, question=Question(profile), core=lsm_like, trials=20)
    found.run()
    assert found.best() is None
    free = problem(goal="maximize ops_per_s subject to write_kb_per_op <= 9")
    other = study(tmp_path, question=Question(free), core=lsm_like, trials=20, name="free")
    other.run()
    best = other.best()
    assert best is not None and best.engine == "btree"


def test_seeds_are_defaults_current_settings_and_rules_of_both_engines(tmp_path: Path) -> None:
    current = {"innodb_buffer_pool_size": 300 * MIB}
    question = Question(problem(), current={"btree": current})
    found = study(tmp_path, question=question, trials=100)
    found.run()
    roles = [(t.engine, t.role) for t in found.trials]
    assert roles[:2] == [("lsm", "default"), ("btree", "default")]
    assert ("btree", "current") in roles[:4] and ("lsm", "current") not in roles
    for engine in knobs.ENGINES:
        names = [t.rule for t in found.trials if (t.engine, t.role) == (engine, "rule")]
        assert names == [rule.name for rule in rules(engine)]
    mine = next(t for t in found.trials if t.role == "current")
    assert mine.settings == {**knobs.defaults("btree"), **current}


def test_rules_of_thumb_take_a_fifth_of_the_trials_at_most(tmp_path: Path) -> None:
    found = study(tmp_path, trials=40)
    found.run()
    tried = [(t.engine, t.rule) for t in found.trials if t.role == "rule"]
    assert tried == [(e, rules(e)[place].name) for place in range(4) for e in knobs.ENGINES]


def test_what_was_not_yet_steady_is_run_for_longer_before_it_leads(tmp_path: Path) -> None:
    short = Bounds(trials=30).measured_seconds()

    def flatters(spec: Mapping[str, Any]) -> bool:
        return spec["seconds"] <= short and spec["options"].get("max_background_jobs", 0) > 2

    events: list[Event] = []
    found = study(tmp_path, trials=30, core=FakeCore(flatters=flatters), events=events)
    found.run()
    unsteady = [trial for trial in found.trials if trial.steady is False]
    longer = [trial for trial in found.trials if trial.seconds > short]
    assert unsteady and longer
    assert {trial.seconds for trial in longer} == {LONGER * short}
    for event in events:
        assert not isinstance(event, BestChanged) or event.trial.steady is not False
    best = found.best()
    assert best is not None and best.has_settled
    assert best.metrics()["ops_per_s"] <= max(
        trial.metrics["ops_per_s"] for trial in found.trials if trial.steady is not False
    )


def test_a_study_that_goes_on_knows_what_longer_trials_have_said(tmp_path: Path) -> None:
    def flatters(spec: Mapping[str, Any]) -> bool:
        return bool(spec["seconds"] < 2 and spec["engine"] == "lsm")

    core = FakeCore(flatters=flatters)
    study(tmp_path, trials=12, core=core).run()
    again = study(tmp_path, trials=24, core=core)
    again.run()
    for seen in candidates(again.trials):
        repeats = [trial.seconds for trial in seen.trials if trial.role == "repeat"]
        assert all(seconds == seen.seconds for seconds in repeats)


def test_durability_stays_as_it_is_unless_opened(finished: Study) -> None:
    found = finished
    for trial in found.trials:
        for name, knob in knobs.catalogue(trial.engine).items():
            if knob.durability:
                assert trial.settings[name] == found.question.defaults(trial.engine)[name]


def test_both_engines_commit_as_durably_as_the_one_whose_settings_are_known() -> None:
    lax = {"innodb_flush_log_at_trx_commit": 2}
    assert Question(problem(), current={"btree": lax}).defaults("lsm")["sync"] is False
    assert Question(problem()).defaults("lsm")["sync"] is True
    assert knobs.defaults("lsm")["sync"] is False


def test_every_run_fits_the_memory(tmp_path: Path) -> None:
    core = FakeCore()
    found = study(tmp_path, question=Question(problem(memory="256MiB")), core=core)
    found.run()
    run = [trial for trial in found.trials if trial.outcome != "rejected"]
    assert len(core.specs) == len(run) == 28
    assert all((trial.budget_bytes or 0) <= 256 * MIB for trial in run)


def test_current_settings_over_the_budget_are_rejected_without_a_run(tmp_path: Path) -> None:
    core = FakeCore()
    question = Question(problem(), current={"lsm": {"block_cache": 16 * GIB}})
    found = study(tmp_path, question=question, core=core, trials=12)
    found.run()
    rejected = [t for t in found.trials if t.outcome == "rejected"]
    assert [t.role for t in rejected] == ["current"]
    assert len(core.specs) == len(found.trials) - 1


def test_limits_of_the_goal_are_kept_by_the_best(tmp_path: Path) -> None:
    profile = problem(goal="minimize reads_per_op subject to ops_per_s >= 12000, space_amp <= 1.2")
    found = study(tmp_path, question=Question(profile))
    found.run()
    best = found.best()
    assert best is not None and best.engine == "lsm"
    assert best.metrics()["ops_per_s"] >= 12_000


def test_the_best_and_the_defaults_are_repeated_with_fresh_seeds(finished: Study) -> None:
    found = finished
    best = found.best()
    assert best is not None
    repeats = [t for t in found.trials if t.role == "repeat"]
    keys = [settings_key(t.engine, t.settings) for t in repeats]
    assert settings_key(best.engine, best.settings) in keys
    assert settings_key("lsm", found.question.defaults("lsm")) in keys
    assert all(t.seed > found.question.seed for t in repeats)


def test_no_settings_are_searched_twice(finished: Study) -> None:
    found = finished
    searched = [t for t in found.trials if t.role != "repeat"]
    assert len({settings_key(t.engine, t.settings) for t in searched}) == len(searched)


def test_the_same_seed_gives_the_same_study(tmp_path: Path) -> None:
    one, two = study(tmp_path, name="one", trials=20), study(tmp_path, name="two", trials=20)
    one.run()
    two.run()
    assert [t.settings for t in one.trials] == [t.settings for t in two.trials]


def test_events_tell_the_whole_story(tmp_path: Path) -> None:
    events: list[Event] = []
    found = study(tmp_path, trials=10, events=events)
    found.run()
    started = [e for e in events if isinstance(e, TrialStarted)]
    finished = [e for e in events if isinstance(e, TrialFinished)]
    assert [e.number for e in started] == [e.trial.number for e in finished]
    assert [e.trial for e in finished] == list(found.trials)
    assert all(e.planned == 10 for e in started)
    assert sum(isinstance(e, IntervalSeen) for e in events) == 3 * len(finished)
    last = events[-1]
    assert isinstance(last, StudyFinished) and last.ending == "complete"
    bests = [e for e in events if isinstance(e, BestChanged)]
    assert bests[0].previous_score is None and len(bests) >= 2


def test_a_trial_is_never_numbered_past_the_last_one(tmp_path: Path) -> None:
    events: list[Event] = []
    # The current settings need more than there is and are not run.
    current = {"btree": {"innodb_buffer_pool_size": 16 * GIB}}
    question = Question(problem(), engines=("btree",), current=current)
    study(tmp_path, question=question, trials=2, events=events).run()
    started = [e for e in events if isinstance(e, TrialStarted)]
    assert [(e.number, e.planned, e.role) for e in started] == [
        (1, 2, "default"),
        (2, 2, "current"),
        (3, 3, "rule"),
    ]


def test_each_trial_is_stored_before_the_next_is_asked_for(tmp_path: Path) -> None:
    stored: list[int] = []
    store = Store(tmp_path / "results.duckdb")

    def watch(event: Event) -> None:
        if isinstance(event, TrialStarted):
            stored.append(len(store.trials("test")))

    found = Study(
        "test",
        Question(problem()),
        store,
        bounds=Bounds(trials=10),
        directory=tmp_path,
        core=FakeCore(),
        watcher=watch,
    )
    found.run()
    assert stored == list(range(len(stored)))


def test_cancelling_inside_a_trial_drops_it_and_keeps_the_others(tmp_path: Path) -> None:
    events: list[Event] = []
    found = study(tmp_path, events=events)

    def watch(event: Event) -> None:
        events.append(event)
        if isinstance(event, IntervalSeen) and event.number == 4:
            found.cancel()

    found._watcher = watch
    assert found.run() == "cancelled"
    assert len(found.trials) == len(Store(tmp_path / "results.duckdb").trials("test")) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["results.duckdb"]


def test_stopping_lets_the_running_trial_end(tmp_path: Path) -> None:
    found = study(tmp_path)

    def watch(event: Event) -> None:
        if isinstance(event, IntervalSeen) and event.number == 4:
            found.stop()

    found._watcher = watch
    assert found.run() == "cancelled"
    assert len(found.trials) == 4
    assert found.measure([("lsm", knobs.defaults("lsm"), 1)], "ablation") == []


def test_a_study_goes_on_under_its_name(tmp_path: Path) -> None:
    first = study(tmp_path, trials=10)
    first.run()
    assert len(first.trials) == 8
    core = FakeCore()
    second = study(tmp_path, trials=30, core=core)
    assert second.trials == first.trials
    second.run()
    assert len(core.specs) == 21 - 8
    assert [t.number for t in second.trials] == list(range(1, 22))
    tried = [settings_key(t.engine, t.settings) for t in second.trials if t.role != "repeat"]
    assert len(set(tried)) == len(tried)


def test_a_stored_study_is_loaded_without_its_question(tmp_path: Path) -> None:
    question = Question(problem(), current={"lsm": {"max_background_jobs": 4}}, seed=5)
    first = study(tmp_path, question=question, trials=6)
    first.run()
    loaded = Study.load("test", first._store, core=FakeCore())
    assert loaded.question == first.question
    with pytest.raises(InputError, match="no study"):
        Study.load("other", first._store, core=FakeCore())


@pytest.mark.parametrize(
    ("question", "part"),
    [
        (Question(problem(goal="minimize p99_us")), "profile"),
        (Question(problem(memory="8GiB")), "profile"),
        (Question(problem(), seed=2), "seed"),
        (Question(problem(), engines=("lsm",)), "engines"),
        (Question(problem(), clock="simulated"), "clock"),
        (Question(problem(), current={"lsm": {"max_background_jobs": 4}}), "current"),
    ],
)
def test_another_question_under_the_same_name_is_refused(
    tmp_path: Path, question: Question, part: str
) -> None:
    study(tmp_path)
    with pytest.raises(InputError, match="or a new name") as raised:
        study(tmp_path, question=question)
    assert raised.value.where == part
    assert "\n" not in str(raised.value)


def test_failed_trials_are_recorded_and_the_study_goes_on(tmp_path: Path) -> None:
    def fail(spec: Mapping[str, Any]) -> None:
        if spec["options"].get("compression") == "kLZ4Compression":
            raise RunError("corruption in 7.sst", False)

    found = study(tmp_path, core=FakeCore(fail=fail), trials=20)
    assert found.run() == "complete"
    failed = [t for t in found.trials if t.outcome == "failed"]
    assert failed and all(t.error == "corruption in 7.sst" for t in failed)


def test_a_full_disk_ends_the_study_and_keeps_the_results(tmp_path: Path) -> None:
    core = FakeCore()

    def fail(spec: Mapping[str, Any]) -> None:
        if len(core.specs) == 4:
            raise RunError("no space left", True)

    core.fail = fail
    found = study(tmp_path, core=core)
    with pytest.raises(DiskFull):
        found.run()
    assert len(Store(tmp_path / "results.duckdb").trials("test")) == 3


def test_a_study_of_one_engine_tries_no_other(tmp_path: Path) -> None:
    found = study(tmp_path, question=Question(problem(), engines=("btree",)), trials=12)
    found.run()
    assert {t.engine for t in found.trials} == {"btree"}


def test_optuna_writes_nothing_to_the_screen(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    study(tmp_path, trials=14).run()
    assert capfd.readouterr() == ("", "")


def test_a_trial_that_the_core_refuses_has_failed_and_the_study_goes_on(tmp_path: Path) -> None:
    def refuse(spec: Mapping[str, Any]) -> None:
        if spec["engine"] == "btree":
            raise SpecError("batch bytes", "9", "at most 8")

    found = study(tmp_path, core=FakeCore(fail=refuse), trials=12)
    found.run()
    best = found.best()
    assert best is not None and best.engine == "lsm"
    refused = [t for t in Store(tmp_path / "results.duckdb").trials("test") if t.engine == "btree"]
    assert refused and {(t.outcome, t.error) for t in refused} == {
        ("failed", "run:batch bytes: found 9; accepted: at most 8")
    }


def test_a_study_whose_trials_are_all_refused_ends_with_what_is_accepted(tmp_path: Path) -> None:
    def refuse(spec: Mapping[str, Any]) -> None:
        raise SpecError("workload.query_clients", "9", "at most 4")

    found = study(tmp_path, core=FakeCore(fail=refuse), trials=40)
    with pytest.raises(
        InputError, match=r"query_clients: found 9, in all \d+ trials; accepted: at m"
    ):
        found.run()
    assert len(found.trials) < 20


def test_a_goal_of_what_no_trial_of_the_study_tells_is_refused(
    tmp_path: Path,
) -> None:
    goal = "maximize ops_per_s subject to drive_years >= 5"
    with pytest.raises(InputError, match="drive_years in trials that are measured"):
        study(tmp_path, question=Question(problem(goal=goal)))
    goal = "minimize process_memory_bytes"
    with pytest.raises(InputError, match="process_memory_bytes, which real engines alone tell"):
        study(tmp_path, question=Question(problem(goal=goal), clock="simulated"))
