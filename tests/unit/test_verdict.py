"""What is said of two engines, from the scores of their best."""

from collections.abc import Sequence

import pytest

from advisor.goal import Goal, Limit
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


@pytest.mark.parametrize(
    ("winners", "losers", "says"),
    [
        (4.0, 8.0, "lsm wins: no settings of btree reached write_kb_per_op <= 5, in 3 runs"),
        (4.0, 5.1, "no verdict between the engines: lsm against btree: noise may decide"),
        (4.9, 8.0, "no verdict between the engines: lsm against btree: noise may decide"),
    ],
)
def test_a_limit_that_noise_may_keep_or_break_decides_nothing(
    winners: float, losers: float, says: str
) -> None:
    goal = Goal("ops_per_s", (Limit("write_kb_per_op", 5.0),))
    order = [
        Candidate(engine, {}, tuple(trial(engine=engine, metrics=told) for _ in range(3)))
        for engine, told in (
            ("lsm", {"ops_per_s": 100.0, "write_kb_per_op": winners}),
            ("btree", {"ops_per_s": 110.0, "write_kb_per_op": losers}),
        )
    ]
    trials = [one for candidate in order for one in candidate.trials]
    noise = Noise(0.05, 20)
    found = engine_verdict(
        goal,
        noise,
        order,
        ("lsm", "btree"),
        trials,
        noises=lambda engine: {"ops_per_s": noise, "write_kb_per_op": noise},
    )
    assert found is not None and found.text.startswith(says)
    assert found.is_open == ("no verdict" in says)


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
