"""Whom a real engine picks at the end of a search, and what the advice says of it then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from advisor import knobs
from advisor.errors import InputError
from advisor.goal import Goal
from advisor.recommend import Recommendation, recommend, warning
from advisor.scale import Scale
from advisor.search import Question, Study
from advisor.store import Store
from advisor.trial import Trial
from advisor.verify import (
    Compared,
    Contender,
    Sizing,
    Verification,
    decided,
    newest,
    size_decides,
)
from advisor.verify.contenders import finalists
from advisor.verify.finals import _refutation, _words, picked, refuse_unjudged
from tests.support.problems import problem, study, trial

MIB = 1 << 20
SESSION = "00000000-0000-0000-0000-000000000001"
ROUNDS = 3
STEADY = (0.99, 1.0, 1.01)
"""What the machine does to all runs of a round."""


def settings(cache_mib: int) -> dict[str, Any]:
    return {**knobs.defaults("lsm"), "block_cache": cache_mib * MIB}


def runs(values: Mapping[str, float], **changes: Any) -> tuple[Trial, ...]:
    """A run of each round, with these values in the middle one."""
    return tuple(
        trial(
            seed=number,
            clock="real",
            metrics={name: value * STEADY[number - 1] for name, value in values.items()},
            product="RocksDB 10.4.2",
            **changes,
        )
        for number in range(1, ROUNDS + 1)
    )


def one(name: str, cache_mib: int, error: str | None = None, **values: float) -> Compared:
    given = settings(cache_mib)
    return Compared(Contender(name, "lsm", given), (), runs(values, settings=given), error)


def judged(found: Sequence[Compared], goal: str = "maximize ops_per_s") -> Verification:
    profile = problem(goal=goal)
    sizing = Sizing.of(profile, Scale(1 / 64), 1_000)
    return Verification.of("s", SESSION, profile, found, sizing, "settled")


@pytest.mark.parametrize(
    ("runner_up", "picks"),
    [
        (100.5, "recommended"),
        (90.0, "recommended"),
        (120.0, "runner-up 1"),
    ],
)
def test_what_the_search_recommends_stays_unless_another_is_detectably_better(
    runner_up: float, picks: str
) -> None:
    close = one("runner-up 1", 3, ops_per_s=runner_up)
    if runner_up == 100.5:
        # As much better, but not in every round.
        values = ({"ops_per_s": v} for v in (110.0, 92.0, 101.0))
        mixed = [runs(v)[number] for number, v in enumerate(values)]
        close = Compared(close.contender, (), tuple(mixed), None)
    found = judged([one("defaults", 1, ops_per_s=50), one("recommended", 2, ops_per_s=100), close])
    assert picked(found).contender.name == picks


def test_of_several_that_are_better_the_best_is_picked() -> None:
    found = judged(
        [
            one("defaults", 1, ops_per_s=50),
            one("recommended", 2, ops_per_s=100),
            one("runner-up 1", 3, ops_per_s=120),
            one("runner-up 2", 4, ops_per_s=130),
        ]
    )
    assert picked(found).contender.name == "runner-up 2"


def test_two_rounds_decide_nothing() -> None:
    found = [
        one("defaults", 1, ops_per_s=50),
        one("recommended", 2, ops_per_s=100),
        one("runner-up 1", 3, ops_per_s=300),
    ]
    short = [Compared(c.contender, (), c.real[:2], None) for c in found]
    assert picked(judged(short)).contender.name == "recommended"


def test_a_limit_goes_before_the_metric() -> None:
    goal = "maximize ops_per_s subject to p99_us <= 5000"
    base = one("defaults", 1, ops_per_s=50, p99_us=100)
    keeps = one("recommended", 2, ops_per_s=100, p99_us=4000)
    breaks = one("runner-up 1", 3, ops_per_s=200, p99_us=6000)
    assert picked(judged([base, keeps, breaks], goal)).contender.name == "recommended"
    breaks = one("recommended", 2, ops_per_s=200, p99_us=6000)
    keeps = one("runner-up 1", 3, ops_per_s=100, p99_us=4000)
    assert picked(judged([base, breaks, keeps], goal)).contender.name == "runner-up 1"


def test_a_limit_that_no_real_engine_tells_of_decides_nothing() -> None:
    goal = "maximize ops_per_s subject to drive_years >= 5, p99_us <= 5000"
    base = one("defaults", 1, ops_per_s=50, p99_us=100)
    asked = one("recommended", 2, ops_per_s=100, p99_us=4000)
    better = one("runner-up 1", 3, ops_per_s=200, p99_us=4500)
    breaks = one("runner-up 2", 4, ops_per_s=300, p99_us=6000)
    found = judged([base, asked, better, breaks], goal)
    pick = picked(found)
    assert pick.contender.name == "runner-up 1"
    assert not _refutation(found, pick)
    assert "It tells nothing of drive_years >= 5." in _words(found, pick)[1]


@pytest.mark.parametrize("metric", ["drive_years", "cost"])
def test_a_goal_that_no_real_engine_tells_of_is_refused_before_the_search(metric: str) -> None:
    with pytest.raises(InputError, match=f"a goal of {metric}"):
        refuse_unjudged(Goal(metric), "finalists")


def test_a_limit_on_a_size_means_the_full_size() -> None:
    base = one("defaults", 1, ops_per_s=50, disk_bytes=MIB)
    keeps = one("recommended", 2, ops_per_s=100, disk_bytes=100 * MIB)
    breaks = one("runner-up 1", 3, ops_per_s=200, disk_bytes=200 * MIB)
    goal = "maximize ops_per_s subject to disk_bytes <= 10GiB"
    assert picked(judged([base, keeps, breaks], goal)).contender.name == "recommended"
    assert picked(judged([base, keeps, breaks])).contender.name == "runner-up 1"


def test_less_is_better_where_the_goal_says_so() -> None:
    found = [
        one("defaults", 1, write_amp=9),
        one("recommended", 2, write_amp=6),
        one("runner-up 1", 3, write_amp=5),
        one("runner-up 2", 4, write_amp=7),
    ]
    assert picked(judged(found, "minimize write_amp")).contender.name == "runner-up 1"


def test_what_does_not_run_there_gives_way_to_what_beats_the_base() -> None:
    base = one("defaults", 1, ops_per_s=50)
    failed = one("recommended", 2, "round 1: Invalid argument")
    assert picked(judged([base, failed, one("runner-up 1", 3, ops_per_s=80)])) != failed
    worse = judged([base, failed, one("runner-up 1", 3, ops_per_s=40)])
    assert picked(worse).contender.name == "recommended"
    broken_off = one("runner-up 1", 3, "round 3: died", ops_per_s=300)
    kept = judged([base, one("recommended", 2, ops_per_s=100), broken_off])
    assert picked(kept).contender.name == "recommended"


@pytest.fixture
def searched(tmp_path: Path) -> tuple[Study, Recommendation]:
    question = Question(problem(), engines=("lsm",), seed=1)
    found = study(tmp_path, question=question, trials=10)
    found.run()
    return found, recommend(found)


def kept(
    made: Study,
    advice: Recommendation,
    values: Sequence[float],
    pick: int | None,
    predicted: float | None = None,
) -> Store:
    """Stores a run of each finalist in each round, and the pick. What is recommended is `predicted`
    to have so many times the base's rate, by default what it is said to gain."""
    if predicted is None and advice.gain is not None:
        predicted = 1 + advice.gain.gain
    store = Store(made.results)
    found = finalists(made, advice, len(values) - 1)
    for place, (contender, value) in enumerate(zip(found, values, strict=True)):
        for number, ran in enumerate(runs({"ops_per_s": value}, settings=contender.settings), 1):
            store.add_verified(ran, made.name, SESSION, place, contender.name, number)
        rate = 100 * (predicted or 1.0) if contender.name == "recommended" else 100.0
        told = {"settings": contender.settings, "metrics": {"ops_per_s": rate}}
        foreseen = trial(clock="simulated", hardware="x", seed=9, **told)
        store.add_verified(foreseen, made.name, SESSION, place, contender.name, 0)
    if pick is not None:
        store.add_final(SESSION, made.name, pick)
    return store


