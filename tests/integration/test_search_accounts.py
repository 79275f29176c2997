"""What a search counts, keeps and tells its samplers, whatever happens beside it."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

from advisor.search import Question, Study
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
    asked = found._next_engine()
    made = len(found.looks)
    look = next(one for one in found.looks if one.key == best.key)
    for seed in range(40):
        answering = {"role": "ablation", "seed": 100 + seed, "id": str(UUID(int=seed))}
        run = replace(look, **answering, metrics={"ops_per_s": 1.0})
        found._store.add_trial(run, found.name)
    again = simulated(tmp_path, trials=100)
    assert len(again.looks) == made + 40
    assert again._next_engine() == asked
    assert again._tallies[0].candidates[look.key].trials == best.trials


def test_a_repetition_that_fails_does_not_undo_the_first_look(tmp_path: Path) -> None:
    found = searched(tmp_path)
    look = next(one for one in found.looks if one.finished)
    failed = replace(look, role="repeat", outcome="failed", metrics={}, error="given up")
    scores, _ = found._answer(failed)
    known = found._looked_at(look)
    assert known is not None and scores == (known.score(found.goal),)


def test_settings_of_which_no_look_finished_have_failed(tmp_path: Path) -> None:
    found = searched(tmp_path)
    failed = replace(found.looks[0], settings={"max_background_jobs": 99}, outcome="failed")
    assert found._answer(failed)[0] is None
