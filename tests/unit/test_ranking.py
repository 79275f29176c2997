"""The ranking of candidates: an order that neither units, nor zeros, nor absent metrics upset."""

import random
from collections.abc import Mapping
from itertools import permutations

import pytest

from advisor.goal import Goal, Limit, parse_goal
from advisor.search import Candidate
from advisor.search.ranking import best, loss, noise_of, ranked
from advisor.trial import Trial
from tests.support.problems import trial

DRAWS = 25
GOALS = tuple(
    map(
        parse_goal,
        (
            "maximize ops_per_s",
            "minimize stall_s",
            "maximize ops_per_s subject to p99_us <= 1000",
            "minimize p99_us subject to ops_per_s >= 1000, stall_s <= 0",
        ),
    )
)
VALUES: Mapping[str, tuple[float | None, ...]] = {
    "ops_per_s": (0.0, 1.0, 999.0, 1000.0, 5000.0, None),
    "p99_us": (0.0, 340.0, 960.0, 1000.0, 4000.0, None),
    "stall_s": (0.0, 0.0, 1e-3, 3.2, None),
}


def candidate(name: int, **metrics: float) -> Candidate:
    settings = {"block_cache": name}
    return Candidate("lsm", settings, (trial(settings=settings, metrics=metrics),))


def test_settings_do_the_same_where_all_runs_of_one_seed_came_out_alike() -> None:
    def runs(name: int, *rates: float, **changes: object) -> Candidate:
        made = (
            trial(settings={}, seed=seed, metrics={"ops_per_s": rate}, **changes)
            for seed, rate in enumerate(rates)
        )
        return Candidate("lsm", {"block_cache": name}, tuple(made))

    one = runs(1, 100.0, 110.0)
    assert one.does_the_same(runs(2, 100.0, 110.0, 120.0))
    assert not one.does_the_same(runs(2, 100.0, 110.5))
    assert not one.does_the_same(runs(2, 100.0, 110.0, scale=0.25))
    assert not one.does_the_same(Candidate("lsm", {}, ()))


def drawn(draw: random.Random, count: int) -> list[Candidate]:
    made = []
    for name in range(count):
        values = {metric: draw.choice(choices) for metric, choices in VALUES.items()}
        measured = {metric: value for metric, value in values.items() if value is not None}
        made.append(candidate(name, **measured))
    return made


def names(found: list[Candidate]) -> list[object]:
    return [one.settings["block_cache"] for one in found]


def is_better(goal: Goal, one: Candidate, other: Candidate) -> bool:
    """Whether the ranking puts it first from whichever side it comes."""
    return ranked([other, one], goal)[0] is one


@pytest.mark.parametrize("goal", GOALS, ids=str)
def test_any_three_candidates_are_in_one_order(goal: Goal) -> None:
    draw = random.Random(1)
    for _ in range(DRAWS):
        three = [c for c in drawn(draw, 3) if c.score(goal) is not None]
        orders = [ranked(given, goal) for given in permutations(three)]
        for one, other in permutations(three, 2):
            if is_better(goal, one, other):
                assert not is_better(goal, other, one)
                assert all(order.index(one) < order.index(other) for order in orders)


@pytest.mark.parametrize("goal", GOALS, ids=str)
def test_what_keeps_the_limits_goes_before_what_breaks_one(goal: Goal) -> None:
    draw = random.Random(2)
    for _ in range(DRAWS):
        kept = [one.feasible(goal) for one in ranked(drawn(draw, 6), goal)]
        assert kept == sorted(kept, reverse=True)


@pytest.mark.parametrize("goal", GOALS, ids=str)
def test_candidates_without_the_metric_of_the_goal_are_not_ranked(goal: Goal) -> None:
    draw = random.Random(3)
    found = drawn(draw, 50)
    measured = [one for one in found if goal.metric in one.trials[0].metrics]
    assert sorted(names(ranked(found, goal))) == sorted(names(measured))


@pytest.mark.parametrize("factor", [1e-6, 3.0, 1e9])
@pytest.mark.parametrize("metric", ["ops_per_s", "p99_us"])
def test_units_change_no_place(metric: str, factor: float) -> None:
    draw = random.Random(4)
    goal = Goal("ops_per_s", (Limit("p99_us", 1000.0),))
    scaled = Goal("ops_per_s", (Limit("p99_us", 1000.0 * (factor if metric == "p99_us" else 1)),))
    for _ in range(DRAWS):
        found = drawn(draw, 5)
        other = [_scaled(one, metric, factor) for one in found]
        assert names(ranked(found, goal)) == names(ranked(other, scaled))


def _scaled(one: Candidate, metric: str, factor: float) -> Candidate:
    metrics = dict(one.trials[0].metrics)
    if metric in metrics:
        metrics[metric] *= factor
    return Candidate("lsm", one.settings, (trial(settings=one.settings, metrics=metrics),))


def test_beyond_a_limit_the_nearest_goes_first() -> None:
    goal = parse_goal("maximize ops_per_s subject to p99_us <= 100")
    base = candidate(0, ops_per_s=5000, p99_us=960)
    near = candidate(1, ops_per_s=2000, p99_us=340)
    assert names(ranked([base, near], goal)) == [1, 0]


def test_of_two_that_are_as_near_the_better_one_goes_first() -> None:
    goal = parse_goal("maximize ops_per_s subject to p99_us <= 100")
    slow, fast = candidate(0, ops_per_s=1, p99_us=340), candidate(1, ops_per_s=2, p99_us=340)
    assert names(ranked([slow, fast], goal)) == [1, 0]