def test_the_finalists_are_the_base_the_recommended_and_the_next_best(
    searched: tuple[Study, Recommendation],
) -> None:
    made, advice = searched
    found = finalists(made, advice, 3)
    assert [one.name for one in found] == ["defaults", "recommended", "runner-up 1", "runner-up 2"]
    assert found[1].settings == advice.settings
    assert len({tuple(sorted(one.settings.items())) for one in found}) == 4


def test_advice_that_no_real_engine_was_asked_about_stays(
    searched: tuple[Study, Recommendation],
) -> None:
    made, advice = searched
    assert decided(made, advice) is advice
    kept(made, advice, [100, 200, 300], None)
    assert decided(made, advice) is advice, "a verification that was no final, or was interrupted"


def test_a_confirmed_recommendation_quotes_the_product(
    searched: tuple[Study, Recommendation],
) -> None:
    made, advice = searched
    kept(made, advice, [100, 200, 190], 1)
    found = decided(made, advice)
    assert advice.gain is not None
    assert found.settings == advice.settings
    numbers, why = found.real
    assert numbers.startswith("On RocksDB 10.4.2 itself, with 10GiB of data (1/2 of the profile's)")
    assert "in 3 rounds: 200 ops_per_s, 2.00x (2.00 to 2.00) the 100 of defaults" in numbers
    assert f"predicted {1 + advice.gain.gain:.2f}x on x" in numbers
    assert why == "None of 1 runner-up of the search was detectably better there, so this stayed."
    text = found.write("rocksdb-10.4")
    assert f"# {numbers}" in text
    assert f"# {why}" in text
    assert warning(found) == ""


