"""What is said of two engines, from the scores of their best."""

from collections.abc import Sequence

import pytest

from advisor.goal import Goal
from advisor.knobs import Engine
from advisor.noise import Noise
from advisor.recommend.verdict import VERDICT_LEVEL, EngineVerdict, compare, engine_verdict
from advisor.search import Candidate
from tests.support.problems import trial

GOAL = Goal("ops_per_s")


def best(engine: Engine, scores: Sequence[float]) -> Candidate:
    measured = ({"ops_per_s": one, "p99_us": one} for one in scores)
    runs = (trial(engine=engine, role="final", metrics=one) for one in measured)
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


def test_ranks_of_many_runs_tell_what_a_few_odd_ones_hide() -> None:
    mine = best("lsm", [48.7, 48.8, 48.9] * 3)
    its = best("lsm", [40.4, 40.5, 40.6, 40.5, 40.5, 40.4, 40.6, 24.9, 21.8])
    noise = Noise.pooled([[t.metrics["ops_per_s"] for t in one.trials] for one in (mine, its)])
    assert noise.bound(9, 9, VERDICT_LEVEL) > 0.2
    found = compare(GOAL, noise, mine, its, level=VERDICT_LEVEL)
    assert found is not None and not found.within_noise
    assert found.gain == pytest.approx(48.8 / 40.4 - 1, abs=0.01) and found.bound < 0.03
    back = compare(GOAL, noise, its, mine, level=VERDICT_LEVEL)
    assert back is not None and not back.within_noise and back.gain < 0
    turned = compare(Goal("p99_us"), noise, its, mine, level=VERDICT_LEVEL)
    assert turned is not None and not turned.within_noise and turned.gain > 0
