"""Studies whose contenders climb: what a small copy finds is proven on a larger one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from advisor.recommend import recommend
from advisor.scale import MIB, Ladder, Scale
from advisor.search import Question, Study
from advisor.trial import settings_key
from tests.support import fake_core
from tests.support.fake_core import FakeCore
from tests.support.problems import GIB, problem, study

DATA = 20 * GIB


class ScaledCore(FakeCore):
    """Its LSM loses half of its speed on copies above 64 MiB."""

    kept = 0.5

    def _answer(self, spec: Mapping[str, Any]) -> dict[str, float]:
        metrics = super()._answer(spec)
        data = spec["workload"]["ids"] * fake_core.UNIT_BYTES["ids"]
        speed = self.kept if spec["engine"] == "lsm" and data > 64 * MIB else 1.0
        return metrics | {"ops_per_s": speed * metrics["ops_per_s"]}


def simulated(folder: Path, core: FakeCore | None = None, **changes: Any) -> Study:
    question = Question(problem(hardware="nvme-2024"), clock="simulated", seed=1)
    return study(folder, question=question, core=core, **{"trials": 100, **changes})


def test_rungs_are_four_times_larger_up_to_the_full_size() -> None:
    lowest = Scale(1 / 640)
    assert [one.factor for one in Ladder.above(lowest, DATA, 3).rungs] == [
        pytest.approx(1 / 640),
        pytest.approx(1 / 160),
        pytest.approx(1 / 40),
    ]
    assert Ladder.above(Scale(1.0), MIB, 3).rungs == (Scale(1.0),)
    assert Ladder.above(Scale(0.5), MIB, 3).rungs == (Scale(0.5), Scale(1.0))


def test_a_larger_rung_asks_for_each_byte_more_often() -> None:
    ladder = Ladder.above(Scale(1 / 640), DATA, 3)
    assert [ladder.work(rung) for rung in range(3)] == pytest.approx([1, 8, 64])
    assert [ladder.place(one.factor) for one in ladder.rungs] == [0, 1, 2]
    assert ladder.place(1 / 200) is None


def test_the_best_and_the_baselines_climb_and_decide(tmp_path: Path) -> None:
    core = FakeCore()
    found = simulated(tmp_path, core)
    assert found.run() == "complete"
    low, high = found.ladder.rungs
    assert {t.scale for t in found.looks} == {low.factor}
    assert {t.scale for t in found.evidence} == {high.factor} == {found.scale}
    assert found.rung_below == found.looks
    assert all(t.role == "repeat" and t.seed > 1 for t in found.evidence)
    assert {t.seconds for t in found.evidence} == {8 * t.seconds for t in found.looks}
    best = found.best()
    assert best is not None and len(best.trials) >= 2
    climbed = {settings_key(t.engine, t.settings) for t in found.evidence}
    assert {engine for engine, _ in climbed} == {"lsm", "btree"}
    assert settings_key(best.engine, found.question.defaults(best.engine)) in climbed
    operations = {spec["operations"] for spec in core.specs}
    assert len(operations) == 2 and max(operations) == 8 * min(operations)


def test_side_by_side_a_study_is_the_same_each_time(tmp_path: Path) -> None:
    one, two = simulated(tmp_path, name="one"), simulated(tmp_path, name="two")
    one.run()
    two.run()
    assert [(t.settings, t.scale, t.seed) for t in one.trials] == [
        (t.settings, t.scale, t.seed) for t in two.trials
    ]
    for rung in (one.looks, one.evidence):
        tried = [(settings_key(t.engine, t.settings), t.seed) for t in rung]
        assert len(set(tried)) == len(tried)


def test_a_study_goes_on_where_its_climb_was_left(tmp_path: Path) -> None:
    first = simulated(tmp_path, trials=40)
    first.run()
    core = FakeCore()
    second = simulated(tmp_path, core, trials=60)
    assert second.trials == first.trials and second.evidence == first.evidence
    second.run()
    assert len(core.specs) == len(second.trials) - len(first.trials) > 0


def test_a_verdict_that_changes_with_the_size_is_not_given(tmp_path: Path) -> None:
    found = simulated(tmp_path, ScaledCore())
    found.run()
    advice = recommend(found)
    assert advice.verdict is not None and advice.verdict.winner is None
    assert "not settled at this scale" in advice.verdict.text
    assert "scale ±" in advice.verdict.text


def test_a_verdict_that_stands_says_how_far_two_sizes_differ(tmp_path: Path) -> None:
    found = simulated(tmp_path)
    found.run()
    advice = recommend(found)
    assert advice.verdict is not None and advice.verdict.winner == "lsm"
    assert "scale ±" in advice.verdict.text
    assert advice.gain is not None and advice.gain.is_settled
    assert advice.scale == found.ladder.rungs[found.ladder.top].factor


def test_the_smallest_copy_may_be_named(tmp_path: Path) -> None:
    question = Question(problem(hardware="nvme-2024"), clock="simulated", scale=1 / 40)
    found = study(tmp_path, question=question, trials=4)
    assert found.ladder.lowest == Scale(1 / 40)


def test_a_measured_study_has_one_rung(tmp_path: Path) -> None:
    found = study(tmp_path, trials=10)
    found.run()
    assert len(found.ladder.rungs) == 1
    assert list(found.looks) == list(found.evidence) == list(found.trials)
