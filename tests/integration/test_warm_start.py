"""A study begins with what earlier studies of like questions found best."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from advisor.errors import InputError
from advisor.evaluate import needed_memory
from advisor.profile import Profile
from advisor.search import Question, Study, stored_question
from advisor.search import earlier as earlier_module
from advisor.search.earlier import LEAST_ALIKE, MOST, earlier, likeness
from advisor.store import Store
from advisor.trial import Trial
from tests.support.problems import GIB, problem, study


def asked(**changes: Any) -> Question:
    return Question(problem(**changes), seed=1)


def run(folder: Path, name: str, question: Question, trials: int = 40) -> Study:
    made = study(folder, name=name, question=question, trials=trials)
    made.run()
    return made


def told(made: Study) -> list[Trial]:
    return [one for one in made.trials if one.role == "earlier"]


def tried(made: Study) -> list[tuple[str, object]]:
    return [(one.role, dict(one.settings)) for one in made.trials]


def test_what_a_like_study_found_is_among_the_first_looks(tmp_path: Path) -> None:
    first = run(tmp_path, "first", asked())
    assert not told(first)
    best = first.best()
    assert best is not None
    second = run(tmp_path, "second", asked(data="22GiB"))
    own = [one for one in told(second) if one.engine == best.engine]
    assert [dict(one.settings) for one in own] == [dict(best.settings)]
    assert own[0].number <= 2 * len(second.engines)
    assert own[0].why == "earlier: first, of today, 91% alike"


def test_sizes_follow_the_memory_and_what_does_not_fit_gives_way(tmp_path: Path) -> None:
    first = run(tmp_path, "first", asked())
    best = first.best()
    assert best is not None and best.engine == "lsm"
    second = run(tmp_path, "second", asked(memory="2GiB", data="10GiB"), trials=10)
    own = next(one for one in told(second) if one.engine == "lsm")
    # A little less than half: what the server takes does not shrink.
    assert 0.45 < own.settings["block_cache"] / best.settings["block_cache"] < 0.51
    assert needed_memory(second.profile, "lsm", own.settings) <= 2 * GIB


def test_the_cold_are_told_nothing(tmp_path: Path) -> None:
    alone = run(tmp_path / "alone", "one", asked())
    run(tmp_path, "first", asked())
    cold = run(tmp_path, "second", replace(asked(), cold=True))
    assert tried(cold) == tried(alone)


def test_a_study_that_nothing_is_known_of_is_as_a_cold_one(tmp_path: Path) -> None:
    run(tmp_path, "first", asked(memory="1GiB"))
    warm = run(tmp_path, "second", asked())
    cold = run(tmp_path, "third", replace(asked(), cold=True))
    assert tried(warm) == tried(cold)


def test_the_same_study_after_the_same_studies_is_the_same(tmp_path: Path) -> None:
    found = []
    for place in ("one", "other"):
        run(tmp_path / place, "first", asked(), trials=20)
        found.append(run(tmp_path / place, "second", asked(), trials=20))
    assert told(found[0])
    assert tried(found[0]) == tried(found[1])


def test_a_study_that_goes_on_begins_with_what_it_was_told(tmp_path: Path) -> None:
    run(tmp_path, "first", asked())
    begun = study(tmp_path, name="second", question=asked(data="22GiB"), trials=20)
    run(tmp_path, "third", replace(asked(data="21GiB"), cold=True))
    again = study(tmp_path, name="second", question=asked(data="22GiB"), trials=20)
    assert again.question.earlier == begun.question.earlier != ()
    assert again._looking.spaces["lsm"].axes == begun._looking.spaces["lsm"].axes
    stored = stored_question("second", Store(tmp_path / "results.duckdb"))
    assert stored.earlier == begun.question.earlier


def test_a_warm_study_does_not_go_on_cold(tmp_path: Path) -> None:
    study(tmp_path, name="one", question=asked())
    with pytest.raises(InputError, match="cold"):
        study(tmp_path, name="one", question=replace(asked(), cold=True))


def test_of_many_the_most_alike_are_taken(tmp_path: Path) -> None:
    for data in (16, 17, 18, 19, 20):
        run(tmp_path, f"of {data}", replace(asked(data=f"{data}GiB"), seed=data), trials=8)
    profile = problem(data="19GiB")
    found = earlier(profile, ("lsm",), "measured", Store(tmp_path / "results.duckdb"))
    assert 1 <= len(found) <= MOST
    assert found[0].study == "of 19"
    assert [one.likeness for one in found] == sorted((o.likeness for o in found), reverse=True)


def test_another_clock_tells_nothing(tmp_path: Path) -> None:
    run(tmp_path, "first", asked())
    store = Store(tmp_path / "results.duckdb")
    assert earlier(problem(), ("lsm",), "measured", store)
    assert not earlier(problem(), ("lsm",), "simulated", store)


def test_the_age_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, "first", asked())

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.now(tz) + timedelta(days=3, hours=1)

    monkeypatch.setattr(earlier_module, "datetime", Later)
    store = Store(tmp_path / "results.duckdb")
    assert earlier(problem(), ("lsm",), "measured", store)[0].told == (
        "first, 3 days old, 100% alike"
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, 1.0),
        ({"data": "40GiB"}, 0.5),
        ({"data": "40GiB", "memory": "8GiB"}, 1.0),
        ({"clients": 8}, 0.5),
    ],
)
def test_likeness_is_the_smaller_over_the_larger(changes: Any, expected: float) -> None:
    assert likeness(problem(), problem(**changes)) == pytest.approx(expected, rel=1e-3)
    assert likeness(problem(**changes), problem()) == pytest.approx(expected, rel=1e-3)


def test_another_device_and_another_mix_are_less_alike() -> None:
    assert likeness(problem(), problem(hardware="disk-array-2016")) < LEAST_ALIKE
    mixes: list[Profile] = [
        problem(workload={"kind": "ycsb", "mix": mix}) for mix in ("A", "B", "C")
    ]
    a, b, c = mixes
    assert likeness(b, c) == pytest.approx(0.95, abs=0.01)
    # An update of YCSB reads its record first.
    assert likeness(a, c) == pytest.approx(2 / 3, abs=0.01)


def test_an_earlier_study_is_read_once_for_all_engines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path, "first", asked(), trials=10)
    store = Store(tmp_path / "results.duckdb")
    read: list[str | None] = []
    trials = store.trials

    def counted(study: str | None, *, intervals: bool = True) -> list[Trial]:
        read.append(study)
        assert not intervals
        return trials(study, intervals=intervals)

    monkeypatch.setattr(store, "trials", counted)
    found = earlier(problem(), ("lsm", "btree"), "measured", store)
    assert {one.engine for one in found} == {"lsm", "btree"}
    assert read == ["first"]
