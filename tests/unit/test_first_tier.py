"""The first tier: how it learns from trials, when it keeps silent, what it proposes."""

import random
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from advisor.analytic import FirstTier
from advisor.analytic.columns import Columns
from advisor.analytic.correction import TERMS, Correction
from advisor.evaluate import needed_memory
from advisor.goal import Goal, parse_goal
from advisor.knobs import Engine, Settings, defaults
from advisor.search.first_tier import PROPOSALS, Forecast
from advisor.search.space import Axis, Space
from advisor.trial import Trial, settings_key
from tests.support.problems import GIB, problem, trial

MIB = 1 << 20
VALUES = {
    "block_cache": (32 * MIB, 256 * MIB, GIB, 2 * GIB, 8 * GIB),
    "block_size": (4096, 16384, 65536),
    "filter_policy": ("nullptr", "bloomfilter:10:false"),
    "compression": ("kNoCompression", "kLZ4Compression", "kZSTD"),
    "write_buffer_size": (8 * MIB, 64 * MIB, 256 * MIB),
    "level0_stop_writes_trigger": (36, 64),
}


def tier(goal: Goal | None = None) -> FirstTier:
    found = FirstTier.of(problem(hardware="nvme-2024"), "lsm")
    assert found is not None
    return replace(found, goal=goal or found.goal)


def drawn(count: int, seed: int = 1) -> list[Settings]:
    draw = random.Random(seed)
    return [
        {**defaults("lsm"), **{name: draw.choice(values[:4]) for name, values in VALUES.items()}}
        for _ in range(count)
    ]


def told(own: FirstTier, settings: list[Settings], ratio: float, noise: float) -> list[Trial]:
    """Trials that gave what the formulas say, times a ratio, with noise."""
    columns = Columns.of(settings)
    predicted = own.model.predict(columns, own.model.needed_bytes(columns))
    draw = random.Random(7)
    return [
        trial(
            settings=one,
            metrics={
                name: float(values[i]) * ratio * np.exp(draw.gauss(0.0, noise))
                for name, values in predicted.items()
            },
        )
        for i, one in enumerate(settings)
    ]


def test_a_constant_ratio_is_learnt_and_leaves_no_error() -> None:
    own = tier()
    error = own.error(told(own, drawn(5), ratio=0.4, noise=0.0))
    assert error is not None
    assert error.worst < 1e-6 and error.is_telling


def test_the_error_is_that_of_trials_that_were_left_out() -> None:
    random_state = np.random.default_rng(3)
    predicted = {name: np.exp(random_state.normal(size=9)) for name in TERMS}
    simulated = predicted["ops_per_s"] * np.exp(random_state.normal(size=9) * 0.1)
    found = Correction.of("ops_per_s", predicted, simulated)
    assert found is not None
    few = {name: values[:5] for name, values in predicted.items()}
    mean = Correction.of("ops_per_s", few, simulated[:5])
    assert mean is not None
    ratios = np.log(simulated[:5] / few["ops_per_s"])
    left_out = [ratios[i] - np.delete(ratios, i).mean() for i in range(5)]
    assert mean.misses == pytest.approx(left_out)


def test_formulas_that_know_no_more_than_the_mean_say_so_and_propose_all_the_same() -> None:
    own = tier()
    trials = told(own, drawn(8), ratio=1.0, noise=0.0)
    draw = random.Random(5)
    shuffled = [
        replace(one, metrics={name: draw.uniform(1, 100) for name in one.metrics}) for one in trials
    ]
    found = own.propose(VALUES, shuffled, count=6, seed=1, candidates=500)
    assert found.error is not None and not found.error.is_telling
    assert len(found.settings) == 6


def test_too_few_trials_keep_it_silent() -> None:
    own = tier()
    assert own.propose(VALUES, told(own, drawn(3), 1.0, 0.0), count=6, seed=1).settings == ()
    assert own.propose(VALUES, [], count=6, seed=1).settings == ()


def test_proposals_fit_the_memory_and_were_not_tried() -> None:
    own = tier()
    trials = told(own, drawn(8), ratio=1.0, noise=0.02)
    found = own.propose(VALUES, trials, count=6, seed=1, candidates=2000).settings
    assert len({settings_key("lsm", one) for one in found}) == 6
    profile = own.model.profile
    assert all(needed_memory(profile, "lsm", one) <= profile.memory_bytes for one in found)
    tried = {settings_key("lsm", one.settings) for one in trials}
    assert not tried & {settings_key("lsm", one) for one in found}