def test_what_the_product_picks_is_what_is_written(
    searched: tuple[Study, Recommendation],
) -> None:
    made, advice = searched
    store = kept(made, advice, [100, 200, 300], 2)
    found = decided(made, advice)
    (ran,) = [c for c in finalists(made, advice, 2) if c.name == "runner-up 1"]
    assert found.settings == ran.settings
    assert {change.knob for change in found.changes} == {
        knob for knob, value in ran.settings.items() if value != found.current[knob]
    }
    assert "It picked runner-up 1 of the search, of 1 runner-up: 1.50x" in found.real[1]
    verification = newest(made.name, made.profile, store)
    assert verification is not None
    assert [verification.verdict(one) for one in verification.compared] == [
        "the base",
        "better",
        "better",
    ]


def test_a_base_that_is_better_on_the_product_is_a_warning(
    searched: tuple[Study, Recommendation],
) -> None:
    made, advice = searched
    kept(made, advice, [100, 80, 70], 1)
    told = "on RocksDB 10.4.2 these settings are worse than defaults, 0.80x (0.80 to 0.80)"
    assert warning(decided(made, advice)).startswith(told)


def test_less_data_refutes_nothing_where_it_is_predicted_to_answer_otherwise(
    searched: tuple[Study, Recommendation],
) -> None:
    made, advice = searched
    assert advice.gain is not None
    gains = replace(advice, gain=replace(advice.gain, gain=5.0))
    store = kept(made, gains, [100, 80, 70], 1, predicted=0.9)
    found = decided(made, gains)
    told = "recommended is predicted to have 0.90x the ops_per_s of defaults in these, and 6.00x on"
    assert found.real[-1].startswith("The size or the length of the runs decides: ")
    assert told in found.real[-1] and "times as many operations for its size" in found.real[-1]
    assert warning(found) == ""
    verification = newest(made.name, made.profile, store)
    assert verification is not None
    assert size_decides(verification, gains) == found.real[-1]
    near = replace(advice, gain=replace(advice.gain, gain=0.1))
    assert size_decides(verification, near) == ""
    assert decided(made, near).refuted, "all of the data was not promised more"
    assert size_decides(verification, replace(gains, settings={})) == ""
    long = replace(verification.sizing, operations=10**12)
    told = size_decides(replace(verification, sizing=long), gains)
    assert told.startswith("The size of the runs decides: ")
    assert told.endswith("6.00x on 20GiB, which only such runs can tell (--data 20GiB).")


def test_a_pick_among_other_settings_than_these_says_nothing_of_them(
    searched: tuple[Study, Recommendation],
) -> None:
    made, advice = searched
    kept(made, advice, [100, 200, 190], 1)
    other = replace(advice, settings={**advice.settings, "block_size": 65536})
    assert decided(made, other) is other


def test_a_deleted_study_takes_its_pick_along(searched: tuple[Study, Recommendation]) -> None:
    made, advice = searched
    store = kept(made, advice, [100, 200, 190], 1)
    assert store.final(made.name) == (SESSION, 1)
    assert {one.verified for one in store.studies()} == {"RocksDB 10.4.2"}
    store.delete_study(made.name)
    assert store.final(made.name) is None
