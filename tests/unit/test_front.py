"""The Pareto front: who is on it, who of it is recommended, and what its answer is judged by."""

import random
from pathlib import Path

import pytest

from advisor.errors import InputError, WorkError
from advisor.goal import Goal, Limit, parse_goal
from advisor.recommend.judging import Judging, judging, judging_of
from advisor.search import Question
from advisor.search.contenders import OF_A_FRONT, Field
from advisor.search.dominance import Point, covers, non_dominated, spread
from advisor.search.front import Front
from advisor.search.ranking import best, candidates, eligible, ranked
from advisor.search.sampler import Sampler
from advisor.search.tally import Tally
from advisor.trial import Trial
from tests.support.problems import problem, study, trial

GOAL = parse_goal("maximize ops_per_s, minimize write_kb_per_op subject to space_amp <= 2")


def run(name: str, ops: float, kb: float, *, engine: str = "lsm", space: float = 1.0) -> Trial:
    metrics = {"ops_per_s": ops, "write_kb_per_op": kb, "space_amp": space}
    settings = {"block_cache": name} if engine == "lsm" else {"innodb_buffer_pool_size": name}
    return trial(engine=engine, settings=settings, metrics=metrics)


RUNS = [
    run("fast", 100.0, 9.0),
    run("even", 90.0, 3.0),
    run("frugal", 40.0, 2.0),
    run("beaten", 80.0, 3.5),
    run("forbidden", 200.0, 1.0, space=3.0),
    run("pool", 85.0, 3.2, engine="btree"),
    run("small pool", 30.0, 2.5, engine="btree"),
    run("no pool", 20.0, 2.6, engine="btree"),
]


def front(runs: list[Trial] = RUNS, goal: Goal = GOAL) -> Front:
    return Front.of(eligible(runs, goal), goal)


def names(found: Front) -> list[str]:
    return [str(next(iter(one.settings.values()))) for one in found.members]


def test_no_point_of_a_front_is_covered_and_every_other_point_is() -> None:
    draw = random.Random(3)
    for axes in (2, 3):
        points: list[Point] = [tuple(draw.randrange(12) for _ in range(axes)) for _ in range(150)]
        kept = non_dominated(points)
        assert len({points[place] for place in kept}) == len(kept)
        for place, point in enumerate(points):
            others = [points[k] for k in kept if k != place]
            assert any(covers(one, point) for one in others) == (place not in kept)


def test_a_front_is_spread_from_its_middle_to_its_ends() -> None:
    line = [(float(x), 100.0 - x * x) for x in range(11)]
    order = spread(line)
    assert sorted(order) == list(range(11))
    assert order[0] in (6, 7)
    assert set(order[1:3]) == {0, 10}


def test_members_are_numbered_over_all_engines_and_then_of_one_alone() -> None:
    found = front()
    assert names(found) == ["fast", "even", "frugal", "pool", "small pool"]
    assert [one.number for one in found.members] == [1, 2, 3, 4, 5]
    assert [one.overall for one in found.members] == [True, True, True, False, False]
    assert found.member(4).engine == "btree"
    for wrong in (0, 6):
        with pytest.raises(InputError, match="a number from 1 to 5"):
            found.member(wrong)


def test_the_member_nearest_to_the_ideal_point_is_recommended() -> None:
    found = front()
    chosen, own = found.recommended(), found.recommended("btree")
    assert chosen is not None and chosen.number == 2
    assert chosen.distance == pytest.approx(((10 / 60) ** 2 + (1 / 7) ** 2) ** 0.5)
    assert own is not None and own.engine == "btree"


def test_of_two_members_the_one_that_gives_away_least_is_recommended() -> None:
    chosen = front([run("fast", 90.0, 5.0), run("even", 88.0, 2.4)]).recommended()
    assert chosen is not None and chosen.metrics["ops_per_s"] == 88.0


def test_nothing_that_keeps_the_limits_is_no_front() -> None:
    found = front([run("forbidden", 200.0, 1.0, space=3.0)])
    assert found.members == () and found.recommended() is None
    with pytest.raises(InputError, match="a study that has a front"):
        found.member(1)


