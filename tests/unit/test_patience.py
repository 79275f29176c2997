"""How long a trial may take before it is given up."""

from dataclasses import replace

import pytest

from advisor.evaluate import Setup
from advisor.scale import Scale
from advisor.search import runner
from advisor.search.runner import (
    FIRST_PATIENCE_S,
    LEAST_PATIENCE,
    PATIENCE,
    REPEATABLE_PATIENCE_S,
    SHORTEST_PATIENCE_S,
    USUAL_TRIALS,
    Job,
    Runner,
)
from advisor.trial import Clock
from tests.support.problems import problem, trial

WORK = 8.0
LOOK = Job("lsm", {}, "search", 1, 0)
CLIMB = replace(LOOK, rung=1)


def made(longest_s: float | None = None, clock: Clock = "simulated") -> Runner:
    low = Setup(problem(), Scale(0.01), 1.0, clock)
    return Runner([low, replace(low, scale=Scale(0.04), times=WORK)], longest_s=longest_s)


def taught(runner: Runner, seconds: float, rung: int = 0) -> Runner:
    lasts = WORK if rung else 1.0
    for _ in range(USUAL_TRIALS):
        runner.learn_time(rung, trial(seconds=lasts, wall_seconds=seconds))
    return runner


def test_before_anything_is_usual_a_minute_bounds_a_trial_where_minutes_bound_a_study() -> None:
    assert made()._patience(LOOK) is None
    assert made(10.0)._patience(LOOK) == made(10.0)._patience(CLIMB) == FIRST_PATIENCE_S


@pytest.mark.parametrize("times", [1.0, 4.0])
def test_no_look_however_long_takes_more_than_its_part_of_the_minutes(times: float) -> None:
    job = replace(LOOK, times=times)
    assert taught(made(20.0), 2.5)._patience(job) == min(20.0, PATIENCE * 2.5 * times)
    assert taught(made(1000.0), 8.0)._patience(job) == PATIENCE * 8.0 * times


@pytest.mark.parametrize("times", [1.0, 4.0])
def test_what_is_usual_on_a_busy_machine_is_not_given_up(times: float) -> None:
    job = replace(LOOK, times=times)
    assert taught(made(10.0), 15.0)._patience(job) == LEAST_PATIENCE * 15.0 * times


def test_a_rung_that_nobody_was_on_takes_as_much_longer_as_it_works() -> None:
    assert taught(made(10.0), 2.0)._patience(CLIMB) == PATIENCE * 2.0 * WORK
    known = taught(taught(made(10.0), 2.0), 30.0, rung=1)
    assert known._patience(CLIMB) == PATIENCE * 30.0


def test_it_is_known_when_one_more_run_will_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_cores", lambda: 2)
    known = made(10.0)
    assert known.would_take_s(1) == 0.0
    assert taught(known, 2.0).would_take_s(1) == 2.0 * WORK
    known.learn_time(1, trial(seconds=WORK, wall_seconds=9.0))
    assert known.would_take_s(1) == 9.0
    known._under_way[("lsm", ()), 1] = 3
    assert known.would_take_s(1) == 18.0
    assert known.would_take_s(1, runs=3) == 27.0
    known._under_way[("lsm", ()), 0] = 4
    assert known.would_take_s(1) == 18.0 + 4 * 2.0 / 2


def test_what_lasted_longer_than_usual_is_counted_by_its_length() -> None:
    known = made(1000.0)
    for _ in range(USUAL_TRIALS):
        known.learn_time(0, trial(seconds=4.0, wall_seconds=40.0))
    assert known._patience(LOOK) == PATIENCE * 10.0


def test_a_study_that_trials_bound_gives_none_up_that_a_busy_machine_slows_down() -> None:
    assert taught(made(), 0.1)._patience(LOOK) == REPEATABLE_PATIENCE_S
    assert taught(made(100.0), 0.1)._patience(LOOK) == SHORTEST_PATIENCE_S


def test_under_the_clock_of_the_wall_nothing_is_given_up() -> None:
    assert taught(made(10.0, "measured"), 0.1)._patience(LOOK) is None


def test_trials_enough_for_every_core_are_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_cores", lambda: 3)
    monkeypatch.setattr(Runner, "_evaluated", lambda self, job, is_dropped: runner.Answer(trial()))
    known = made()
    most = []

    def jobs():  # type: ignore[no-untyped-def]
        for seed in range(20):
            most.append(known.running)
            yield replace(LOOK, seed=seed)

    assert len(list(known.answers(jobs()))) == 20
    assert max(most) == 5
