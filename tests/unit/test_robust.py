"""Mixes near a workload's own, neighbours of a profile, and the choice among candidates."""

import math
from dataclasses import replace
from typing import Any

import pytest

from advisor.analytic.demand import LINKBENCH_SHARES, YCSB_SHARES
from advisor.goal import parse_goal
from advisor.profile import Profile, load
from advisor.robust import (
    Neighbour,
    Robustness,
    Tried,
    corner,
    divergence,
    longer,
    mixes,
    neighbours,
)
from advisor.robust.words import cell, sentences
from advisor.trial import Trial
from advisor.verify import Contender
from advisor.workload import Workload
from tests.support.problems import problem, trial

SHARES = {"reads": 0.6, "overwrites": 0.3, "scans": 0.1}


def workload(kind: str, **parameters: Any) -> Workload:
    return Workload.model_validate({"kind": kind, **parameters})


@pytest.mark.parametrize("radius", [0.01, 0.25, 0.5])
@pytest.mark.parametrize("most", SHARES)
def test_a_corner_lies_on_the_edge_of_the_ball(most: str, radius: float) -> None:
    made = corner(SHARES, most, radius)
    assert math.fsum(made.values()) == pytest.approx(1.0, abs=1e-12)
    assert divergence(made, SHARES) == pytest.approx(radius, rel=1e-9)
    assert made[most] > SHARES[most]


def test_a_corner_is_the_tilted_mix_and_no_mix_of_the_ball_has_more() -> None:
    made = corner(SHARES, "scans", 0.25)
    others = [name for name in SHARES if name != "scans"]
    tilts = [made[name] / SHARES[name] for name in others]
    assert tilts[0] == pytest.approx(tilts[1])
    for step in (-0.05, 0.05):
        moved = {**made, "reads": made["reads"] - step, "overwrites": made["overwrites"] + step}
        assert divergence(moved, SHARES) > 0.25


def test_within_the_logarithm_of_its_rarity_an_operation_may_be_all_there_is() -> None:
    made = corner(SHARES, "scans", math.log(10) + 0.01)
    assert made == {"reads": 0.0, "overwrites": 0.0, "scans": 1.0}
    assert divergence(made, SHARES) == pytest.approx(math.log(10))


def test_what_is_never_asked_for_is_infinitely_far() -> None:
    assert divergence({"inserts": 1.0}, SHARES) == math.inf
    assert divergence(SHARES, SHARES) == 0.0


@pytest.mark.parametrize("radius", [0.1, 1.0])
def test_the_mixes_of_a_key_value_store_are_its_corners(radius: float) -> None:
    found, why = mixes(workload("key_value", reads=8, overwrites=1, scans=1), radius)
    assert why == "" and len(found) == 3
    for one in found:
        parts = [one.workload.parameters[name] for name in ("reads", "overwrites", "scans")]
        assert one.workload.parameters["inserts"] == 0
        assert sum(parts) == pytest.approx(1_000_000, abs=2)
        assert one.divergence <= radius + 1e-5
    far = {one.name.split()[-1]: one.divergence for one in found}
    assert far["scans"] == pytest.approx(radius, abs=1e-5)
    assert far["reads"] == pytest.approx(min(radius, -math.log(0.8)), abs=1e-5)


def test_other_mixes_of_a_program_are_those_in_the_ball() -> None:
    named = {one.name for one in mixes(workload("ycsb", mix="A"), 1.0)[0]}
    assert named == {"mix B", "mix C"}
    assert mixes(workload("ycsb", mix="A"), 0.6)[0][0].name == "mix B"
    (one,) = mixes(workload("linkbench", list_limit=50), 1.0)[0]
    assert one.workload.parameters == {"list_limit": 50, "mix": "fork2020"}
    far = divergence(LINKBENCH_SHARES["fork2020"], LINKBENCH_SHARES["facebook"])
    assert one.divergence == far == pytest.approx(0.64, abs=0.01)


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (workload("tpcc"), "no shares"),
        (workload("db_bench"), "no shares"),
        (workload("ycsb", mix="E"), "no other mix of ycsb"),
        (workload("key_value", writers=1), "clients of their own"),
        (workload("key_value", overwrites=0), "of one kind"),
    ],
)
def test_where_no_other_mix_exists_it_is_said_why(one: Workload, why: str) -> None:
    found, said = mixes(one, 1.0)
    assert found == [] and why in said


