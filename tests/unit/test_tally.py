"""Who leads after each trial, without a look at all the others."""

import random
from collections.abc import Iterator

import pytest

from advisor.goal import Goal, parse_goal
from advisor.search import ranking
from advisor.search.ranking import best, candidates, eligible, ranked
from advisor.search.tally import Tally
from advisor.trial import Trial
from tests.support.problems import trial

GOALS = tuple(
    map(
        parse_goal,
        (
            "maximize ops_per_s",
            "minimize p99_us subject to ops_per_s >= 1000, stall_s <= 0",
            "maximize ops_per_s, minimize p99_us subject to stall_s <= 0",
        ),
    )
)


def drawn(seed: int, count: int, settings: int) -> Iterator[Trial]:
    """Trials of so many settings, of every kind that a search meets."""
    draw = random.Random(seed)
    for number in range(count):
        metrics = {"ops_per_s": draw.choice((500.0, 1000.0, draw.uniform(500, 2000)))}
        if draw.random() < 0.9:
            metrics["p99_us"] = draw.uniform(100, 900)
        if draw.random() < 0.9:
            metrics["stall_s"] = draw.choice((0.0, 0.0, 0.5))
        yield trial(
            settings={"block_cache": draw.randrange(settings)},
            role=draw.choice(("search", "search", "repeat")),
            outcome=draw.choice(("finished", "finished", "failed")),
            steady=draw.choice((None, True, False)),
            seconds=draw.choice((1.0, 1.0, 4.0)),
            metrics=metrics,
            number=number,
        )


@pytest.mark.parametrize("goal", GOALS, ids=str)
def test_after_every_trial_the_order_is_that_of_all_trials_together(goal: Goal) -> None:
    for seed in range(5):
        tally, known = Tally(goal), []
        for one in drawn(seed, 40, 12):
            tally.add(one)
            known.append(one)
            assert list(tally.candidates.values()) == candidates(known)
            assert tally.ranked == ranked(candidates(known), goal)
            lawful = [one for one in tally.ranked if one.feasible(goal)]
            assert tally.feasible == lawful
            assert tally.eligible == eligible(known, goal)
            assert tally.best == best(known, goal)


@pytest.mark.parametrize("goal", GOALS, ids=str)
def test_one_more_trial_costs_no_look_at_the_metrics_of_the_others(
    goal: Goal, monkeypatch: pytest.MonkeyPatch
) -> None:
    tally = Tally(goal, drawn(1, 300, 200))
    assert tally.best is not None
    judged = []
    median = ranking.statistics.median
    monkeypatch.setattr(ranking.statistics, "median", lambda v: judged.append(v) or median(v))
    tally.add(trial(settings={"block_cache": 1000}, metrics={"ops_per_s": 9e9, "p99_us": 1.0}))
    assert tally.best is not None
    assert len(judged) <= 3
