"""Trials go where they pay, the loser keeps its fair share, and bounds are kept."""

import random
from collections.abc import Mapping, Sequence
from statistics import fmean

import pytest

from advisor.knobs import Engine
from advisor.search import allocate
from advisor.search.allocate import FAIR_SHARE, LEAST_SCORES, WANTED_SHARE, promise
from advisor.search.plan import DEFAULT_TRIALS, Bounds, Spending

BOTH: tuple[Engine, ...] = ("lsm", "btree")
Scores = Mapping[Engine, Sequence[float]]


def next_engine(
    engines: Sequence[Engine],
    trials: Mapping[Engine, int],
    scores: Scores,
    left: int,
    *,
    searched: Scores | None = None,
    noise: float = 0.0,
    wanted: Engine | None = None,
) -> Engine:
    """Where the search proposed all settings, if nothing else is said."""
    found = scores if searched is None else searched
    return allocate.next_engine(
        engines, trials, scores, left, searched=found, noise=noise, wanted=wanted
    )


def test_engines_take_turns_without_a_leader() -> None:
    near = {"lsm": [100.0], "btree": [99.0]}
    assert next_engine(BOTH, {"lsm": 3, "btree": 2}, near, 50) == "btree"
    assert next_engine(BOTH, {"lsm": 2, "btree": 3}, near, 50) == "lsm"


@pytest.mark.parametrize(("scores", "leader"), [((200.0, 100.0), "lsm"), ((-2.0, -1.0), "btree")])
def test_the_leader_gets_the_next_trial(scores: tuple[float, float], leader: str) -> None:
    known = {engine: [score] for engine, score in zip(BOTH, scores, strict=True)}
    assert next_engine(BOTH, {"lsm": 5, "btree": 5}, known, 50) == leader


def test_the_other_engine_keeps_its_fair_share() -> None:
    made = {"lsm": 0, "btree": 0}
    for _ in range(100):
        made[next_engine(BOTH, made, {"lsm": [200.0], "btree": [100.0]}, 50)] += 1
    assert made["btree"] == pytest.approx(100 * FAIR_SHARE, abs=1)


def test_an_engine_that_will_not_catch_up_gets_no_more_trials() -> None:
    draws = random.Random(1)
    behind = [100.0 + draws.gauss(0.0, 3.0) for _ in range(20)]
    made = {"lsm": 80, "btree": 20}
    assert next_engine(BOTH, made, {"lsm": [200.0], "btree": behind}, 100) == "lsm"
    assert next_engine(BOTH, made, {"lsm": [112.0], "btree": behind}, 100) == "btree"
    few = behind[: LEAST_SCORES - 1]
    assert next_engine(BOTH, made, {"lsm": [200.0], "btree": few}, 100) == "btree"


def test_rules_of_thumb_that_are_all_alike_do_not_give_an_engine_up() -> None:
    made = {"lsm": 40, "btree": 10}
    alike = {"lsm": [100.0], "btree": [94.0] * 10}
    assert next_engine(BOTH, made, alike, 40, searched={"btree": []}) == "btree"
    few = {"btree": [94.0] * (LEAST_SCORES - 1)}
    assert next_engine(BOTH, made, alike, 40, searched=few) == "btree"


def test_scores_nearer_to_one_another_than_their_noise_do_not_give_an_engine_up() -> None:
    made = {"lsm": 40, "btree": 10}
    alike = {"lsm": [106.0], "btree": [100.0] * LEAST_SCORES}
    assert next_engine(BOTH, made, alike, 40, noise=0.03) == "btree"
    assert next_engine(BOTH, made, alike, 40, noise=0.003) == "lsm"


def test_the_engine_whose_file_is_wanted_gets_half_however_far_it_is_behind() -> None:
    made: dict[Engine, int] = {"lsm": 0, "btree": 0}
    far: Scores = {"lsm": [200.0], "btree": [100.0] * LEAST_SCORES}
    for _ in range(100):
        made[next_engine(BOTH, made, far, 50, wanted="btree")] += 1
    assert made["btree"] == pytest.approx(100 * WANTED_SHARE, abs=1)


def test_a_gain_is_promised_as_large_as_draws_of_the_same_kind_make_it() -> None:
    draws = random.Random(7)
    promised, gained = [], []
    for _ in range(2000):
        scores = [draws.expovariate(1.0) for _ in range(60)]
        promised.append(promise(scores[:20], 40, 0.0))
        gained.append(max(scores) - max(scores[:20]))
    assert fmean(promised) == pytest.approx(fmean(gained), rel=0.1)


def test_an_engine_without_any_good_settings_does_not_lead() -> None:
    assert next_engine(BOTH, {"lsm": 5, "btree": 5}, {"btree": [1.0]}, 50) == "btree"


def test_without_bounds_a_study_has_a_hundred_trials() -> None:
    assert Bounds().planned == DEFAULT_TRIALS == 100
    assert Bounds(minutes=1).planned is None


def test_the_trials_of_a_default_study_measure_for_less_than_ninety_seconds() -> None:
    assert DEFAULT_TRIALS * Bounds().measured_seconds() < 90


def test_minutes_and_trials_together_give_the_length_of_a_trial() -> None:
    assert Bounds(trials=60, minutes=10).measured_seconds() == 5.0
    assert Bounds(trials=10_000, minutes=1).measured_seconds() == 0.3


def test_trials_are_divided_over_the_phases() -> None:
    spending = Spending(Bounds(trials=40))
    given = {}
    for phase in ("search", "repeat", "ablation"):
        before = spending.trials
        while spending.allows(phase):  # type: ignore[arg-type]
            spending.trials += 1
        given[phase] = spending.trials - before
    assert given == {"search": 22, "repeat": 6, "ablation": 12}
    assert spending.left() == 0


def test_what_is_left_of_the_minutes_is_told_by_the_trials_made_in_them() -> None:
    clock = [0.0]
    resumed = Spending(Bounds(minutes=10), trials=1000, usual_s=2.0, now=lambda: clock[0])
    assert resumed.left() == 300
    clock[0], resumed.trials = 60.0, 1010
    assert resumed.left() == 90
    both = Spending(Bounds(minutes=10, trials=1040), trials=1000, usual_s=2.0, now=lambda: 0.0)
    assert both.left() == 40


def test_a_run_that_decides_ends_before_lines_are_measured() -> None:
    spending = Spending(Bounds(minutes=1), now=iter([0.0, *[32.0] * 6]).__next__)
    assert not spending.allows("search")
    for phase in ("repeat", "verdict"):
        assert spending.allows(phase, takes_s=9.0)  # type: ignore[arg-type]
        assert not spending.allows(phase, takes_s=11.0)  # type: ignore[arg-type]
    assert spending.allows("ablation", takes_s=11.0)


def test_the_search_leaves_time_for_what_climbs_but_keeps_half_of_its_own() -> None:
    now = [20.0]
    spending = Spending(Bounds(minutes=1), now=lambda: now[0] - 20.0)
    now[0] = 20.0 + 24.0
    assert spending.allows("search", then_s=17.0)
    assert not spending.allows("search", then_s=19.0)
    now[0] = 20.0 + 14.0
    assert spending.allows("search", then_s=300.0)
    now[0] = 20.0 + 31.0
    assert not spending.allows("search")


def test_time_ends_a_study_too() -> None:
    clock = iter([0.0, 20.0, 60.0, 60.0])
    spending = Spending(Bounds(trials=100, minutes=1), now=lambda: next(clock))
    assert spending.allows("search")
    assert not spending.allows("ablation")
    assert spending.is_out_of_time()