def test_proposals_are_the_same_for_a_seed() -> None:
    own = tier()
    trials = told(own, drawn(8), ratio=1.0, noise=0.02)
    first = own.propose(VALUES, trials, count=3, seed=1, candidates=2000)
    assert own.propose(VALUES, trials, count=3, seed=1, candidates=2000) == first


def test_the_first_proposal_is_nearly_the_best_that_the_formulas_know() -> None:
    own = tier()
    trials = told(own, drawn(8), ratio=0.5, noise=0.0)
    found = own.propose(VALUES, trials, count=1, seed=1, candidates=5000)
    best = told(own, [*found.settings], 0.5, 0.0)[0].metrics["ops_per_s"]
    others = told(own, [one for one in drawn(60, seed=9) if fits(own, one)], 0.5, 0.0)
    assert best >= max(one.metrics["ops_per_s"] for one in others)


def fits(own: FirstTier, settings: Settings) -> bool:
    profile = own.model.profile
    return needed_memory(profile, "lsm", settings) <= profile.memory_bytes


def test_a_knob_that_the_formulas_do_not_look_at_stays_as_the_best_trial_has_it() -> None:
    own = tier()
    trials = told(own, drawn(8), ratio=1.0, noise=0.02)
    best = max(trials, key=lambda one: one.metrics["ops_per_s"])
    found = own.propose(VALUES, trials, count=6, seed=1, candidates=2000).settings
    stops = {one["level0_stop_writes_trigger"] for one in found}
    assert stops == {best.settings["level0_stop_writes_trigger"]}


def test_settings_that_would_break_a_limit_are_left_out() -> None:
    own = tier(parse_goal("maximize ops_per_s subject to space_amp <= 0.9"))
    trials = told(own, drawn(8), ratio=1.0, noise=0.0)
    found = own.propose(VALUES, trials, count=6, seed=1, candidates=2000).settings
    assert found
    assert {one["compression"] for one in found} <= {"kLZ4Compression", "kZSTD"}


def test_a_goal_that_no_formula_predicts_keeps_it_silent() -> None:
    own = tier(Goal("memory_bytes"))
    trials = [
        replace(one, metrics={**one.metrics, "memory_bytes": 1e6})
        for one in told(own, drawn(8), 1.0, 0.0)
    ]
    assert own.error(trials) is None
    assert own.propose(VALUES, trials, count=6, seed=1).settings == ()


@pytest.mark.parametrize("engine", ["lsm", "btree"])
def test_failed_trials_and_those_of_another_engine_teach_nothing(engine: Engine) -> None:
    own = tier()
    trials = told(own, drawn(5), ratio=0.4, noise=0.0)
    strange = replace(trials[0], engine=engine, outcome="failed", metrics={})
    assert own.error([*trials, strange]) == own.error(trials)


def test_a_study_asks_after_four_trials_and_again_after_four_times_as_many() -> None:
    own = tier()
    profile = own.model.profile
    axes = tuple(
        Axis(name, values, ordered=not isinstance(values[0], str))
        for name, values in VALUES.items()
    )
    need = partial(needed_memory, profile, "lsm")
    forecast = Forecast(profile, Space("lsm", defaults("lsm"), axes, 4 * GIB, need), seed=1)
    trials = told(own, drawn(16), ratio=1.0, noise=0.0)
    assert forecast.next(trials[:3]) is None
    first = [forecast.next(trials[:4]) for _ in range(PROPOSALS + 1)]
    assert None not in first[:-1] and first[-1] is None
    assert forecast.next(trials[:15]) is None
    assert forecast.next(trials) is not None


def test_what_is_predicted_without_a_trial_is_not_told_by_its_repetition() -> None:
    own = tier()
    trials = told(own, drawn(8), ratio=0.4, noise=0.3)
    repeated = [replace(one, role="repeat", id=f"again {one.id}") for one in trials]
    assert own.error([*trials, *repeated]) == own.error(trials)
    off = [replace(one, metrics={"ops_per_s": 3 * one.metrics["ops_per_s"]}) for one in repeated]
    medians = [replace(one, metrics={"ops_per_s": 2 * one.metrics["ops_per_s"]}) for one in trials]
    assert own.error([*trials, *off]) == own.error(medians)