@pytest.mark.parametrize("shares", [*YCSB_SHARES.values(), *LINKBENCH_SHARES.values()])
def test_shares_of_a_mix_are_whole(shares: dict[str, float]) -> None:
    assert math.fsum(shares.values()) == pytest.approx(1.0, abs=1e-3)


def test_a_neighbour_differs_in_one_thing() -> None:
    asked = problem()
    found, why = neighbours(asked, 1.0)
    assert why == "" and found[0].profile == asked
    changed = [
        {
            name
            for name in Profile.model_fields
            if getattr(one.profile, name) != getattr(asked, name)
        }
        for one in found[1:]
    ]
    assert changed == [{"memory_bytes"}, {"data_bytes"}, {"clients"}, {"workload"}]
    assert neighbours(load("fillrandom").with_changes(hardware="nvme-2024"), 1.0)[1]


def test_a_mix_without_the_operation_of_a_goal_is_no_neighbour() -> None:
    asked = problem(workload={"kind": "ycsb", "mix": "A"}, goal="minimize p99_us[update]")
    found, why = neighbours(asked, 1.0)
    assert why == "" and [one.name for one in found][-1] == "mix B"
    found, why = neighbours(asked.with_changes(workload={"kind": "ycsb", "mix": "B"}), 0.1)
    assert all("mix" not in one.name for one in found)
    assert "has update, of which the goal speaks" in why


def runs(score: float | None, spread: float = 0.01, **metrics: float) -> tuple[Trial, ...]:
    """Two runs so far from their mean; None does not fit."""
    if score is None:
        return (trial(outcome="rejected", metrics={}, error="needs 2GiB: pool"),)
    measured = [{"ops_per_s": score * part, **metrics} for part in (1 - spread, 1 + spread)]
    return tuple(trial(metrics=one, clock="simulated") for one in measured)


def tried(name: str, *scores: float | None, **metrics: float) -> Tried:
    """Two runs at each point."""
    made = tuple(runs(score, **metrics) for score in scores)
    return Tried(Contender(name, "lsm", {"name": name}), made, {})


def noisy(name: str, *scores: float) -> Tried:
    """The same where the last neighbour is far noisier than the others."""
    spreads = (0.005, 0.005, 0.15)
    made = tuple(runs(score, spread) for score, spread in zip(scores, spreads, strict=True))
    return Tried(Contender(name, "lsm", {"name": name}), made, {})


def later(one: Tried, **scores: float) -> Tried:
    """With runs after the choice, at the points of these numbers."""
    return replace(one, again={int(name[1:]): runs(score) for name, score in scores.items()})


def found(*rows: Tried, goal: str = "maximize ops_per_s") -> Robustness:
    points = tuple(Neighbour(name, problem()) for name in ("as asked", "memory x 0.5", "data x 2"))
    return Robustness("s", "id", parse_goal(goal), 1.0, points, "", rows, "complete")


def test_the_best_worst_case_wins_among_those_that_lose_little() -> None:
    bold = tried("recommended", 100, 20, 60)
    even = tried("even", 97, 60, 58)
    timid = tried("timid", 80, 100, 100)
    known = found(bold, even, timid)
    assert known.choice is even and known.minimax is timid
    assert known.worst(bold) == 1 and known.part(bold, 1) == pytest.approx(0.2)
    gained = known.against_recommended(even, 1)
    assert gained is not None and gained.gain == pytest.approx(2.0)
    lost = known.against_recommended(even, 0)
    assert lost is not None and lost.gain == pytest.approx(-0.03)
    told = " ".join(sentences(known))
    assert "Robust choice: even" in told and "as asked: " in told and "+200% ops_per_s" in told
    assert "timid has the best worst case" in told and "20%" in told