def test_an_unmeasured_limit_is_never_nearer_than_a_measured_one() -> None:
    goal = parse_goal("maximize ops_per_s subject to p99_us <= 100")
    blank, far = candidate(0, ops_per_s=9000), candidate(1, ops_per_s=1, p99_us=1e6)
    assert names(ranked([blank, far], goal)) == [1, 0]


def test_zero_is_the_best_of_what_should_be_low() -> None:
    goal = Goal("stall_s")
    found = [candidate(0, stall_s=3.2), candidate(1, stall_s=0.0), candidate(2, stall_s=1e-9)]
    assert names(ranked(found, goal)) == [1, 2, 0]
    winner = best([one.trials[0] for one in found], goal)
    assert winner is not None and winner.settings["block_cache"] == 1


def looks(name: int, *seen: tuple[float, bool | None, float]) -> Candidate:
    """A candidate by its trials: length, whether it was steady, operations per second."""
    settings = {"block_cache": name}
    trials = [
        trial(settings=settings, seconds=seconds, steady=steady, metrics={"ops_per_s": ops})
        for seconds, steady, ops in seen
    ]
    return Candidate("lsm", settings, tuple(trials))


def test_what_was_not_yet_steady_stands_behind_what_was() -> None:
    goal = parse_goal("maximize ops_per_s")
    found = [looks(0, (1, False, 9000)), looks(1, (1, True, 10)), looks(2, (1, None, 20))]
    assert names(ranked(found, goal)) == [2, 1, 0]
    assert names(ranked([found[0]], goal)) == [0]


def test_a_repetition_does_not_make_up_for_what_was_not_yet_steady() -> None:
    goal = parse_goal("maximize ops_per_s")
    again = trial(role="repeat", settings={"block_cache": 1}, seconds=1, steady=False)
    found = [*looks(1, (1, False, 9000)).trials, again, *looks(2, (1, True, 10)).trials]
    winner = best(found, goal)
    assert winner is not None and winner.settings["block_cache"] == 2


def test_a_repetition_on_a_higher_rung_is_the_longer_run() -> None:
    goal = parse_goal("maximize ops_per_s")
    climbed = [
        trial(
            role="repeat",
            settings={"block_cache": place},
            clock="simulated",
            steady=steady,
            metrics={"ops_per_s": ops},
        )
        for place, steady, ops in ((1, False, 9000.0), (2, True, 10.0))
    ]
    winner = best(climbed, goal)
    assert winner is not None and winner.settings["block_cache"] == 1


def owing(place: int, debt_s: float, steady: bool | None = None, **metrics: float) -> Trial:
    """A repetition whose second of measuring left so much to do."""
    return trial(
        role="repeat",
        settings={"block_cache": place},
        clock="simulated",
        steady=steady,
        metrics=metrics | {"debt_s": debt_s},
        intervals=({"phase": "run", "seconds": 1.0},),
    )


def test_a_repetition_that_leaves_much_undone_has_not_settled() -> None:
    goal = parse_goal("maximize ops_per_s")
    found = [owing(1, 0.2, False, ops_per_s=9000.0), owing(2, 0.04, False, ops_per_s=10.0)]
    winner = best(found, goal)
    assert winner is not None and winner.settings["block_cache"] == 2


@pytest.mark.parametrize(
    ("goal", "wins"),
    [
        ("minimize p99_us", 2),
        ("maximize ops_per_s subject to p99_us[get] <= 2000", 2),
        ("maximize ops_per_s", 1),
    ],
)
def test_latencies_bought_with_debt_do_not_win(goal: str, wins: int) -> None:
    both = {"p99_us": 1000.0, "p99_us[get]": 1000.0}
    lenient = owing(1, 0.2, True, ops_per_s=9000.0, **(both | {"p99_us": 10.0}))
    found = [lenient, owing(2, 0.01, True, ops_per_s=100.0, **both)]
    winner = best(found, parse_goal(goal))
    assert winner is not None and winner.settings["block_cache"] == wins


def test_what_breaks_a_limit_stands_behind_what_was_not_yet_steady() -> None:
    goal = parse_goal("maximize ops_per_s subject to ops_per_s >= 100")
    assert names(ranked([looks(0, (1, True, 10)), looks(1, (1, False, 200))], goal)) == [1, 0]


def test_longer_trials_take_the_place_of_shorter_ones() -> None:
    goal = parse_goal("maximize ops_per_s")
    longer = looks(0, (1, False, 9000), (4, False, 40), (4, None, 60))
    assert longer.score(goal) == 50 and longer.has_settled
    assert names(ranked([looks(1, (1, True, 45)), longer, looks(2, (1, True, 55))], goal)) == [
        2,
        0,
        1,
    ]
    assert noise_of([longer], "ops_per_s").degrees == 1


@pytest.mark.parametrize("metric", ["ops_per_s", "stall_s"])
def test_a_loss_has_the_sign_of_the_change_zeros_included(metric: str) -> None:
    goal = Goal(metric)
    values = [0.0, 1e-12, 0.5, 3.2, 1e12]
    worse = -1 if goal.direction == "maximize" else 1
    for before in values:
        for after in values:
            change = (after > before) - (after < before)
            lost = loss(goal, before, after)
            assert (lost > 0) - (lost < 0) == worse * change, (before, after)


def test_a_loss_is_the_same_in_any_unit() -> None:
    draw = random.Random(5)
    for _ in range(DRAWS):
        before, after = draw.choice([0.0, draw.random()]), draw.choice([0.0, draw.random()])
        factor = 2.0 ** draw.randint(-20, 20)
        goal = Goal("stall_s")
        assert loss(goal, before * factor, after * factor) == loss(goal, before, after)
