"""What a predicted ratio has to allow for."""

from dataclasses import fields
from pathlib import Path

import pytest

from advisor.goal import Goal
from advisor.noise import Noise
from advisor.recommend import Asked, KnownErrors, Misses
from advisor.recommend.known_errors import LEAST_LIKE
from advisor.recommend.verdict import Comparison, compare
from advisor.search import Candidate
from advisor.store import Store
from advisor.validation import Row
from advisor.verify import known, known_errors
from tests.support.problems import problem, trial

GOAL, LATE = Goal("ops_per_s"), Goal("p99_us")
OFF_BY_A_FIFTH = KnownErrors({"lsm": Misses([Asked(1.2 * one, one) for one in (1.0, 2.0)] * 12)})


def against(goal: Goal, new: float, old: float, errors: KnownErrors) -> Comparison:
    """Settings whose three runs had this score, against others."""
    one, other = (
        Candidate(
            "lsm",
            {"max_background_jobs": 2 + a},
            tuple(trial(metrics={goal.metric: score}) for _ in range(3)),
        )
        for a, score in enumerate((new, old))
    )
    found = compare(goal, Noise(0.01, 20), one, other, known=errors)
    assert found is not None
    return found


def test_ratios_of_a_like_size_tell_the_usual_miss() -> None:
    near = [Asked(1.0 + place / 1000, 1.0) for place in range(12)]
    far = [Asked(8.0, 4.0)] * 12
    misses = Misses([*near, *far])
    assert misses.factor(1.01) == pytest.approx(1.0055, abs=0.001)
    assert misses.factor(6.0) == misses.factor(1 / 6.0) == pytest.approx(2.0)


def test_too_few_ratios_tell_nothing() -> None:
    assert Misses([Asked(2.0, 1.0)] * (LEAST_LIKE - 1)).factor(2.0) is None
    assert against(GOAL, 110.0, 100.0, KnownErrors()).real_error is None


@pytest.mark.parametrize(("goal", "better", "enough"), [(GOAL, 115, 130), (LATE, 87, 75)])
def test_a_gain_that_the_usual_miss_would_take_back_is_not_settled_on_a_real_engine(
    goal: Goal, better: float, enough: float
) -> None:
    small = against(goal, better, 100.0, OFF_BY_A_FIFTH)
    assert not small.within_noise and not small.is_settled
    assert small.words(goal).startswith("not settled on a real engine: ")
    assert ", real ±" in small.words(goal)
    assert against(goal, enough, 100.0, OFF_BY_A_FIFTH).is_settled


def row(product: str, configuration: str, source: str, value: float) -> Row:
    given = {name.name: "" for name in fields(Row)}
    known = {"case": "linkbench", "configuration": configuration, "settings": configuration}
    known |= {"source": source, "metric": "ops_per_s", "product": product}
    return Row(**{**given, **known, "repeat": 1, "value": value})  # type: ignore[arg-type]


def test_tables_and_verifications_tell_of_every_product_and_of_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Predictions of InnoDB are twice what it does in each second setting, those of MyRocks in
    none, so that every other ratio between both is off."""

    def shipped(file: str) -> list[Row]:
        off = 2.0 if file == "innodb.csv" else 1.0
        every = [(str(place), 100.0 + place) for place in range(6)]
        real = [row(file, name, "real", value) for name, value in every]
        return real + [
            row(file, name, "predicted", value * (off if int(name) % 2 else 1.0))
            for name, value in every
        ]

    monkeypatch.setattr(known, "shipped", shipped)
    store = Store(tmp_path / "results.duckdb")
    found = known_errors(problem(), "simulated", store)
    assert len(found.of("lsm", "lsm").asked) == len(found.of("btree", "btree").asked) == 15
    assert len(found.of("btree", "lsm").asked) == 36
    assert found.of("lsm", "lsm").factor(1.0) == pytest.approx(1.0)
    assert found.of("btree", "btree").factor(2.0) == pytest.approx(2.0)
    assert found.of("lsm", "btree").factor(2.0) == pytest.approx(2.0)
    assert known_errors(problem(), "measured", store) == KnownErrors()

    session = "00000000-0000-0000-0000-000000000001"
    product = "MyRocks of MariaDB 10.11"
    for place, predicted, real in ((0, 100.0, 50.0), (1, 300.0, 75.0)):
        name = str(place)
        for number, clock, value in ((0, "simulated", predicted), (1, "real", real)):
            run = trial(clock=clock, metrics={"ops_per_s": value}, product=product)
            store.add_verified(run, "s", session, place, name, number)
    again = known_errors(problem(), "simulated", store)
    assert again.of("lsm", "lsm").asked[-1] == pytest.approx((3.0, 1.5))
