"""A study and its recommendation on the real core, under the virtual clock: what holds whatever the
engines answer."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pytest

from advisor import dialects, evaluate, html, knobs, report, sql
from advisor.evidence import Evidence
from advisor.recommend import Recommendation, recommend
from advisor.scale import MIB, factor
from advisor.search import Bounds, Question, Study, stored_question
from advisor.store import Store
from advisor.trial import Trial, settings_key
from tests.support.problems import problem

TRIALS = 12
QUESTION = Question(problem(hardware="nvme-2024"), clock="simulated", seconds=0.2)


@pytest.fixture(scope="module", autouse=True)
def small_trials() -> Iterator[None]:
    """Little data and few operations: what is claimed does not depend on them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(factor, "SMALLEST_DATA", 2 * MIB)
        patch.setattr(factor, "LARGEST_DATA", 4 * MIB)
        patch.setattr(evaluate, "SIMULATED_OPERATIONS", 2_000)
        yield


def made(store: Store, question: Question = QUESTION) -> Study:
    return Study("real", question, store, bounds=Bounds(trials=TRIALS))


class Answered(NamedTuple):
    """A question with its answer."""

    store: Store
    study: Study
    trials: tuple[Trial, ...]
    """What the study measured before it was asked what each change buys."""
    recommendation: Recommendation


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Answered:
    store = Store(tmp_path_factory.mktemp("real") / "results.duckdb")
    study = made(store)
    assert study.run() == "complete"
    return Answered(store, study, tuple(study.trials), recommend(study))


def test_every_trial_ends_and_says_what_it_ran_on(answered: Answered) -> None:
    for trial in answered.study.trials:
        assert trial.finished or trial.outcome == "rejected", trial.error
        assert (trial.clock, trial.hardware) == ("simulated", "nvme-2024")
    assert {one.engine for one in answered.trials if one.finished} == set(knobs.ENGINES)


def test_the_same_question_gets_the_same_answers(answered: Answered, tmp_path: Path) -> None:
    again = made(Store(tmp_path / "results.duckdb"))
    again.run()

    def told(trials: Iterable[Trial]) -> list[object]:
        return [(settings_key(one.engine, one.settings), one.seed, one.metrics) for one in trials]

    assert told(again.trials) == told(answered.trials)


def test_what_was_measured_is_stored_and_a_study_that_is_complete_runs_nothing_more(
    answered: Answered,
) -> None:
    stored = answered.store.trials("real", intervals=False)
    kept = [replace(one, intervals=()) for one in answered.study.trials]
    assert [one.id for one in stored] == [one.id for one in kept]
    assert stored == kept
    resumed = made(answered.store, stored_question("real", answered.store))
    assert resumed.run() == "complete"
    assert len(answered.store.trials("real")) == len(stored)


def test_the_best_settings_are_no_worse_than_their_engines_defaults(answered: Answered) -> None:
    best = answered.study.best()
    assert best is not None
    (default,) = {
        one.key for one in answered.trials if one.role == "default" and one.engine == best.engine
    }
    rates: dict[tuple[object, float], list[float]] = {}
    for one in answered.study.trials:
        rates.setdefault((one.key, one.scale), []).append(one.metrics["ops_per_s"])
    own = settings_key(best.engine, best.settings)
    # On the highest rung that has runs of both: the others tell other rates of the same settings.
    scale = max(scale for key, scale in rates if key == default and (own, scale) in rates)
    assert median(rates[own, scale]) >= 0.98 * min(rates[default, scale])


def test_a_recommendation_changes_knobs_and_says_what_each_buys(answered: Answered) -> None:
    found = answered.recommendation
    knobs.check(found.engine, found.settings)
    for change in found.changes:
        assert change.recommended == found.settings[change.knob] != change.current
        assert change.evidence
    text = report.markdown(Evidence(found))
    assert all(f"`{change.knob}`" in text for change in found.changes)


def test_a_recommendation_is_written_for_every_product_of_its_engine(answered: Answered) -> None:
    found = answered.recommendation
    for dialect in dialects.for_engine(found.engine):
        assert found.write(dialect)


def test_an_engine_is_seen_from_within_over_each_run(answered: Answered) -> None:
    seen = {
        "lsm": {"memtable_bytes", "level_0_bytes", "level_6_bytes"},
        "btree": {"leaf_fill", "dirty_pages_share", "checkpoint_age_share"},
    }
    for trial in answered.store.trials("real"):
        if not trial.finished:
            continue
        for interval in trial.intervals:
            shape = interval["shape"]
            assert seen[trial.engine] <= set(shape)
            assert all(value >= 0 for value in shape.values())
            assert all(shape.get(name, 0) <= 1 for name in ("leaf_fill", "dirty_pages_share"))
        if trial.engine == "lsm":
            last = trial.intervals[-1]
            levels = sum(value for name, value in last["shape"].items() if "level_" in name)
            # As of the full size, as the bytes of all files are: these hold logs beside tables.
            assert 0.5 * last["disk_bytes"] < levels <= last["disk_bytes"]
    evidence = Evidence.of(answered.recommendation, answered.store)
    assert "## Within the engine over the run" in report.markdown(evidence)
    engine = answered.recommendation.engine
    title = "Levels and memtables" if engine == "lsm" else "Pages and log"
    assert f"{title} over the run" in html.page(evidence)
    query = "SELECT count(DISTINCT gauge) FROM run_shape WHERE engine = 'btree'"
    assert sql(query, results=answered.store.path).fetchall() == [(3,)]