def test_what_later_runs_do_not_bear_out_is_not_the_choice() -> None:
    bold, even = tried("recommended", 100, 20, 60), tried("even", 97, 60, 58)
    same = {"p0": 100.0, "p1": 20.0}
    once_more = found(later(bold, **same), later(even, **same))
    assert once_more.choice is once_more.recommended
    assert [one.contender.name for one in once_more.refuted] == ["even"]
    assert "even looked better" in " ".join(sentences(once_more))
    next_one = tried("next", 97, 50, 58)
    assert found(*once_more.tried, next_one).choice is next_one


def test_what_does_not_fit_is_the_worst_and_ties_go_to_the_next() -> None:
    known = found(tried("recommended", 100, None, 50), tried("fits", 99, 10, 50))
    assert known.choice.contender.name == "fits"
    assert cell(known, known.recommended, 1) == "does not fit"
    assert known.decisive(known.choice) == (0, 1, 2)
    assert "10 ops_per_s; the recommended one does not fit" in " ".join(sentences(known))
    both = found(tried("recommended", 100, None, 50), tried("next", 99, None, 80))
    assert both.choice.contender.name == "next"


def test_where_neither_fits_the_next_worst_neighbour_is_at_stake() -> None:
    known = found(tried("recommended", 100, None, None), tried("fits data", 99, None, 70))
    assert known.choice.contender.name == "fits data"
    assert known.worst(known.recommended) == 1 and known.stake(known.choice) == 2
    assert known.out_of_reach == (1,) and 1 not in known.decisive(known.choice)
    told = " ".join(sentences(known))
    assert "It does not run at data x 2 either." in told
    assert "memory x 0.5 decides nothing: nobody runs there" in told


def test_where_fitting_costs_more_than_may_be_lost_a_neighbour_decides_nothing() -> None:
    bold, even = tried("recommended", 100, None, 60), tried("even", 99, None, 90)
    lean, leaner = tried("lean", 92, 50, 80), tried("leaner", 86, 40, 80)
    known = found(later(bold, p0=100, p2=60), later(even, p0=98, p2=85), lean, leaner)
    assert known.out_of_reach == (1,) and known.stake(known.choice) == 2
    assert known.choice.contender.name == "even" and known.refuted == ()
    told = " ".join(sentences(known))
    assert "memory x 0.5 decides nothing" in told
    assert "runs there; to run there costs at least 8.0%." in told


def test_where_a_rival_fits_that_loses_little_a_neighbour_decides() -> None:
    known = found(tried("recommended", 100, None, 60), tried("fits", 97, 50, 55))
    assert known.out_of_reach == () and known.choice.contender.name == "fits"
    assert known.stake(known.choice) == 1


def test_where_the_recommended_settings_do_not_fit_a_gain_is_over_them_made_to_fit() -> None:
    fitted = tried("recommended, made to fit memory x 0.5", 96, 40, 88)
    known = found(tried("recommended", 100, None, 90), fitted, tried("fits", 99, 60, 90))
    assert known.choice.contender.name == "fits"
    told = " ".join(sentences(known))
    assert "60 ops_per_s; the recommended one does not fit" in told
    assert "against recommended, made to fit memory x 0.5, in the table: +50% ops_per_s" in told
    assert known.against_fitted(fitted, 1) is None


def test_a_quiet_neighbour_is_not_judged_by_the_noise_of_another() -> None:
    known = found(noisy("recommended", 100, 90, 100), noisy("even", 100, 97, 100))
    assert known.choice.contender.name == "even"
    quiet, loud = (known.noise(point).relative_sd for point in (1, 2))
    assert quiet < 0.01 and loud > 0.2