def test_the_front_stands_first_and_what_breaks_a_limit_last() -> None:
    order = [next(iter(one.settings.values())) for one in ranked(candidates(RUNS), GOAL)]
    assert order[0] == "even"
    assert set(order[1:3]) == {"fast", "frugal"}
    assert order[-1] == "forbidden"
    found = best(RUNS, GOAL)
    assert found is not None and found.settings == {"block_cache": "even"}


def test_more_members_of_a_front_are_looked_at_again_than_of_an_order() -> None:
    many = [run(f"{n}", 100.0 - n, 20.0 - n) for n in range(10)]
    fields = [
        Field(["lsm"], goal, lambda engine: (), Tally(goal), None, lambda key: 0)
        for goal in (GOAL, parse_goal("maximize ops_per_s"))
    ]
    orders = [ranked(candidates(many), field.goal) for field in fields]
    climbing = [
        {one.settings["block_cache"] for one in field.climbers(order)}
        for field, order in zip(fields, orders, strict=True)
    ]
    assert len(climbing[0]) == OF_A_FRONT and {"0", "9"} <= climbing[0]
    assert climbing[1] == {"0", "1", "2"}


def measured(tmp_path: Path, goal: Goal, runs: list[Trial]) -> Judging:
    made = study(tmp_path, question=Question(problem(goal=goal)), name=str(goal))
    for one in runs:
        made._file(one)
    return judging(made)


def test_an_answer_is_judged_by_the_first_objective_where_the_others_stay(tmp_path: Path) -> None:
    found = measured(tmp_path, GOAL, RUNS)
    assert found.member is not None and found.member.number == 2
    assert found.goal.metric == "ops_per_s" and not found.goal.others
    kept, bound = found.goal.limits
    assert kept == Limit("space_amp", 2.0)
    # A noise of 5% is assumed where nothing was repeated, twice its bound of 10% for one run.
    assert (bound.metric, bound.value) == ("write_kb_per_op", pytest.approx(3.61, abs=0.011))
    assert found.goal.kept(found.member.metrics)


def test_a_bound_of_what_should_be_high_lies_below_and_no_looser_than_the_users(
    tmp_path: Path,
) -> None:
    goal = parse_goal("minimize write_kb_per_op, maximize ops_per_s subject to ops_per_s >= 85")
    found = measured(tmp_path, goal, RUNS[:4])
    assert found.goal.limits == (Limit("ops_per_s", 85.0),)
    loose = parse_goal("minimize write_kb_per_op, maximize ops_per_s subject to ops_per_s >= 10")
    (bound,) = measured(tmp_path, loose, RUNS[:4]).goal.limits
    assert 70.0 < bound.value < 90.0


def test_an_objective_that_no_trial_measured_is_named(tmp_path: Path) -> None:
    goal = parse_goal("maximize ops_per_s, minimize stall_s")
    with pytest.raises(WorkError, match="no trial has measured stall_s yet"):
        measured(tmp_path, goal, RUNS)


def test_one_objective_has_no_front_and_is_judged_by_itself(tmp_path: Path) -> None:
    made = study(tmp_path, question=Question(problem(goal="maximize ops_per_s")))
    assert judging(made) == Judging(parse_goal("maximize ops_per_s"))
    with pytest.raises(InputError, match="several objectives"):
        judging_of(made, 1)


def test_the_sampler_steps_from_any_member_of_its_front(tmp_path: Path) -> None:
    made = study(tmp_path, question=Question(problem(goal=GOAL), engines=("lsm",)))
    sampler = Sampler(made._looking.spaces["lsm"], directions=("maximize", "minimize"), seed=1)
    told = [(10.0, 5.0), (9.0, 6.0), (8.0, 3.0), (4.0, 1.0), (7.0, 0.5)]
    for scores in told:
        proposal = sampler.ask()
        assert proposal is not None
        over = 1.0 if scores == (7.0, 0.5) else 0.0
        sampler.tell(proposal, scores, {"space_amp <= 2": over})
    assert [point for point, _ in sampler._front] == [(10.0, -5.0), (8.0, -3.0), (4.0, -1.0)]
    assert sampler.importance() == {}
    for ops in range(4):
        proposal = sampler.ask()
        assert proposal is not None
        sampler.tell(proposal, (float(ops), 9.0), {})
    assert sampler.importance()
