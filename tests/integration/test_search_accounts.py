"""What a search counts, keeps and tells its samplers, whatever happens beside it."""

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from advisor.search import Event, Question, Study, TrialFinished
from advisor.store import Store
from tests.support.fake_core import FakeCore
from tests.support.problems import problem, study


def simulated(folder: Path, **changes: Any) -> Study:
    profile = problem(hardware="nvme-2024")
    question = Question(profile, clock="simulated", seed=1, seconds=0.5, cold=True)
    return study(folder, question=question, **changes)


def searched(folder: Path) -> Study:
    """A study that has looked at some settings of both engines."""
    found = simulated(folder, trials=24)
    found.run()
    return found


def test_what_the_answer_measured_is_no_part_of_the_search(tmp_path: Path) -> None:
    found = searched(tmp_path)
    best = found._tallies[0].best
    assert best is not None
    asked = found._looking._next_engine(found.engines)
    made = len(found.looks)
    look = next(one for one in found.looks if one.key == best.key)
    for seed in range(40):
        answering = {"role": "ablation", "seed": seed, "id": str(UUID(int=seed)), "number": 0}
        run = replace(look, **answering, metrics={"ops_per_s": 1.0})
        found._store.add_trial(run, found.name)
    again = simulated(tmp_path, trials=100)
    assert len(again.looks) == made + 40
    assert again._looking._next_engine(again.engines) == asked
    assert again._tallies[0].candidates[look.key].trials == best.trials


def test_a_repetition_that_fails_does_not_undo_the_first_look(tmp_path: Path) -> None:
    found = searched(tmp_path)
    look = next(one for one in found.looks if one.finished)
    failed = replace(look, role="repeat", outcome="failed", metrics={}, error="given up")
    scores, _ = found._looking._answer(failed)
    known = found._looking._doubts().all_looks(look)
    assert known is not None and scores == (known.score(found.goal),)


def test_settings_of_which_no_look_finished_have_failed(tmp_path: Path) -> None:
    found = searched(tmp_path)
    failed = replace(found.looks[0], settings={"max_background_jobs": 99}, outcome="failed")
    assert found._looking._answer(failed)[0] is None


def test_what_ended_behind_the_running_trial_is_kept_when_a_study_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second trial only ends once the two begun after it have ended."""
    monkeypatch.setattr("advisor.search.runner._cores", lambda: 4)
    others = threading.Semaphore(0)
    core = FakeCore()

    def wait_for_others(spec: Mapping[str, Any]) -> None:
        place = next(i for i, one in enumerate(core.specs) if one is spec)
        if place == 1:
            assert others.acquire(timeout=10) and others.acquire(timeout=10)
        elif place in (2, 3):
            others.release()

    core.fail = wait_for_others
    events: list[Event] = []
    found = simulated(tmp_path, core=core, events=events)

    def watch(event: Event) -> None:
        events.append(event)
        if isinstance(event, TrialFinished) and event.trial.number == 1:
            found.stop()

    found._watcher = watch
    assert found.run() == "cancelled"
    stored = Store(tmp_path / "results.duckdb").trials("test")
    assert [one.id for one in stored] == [one.id for one in found.trials]
    assert {one.number for one in stored} >= {1, 3, 4}
    told = [event.trial.number for event in events if isinstance(event, TrialFinished)]
    assert told == [one.number for one in stored]


def test_an_engine_without_settings_left_leaves_the_search_to_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = simulated(tmp_path, trials=60)
    monkeypatch.setattr(found._looking._samplers["btree"], "ask", lambda: None)
    monkeypatch.setattr(found._looking._forecasts["btree"], "next", lambda looks: None)
    found.run()
    searched = Counter(one.engine for one in found.looks if one.role == "search")
    assert searched["btree"] == 0 and searched["lsm"] >= 5


class Costly(FakeCore):
    """What is faster writes more, so that no settings beat others in both."""

    def _answer(self, spec: Mapping[str, Any]) -> dict[str, float]:
        metrics = super()._answer(spec)
        return metrics | {"write_kb_per_op": metrics["ops_per_s"] / 1000.0}


def test_what_no_other_beats_in_all_objectives_is_looked_at_once_more(tmp_path: Path) -> None:
    goal = "maximize ops_per_s, minimize write_kb_per_op"
    question = Question(
        problem(hardware="nvme-2024", goal=goal), clock="simulated", seconds=0.5, cold=True
    )
    found = study(tmp_path, question=question, trials=20, core=Costly())
    found.run()
    again = [one for one in found._tallies[0].candidates.values() if one.repeats]
    assert len(again) >= 3 and all(one.repeats == 1 for one in again)