def test_a_noisy_neighbour_is_not_judged_by_the_quiet_of_others() -> None:
    known = found(noisy("recommended", 100, 100, 80), noisy("luck", 100, 100, 100))
    assert known.choice is known.recommended


def test_the_worst_neighbour_is_the_worst_beyond_its_noise() -> None:
    known = found(noisy("recommended", 100, 90, 80), noisy("even", 100, 98, 100))
    assert known.part(known.recommended, 2) < known.part(known.recommended, 1)
    assert known.worst(known.recommended) == known.stake(known.choice) == 1
    assert known.choice.contender.name == "even"


def test_runs_after_the_choice_do_not_move_what_is_at_stake() -> None:
    bold, even = noisy("recommended", 100, 90, 80), noisy("even", 100, 98, 100)
    wild = replace(even, again={1: runs(98, 0.4)})
    known = found(replace(bold, again={1: runs(90, 0.4)}), wild)
    assert known.stake(known.tried[1]) == found(bold, even).stake(even) == 1
    assert known.preferred == (wild,) and known.refuted == (wild,)


def test_a_neighbour_with_more_clients_runs_for_as_many_operations_of_each() -> None:
    asked = problem()
    points, _ = neighbours(asked, 1.0)
    assert [longer(one.profile, asked) for one in points] == [1.0, 1.0, 1.0, 4.0, 1.0]


def test_a_gain_that_noise_explains_is_not_settled() -> None:
    bold, even = tried("recommended", 100, 50, 100), tried("even", 97, 60, 100)
    known = found(later(bold, p0=100, p1=50), later(even, p0=97, p1=51))
    assert known.choice is known.recommended
    told = " ".join(sentences(known))
    assert "memory x 0.5, where these are worst: not settled, within noise: +2.0% ops_per_s" in told


def test_what_noise_leaves_open_is_where_a_limit_lies_within_it() -> None:
    bold, even = tried("recommended", 100, 50, 100), tried("even", 97, 90, 100)
    known = found(later(bold, p0=100, p1=50), later(even, p0=96, p1=85))
    assert known.unsettled(known.tried[1]) == (0,)
    known = found(later(bold, p0=100, p1=50), later(even, p0=102, p1=51))
    assert known.unsettled(known.tried[1]) == (1,)


def test_a_loss_that_noise_could_make_too_large_is_said() -> None:
    bold, even = tried("recommended", 100, 50, 100), tried("even", 96, 90, 100)
    told = " ".join(sentences(found(bold, even)))
    assert "as asked: " in told and "that it loses no more than 5.0% is not settled" in told
    told = " ".join(sentences(found(bold, tried("even", 103, 90, 100))))
    assert "is not settled" not in told


def test_a_difference_within_noise_changes_nothing() -> None:
    known = found(tried("recommended", 100, 50, 50), tried("luck", 100, 50.5, 50.5))
    assert known.choice is known.recommended
    assert "They are the robust choice" in " ".join(sentences(known))


def test_a_limit_that_another_keeps_is_not_broken_for_speed() -> None:
    goal = "maximize ops_per_s subject to p99_us <= 1000"
    known = found(
        tried("recommended", 100, 90, 90, p99_us=2000.0),
        tried("lawful", 97, 40, 40, p99_us=900.0),
        goal=goal,
    )
    assert [known.part(known.recommended, point) for point in range(3)] == [0.0] * 3
    assert known.choice.contender.name == "lawful"
    assert cell(known, known.recommended, 0) == "breaks a limit"


def test_less_is_better_where_the_goal_says_so() -> None:
    slow, fast = tried("recommended", 1, 1, 1, p99_us=400.0), tried("b", 1, 1, 1, p99_us=100.0)
    known = found(slow, fast, goal="minimize p99_us")
    assert known.part(slow, 0) == 0.25 and known.choice is fast
