"""What a study answers holds, and says no more than its trials do: limits, zeros, verdicts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from advisor import report
from advisor.errors import WorkError
from advisor.evidence import Evidence
from advisor.hardware import hardware
from advisor.knobs import Engine, defaults
from advisor.recommend import Recommendation, about_engine, about_settings, recommend, warning
from advisor.recommend.verdict import OWN_ENGINES
from advisor.search import Question, Study
from advisor.trial import Clock
from tests.support.fake_core import FakeCore, RunError
from tests.support.problems import problem, study
from tui import delivery
from tui.advice_session import outcome_of

JOBS = "max_background_jobs"
FEW_JOBS = defaults("lsm")[JOBS]


@dataclass
class ShapedCore(FakeCore):
    """A core whose metrics a test may bend."""

    shape: Callable[[Mapping[str, Any]], Mapping[str, float]] = field(default=lambda spec: {})

    def _answer(self, spec: Mapping[str, Any]) -> dict[str, float]:
        return {**super()._answer(spec), **self.shape(spec)}


def fast_and_late(spec: Mapping[str, Any]) -> Mapping[str, float]:
    """With the default jobs twice as fast, and three times as far beyond a limit of p99."""
    few = spec["options"][JOBS] == FEW_JOBS
    return {"ops_per_s": 20_000.0 if few else 10_000.0, "p99_us": 960.0 if few else 340.0}


def stalling(spec: Mapping[str, Any]) -> Mapping[str, float]:
    return {"stall_s": 3.2 if spec["options"][JOBS] == FEW_JOBS else 0.0}


def answered(
    folder: Path, goal: str, core: FakeCore, trials: int = 16, engines: tuple[Engine, ...] = ()
) -> tuple[Study, Recommendation]:
    made = study(
        folder, question=Question(problem(goal=goal), engines=engines), core=core, trials=trials
    )
    made.run()
    return made, recommend(made)


# limits and zeros


def test_the_nearest_settings_are_recommended_where_nothing_keeps_a_limit(tmp_path: Path) -> None:
    goal = "maximize ops_per_s subject to p99_us <= 100"
    made, found = answered(tmp_path, goal, ShapedCore(shape=fast_and_late), 60, engines=("lsm",))
    assert found.settings[JOBS] != FEW_JOBS
    told = "no settings kept p99_us <= 100; these come nearest"
    assert warning(found).startswith(f"{told} (p99_us: ")
    assert warning(found).endswith("default 960, recommended 340)")
    assert report.markdown(Evidence(found)).splitlines()[2] == f"**Warning:** {warning(found)}."
    change = next(change for change in found.changes if change.knob == JOBS)
    assert change.evidence == "measured: without it, it goes farther beyond p99_us <= 100"
    assert recommend(made, measure=False).settings == found.settings


def test_the_nearest_settings_are_recommended_without_further_runs(tmp_path: Path) -> None:
    goal = "maximize ops_per_s subject to p99_us <= 100"
    question = Question(problem(goal=goal), engines=("lsm",))
    made = study(tmp_path, question=question, core=ShapedCore(shape=fast_and_late), trials=6)
    made.run()
    assert recommend(made, measure=False).settings[JOBS] != FEW_JOBS


def test_a_goal_that_reached_zero_is_recommended(tmp_path: Path) -> None:
    core = ShapedCore(shape=stalling)
    made, found = answered(tmp_path, "minimize stall_s", core, 60, engines=("lsm",))
    assert [change.knob for change in found.changes] == [JOBS]
    assert found.changes[0].evidence.startswith("measured: buys -100% stall_s")
    assert found.gain is not None and found.gain.gain == 1.0
    assert recommend(made, measure=False).changes == found.changes


def test_a_winner_that_breaks_its_limit_when_repeated_gives_way(tmp_path: Path) -> None:
    def late_when_repeated(spec: Mapping[str, Any]) -> Mapping[str, float]:
        few = spec["options"][JOBS] == FEW_JOBS
        if few:
            return {"ops_per_s": 10_000.0, "p99_us": 400.0}
        return {"ops_per_s": 20_000.0, "p99_us": 490.0 if spec["seed"] == 1 else 2000.0}

    core = ShapedCore(shape=late_when_repeated)
    goal = "maximize ops_per_s subject to p99_us <= 500"
    made, found = answered(tmp_path, goal, core, trials=40, engines=("lsm",))
    assert found.broken == ()
    assert found.settings[JOBS] == FEW_JOBS
    assert recommend(made, measure=False).settings == found.settings


# verdicts


@pytest.mark.parametrize("trials", [1, 2, 3, 4])
def test_no_engine_wins_before_both_ran_twice(tmp_path: Path, trials: int) -> None:
    _, found = answered(tmp_path, "maximize ops_per_s", FakeCore(), trials)
    assert found.verdict is not None and found.verdict.winner is None
    told = about_engine(found)
    assert "no verdict between the engines" in told
    answer = report.markdown(Evidence(found)).split("## ")[0]
    assert told in answer
    assert not any(claim in answer for claim in ("wins", "are equal", "only one"))


def test_five_trials_run_the_best_of_each_engine_twice(tmp_path: Path) -> None:
    made, found = answered(tmp_path, "maximize ops_per_s", FakeCore(), 5)
    assert found.verdict is not None and found.verdict.winner == "lsm"
    assert sum(trial.engine == "btree" for trial in made.trials) >= 2


def test_an_engine_whose_trials_all_failed_was_not_beaten(tmp_path: Path) -> None:
    def fail(spec: Mapping[str, Any]) -> None:
        if spec["engine"] == "btree":
            raise RunError("corruption", False)

    _, found = answered(tmp_path, "maximize ops_per_s", FakeCore(fail=fail), 12)
    assert "12 finished" not in about_engine(found)
    assert "0 of btree; 2 of each are needed" in about_engine(found)


def test_an_engine_that_reaches_no_limit_loses_after_two_runs(tmp_path: Path) -> None:
    goal = "maximize ops_per_s subject to write_kb_per_op <= 5"
    made, found = answered(tmp_path, goal, FakeCore(), 12)
    runs = sum(trial.engine == "btree" for trial in made.trials)
    assert about_engine(found) == (
        "lsm wins: no settings of btree reached write_kb_per_op <= 5, "
        f"in {runs} runs. {OWN_ENGINES}"
    )


@pytest.mark.parametrize(
    ("machine", "clock", "says_so"),
    [
        ("this-machine", "measured", True),
        ("this-machine", "simulated", True),
        ("nvme-2024", "measured", True),
        ("nvme-2024", "simulated", False),
    ],
)
def test_a_verdict_without_the_calls_of_products_says_so_wherever_it_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], machine: str, clock: Clock, says_so: bool
) -> None:
    asked = Question(problem(hardware=machine), clock=clock)
    made = study(tmp_path, question=asked, core=FakeCore(), trials=12)
    made.run()
    found = recommend(made)
    assert found.verdict is not None and found.verdict.winner is not None
    delivery.print_advice(found)
    shown = capsys.readouterr().out
    app = outcome_of(found, "", made).verdict
    told = delivery.document(found)["verdict"]
    for text in (about_engine(found), report.markdown(Evidence(found)), shown, app, told):
        assert text.count(OWN_ENGINES) == says_so


@pytest.mark.parametrize(("drive", "says_so"), [(None, True), ("ext4 on vda", False)])
def test_a_simulation_on_an_assumed_drive_says_so(
    tmp_path: Path, drive: str | None, says_so: bool
) -> None:
    machine = hardware("this-machine").model_copy(update={"drive": drive})
    asked = Question(problem(hardware=machine), clock="simulated")
    made = study(tmp_path, question=asked, core=FakeCore(), trials=2)
    made.run()
    notes = " ".join(recommend(made).notes)
    assert ("the drive of this machine was not measured" in notes) == says_so


def test_the_report_of_a_losing_engine_says_which_one_won(tmp_path: Path) -> None:
    made, best = answered(tmp_path, "maximize ops_per_s", FakeCore(), 30)
    other = recommend(made, measure=False, engine="btree")
    assert best.verdict == other.verdict
    told = report.markdown(Evidence(other))
    assert "**Engine:** btree, as asked for; lsm wins over btree" in told
    count = {engine: sum(t.engine == engine for t in made.trials) for engine in ("lsm", "btree")}
    assert f"**Tried:** 30 trials ({count['lsm']} of lsm, {count['btree']} of btree)." in told


def test_a_single_run_of_the_defaults_is_kept_because_nothing_else_was_tried(
    tmp_path: Path,
) -> None:
    _, found = answered(tmp_path, "maximize ops_per_s", FakeCore(), 1)
    assert about_settings(found) == "keep the defaults: nothing else was tried"


def test_the_score_of_the_search_is_no_gain(tmp_path: Path) -> None:
    made = study(tmp_path, question=Question(problem(), engines=("lsm",)), trials=2)
    made.run()
    found = recommend(made, measure=False)
    assert found.changes and found.gain is None
    assert "no run of their own has measured" in about_settings(found)


def test_the_gain_is_that_of_final_runs_beside_the_base_and_the_best_rule(tmp_path: Path) -> None:
    made, found = answered(tmp_path, "maximize ops_per_s", FakeCore(), 100, engines=("lsm",))
    finals = [trial for trial in made.trials if trial.role == "final"]
    seen = {trial.seed for trial in made.trials if trial.role != "final"}
    assert finals and not seen & {trial.seed for trial in finals}

    def rate(settings: Mapping[str, Any]) -> float:
        return median(t.metrics["ops_per_s"] for t in finals if t.settings == settings)

    assert found.gain is not None
    assert found.gain.gain == pytest.approx(rate(found.settings) / rate(found.current) - 1)
    assert found.columns[0].title.startswith("rule: ")
    assert found.columns[0].settings in [trial.settings for trial in finals]


def test_an_engine_without_a_trial_is_told_apart_from_a_study_without_one(tmp_path: Path) -> None:
    made, _ = answered(tmp_path, "maximize ops_per_s", FakeCore(), 1)
    told = "no trial of btree has measured ops_per_s yet; 1 trial was of another engine"
    with pytest.raises(WorkError, match=told):
        recommend(made, measure=False, engine="btree")
