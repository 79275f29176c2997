"""What is said of two engines, from the scores of their best."""

from collections.abc import Sequence

import pytest

from advisor.goal import Goal
from advisor.knobs import Engine
from advisor.noise import Noise
from advisor.recommend.verdict import EngineVerdict, engine_verdict
from advisor.search import Candidate
from tests.support.problems import trial

GOAL = Goal("ops_per_s")


def best(engine: Engine, scores: Sequence[float]) -> Candidate:
    runs = (trial(engine=engine, role="final", metrics={"ops_per_s": one}) for one in scores)
    return Candidate(engine, {}, tuple(runs))


def verdict(lsm: float, btree: float, noise: float, runs: int = 3) -> EngineVerdict:
    order = [best("lsm", [lsm] * runs), best("btree", [btree] * runs)]
    trials = [one for candidate in order for one in candidate.trials]
    found = engine_verdict(GOAL, Noise(noise, 20), order, ("lsm", "btree"), trials)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("lsm", "noise", "says"),
    [
        (100.0, 0.005, "lsm and btree are equal, "),
        (101.0, 0.005, "lsm and btree are equal, "),
        (101.0, 0.05, "no verdict between the engines: too close to call: "),
        (104.5, 0.02, "no verdict between the engines: too close to call: "),
        (120.0, 0.02, "lsm wins over btree: +20%"),
    ],
)
def test_engines_are_equal_only_where_nothing_that_matters_is_hidden(
    lsm: float, noise: float, says: str
) -> None:
    found = verdict(lsm, 100.0, noise)
    assert found.text.startswith(says)
    assert found.is_open == ("no verdict" in says)
    assert found.winner == ("lsm" if "wins" in says else None)


def test_a_verdict_is_surer_than_what_is_said_of_one_file() -> None:
    # 6% is beyond what noise explains in one of twenty comparisons.
    assert Noise(0.025, 20).bound(3, 3) < 0.06
    assert verdict(106.0, 100.0, 0.025).winner is None
