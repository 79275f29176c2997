"""Noise is pooled over repetitions, and few repetitions prove less."""

import math
import random
import statistics

import pytest

from advisor.noise import ASSUMED_RELATIVE_SD, SMALLEST_RELATIVE_SD, Noise, Spread, student_tail


def test_noise_is_assumed_when_nothing_was_repeated() -> None:
    assert Noise.pooled([[100.0], []]) == Noise(ASSUMED_RELATIVE_SD, 0)


def test_noise_pools_relative_deviations_over_settings_of_any_level() -> None:
    noise = Noise.pooled([[90.0, 110.0], [900.0, 1100.0]])
    assert noise.degrees == 2
    assert noise.relative_sd == pytest.approx(math.sqrt(0.04 / 2))


def test_repetitions_that_agree_do_not_make_a_machine_exact() -> None:
    assert Noise.pooled([[100.0, 100.0]]).relative_sd == SMALLEST_RELATIVE_SD


def test_the_bound_shrinks_with_runs_and_with_what_is_known_of_the_noise() -> None:
    sure, unsure = Noise(0.06, 20), Noise(0.06, 2)
    assert sure.bound(4, 4) < sure.bound(1, 1)
    assert sure.bound(2, 2) < unsure.bound(2, 2)


def test_a_spread_holds_median_and_extremes() -> None:
    assert Spread.of([3.0, 1.0, 2.0]) == Spread(2.0, 1.0, 3.0, 3)


@pytest.mark.parametrize(
    ("degrees", "t", "tail"),
    # Quantiles of any table of Student's t.
    [(1, 12.706, 0.025), (2, 4.303, 0.025), (5, 3.365, 0.01), (10, 2.764, 0.01), (60, 2.0, 0.025)],
)
def test_the_tail_of_students_t_is_that_of_the_tables(degrees: int, t: float, tail: float) -> None:
    assert student_tail(t, degrees) == pytest.approx(tail, rel=2e-3)
    assert student_tail(-t, degrees) == pytest.approx(1 - tail, rel=2e-3)
    assert student_tail(0.0, degrees) == pytest.approx(0.5)


def test_a_difference_of_many_runs_is_less_by_chance() -> None:
    noise = Noise(0.03, 20)
    assert noise.chance(0.08, 1, 1) > noise.chance(0.08, 4, 4) > noise.chance(0.08, 8, 8)
    assert noise.chance(-0.08, 4, 4) > 0.5


@pytest.mark.parametrize("runs", [1, 2, 3, 4, 5, 8, 12])
def test_the_bound_is_that_of_medians_of_so_many_runs(runs: int) -> None:
    draw = random.Random(runs)

    def median() -> float:
        return statistics.median(draw.gauss(1.0, 0.01) for _ in range(runs))

    noise = Noise(0.01, 1000)
    beyond = sum(abs(median() - median()) > noise.bound(runs, runs) for _ in range(4000))
    assert beyond / 4000 == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize(
    ("sd", "degrees", "quantile"),
    [(0.06, 1, 12.706), (0.01, 2, 4.303), (0.01, 16, 2.120), (0.01, 25, 2.060)],
)
def test_the_bound_takes_the_quantile_of_as_many_degrees(
    sd: float, degrees: int, quantile: float
) -> None:
    assert Noise(sd, degrees).bound(1, 1) == pytest.approx(quantile * sd * math.sqrt(2), 1e-3)


def test_a_few_runs_that_hardly_differ_make_no_bound_wider_than_none_would() -> None:
    assumed = Noise(ASSUMED_RELATIVE_SD, 0)
    for few in (Noise(0.02, 1), Noise(ASSUMED_RELATIVE_SD, 2)):
        assert few.bound(2, 2, 0.005) == assumed.bound(2, 2, 0.005)
        assert few.chance(0.3, 2, 2) == assumed.chance(0.3, 2, 2) < 1e-5
        assert few.chance(-0.3, 2, 2) == pytest.approx(1.0 - few.chance(0.3, 2, 2))
    loud = Noise(2.0 * ASSUMED_RELATIVE_SD, 2)
    assert loud.bound(2, 2) > 2.0 * assumed.bound(2, 2)


def stopped(level: float) -> float:
    """How often one of eight looks at settings that do not differ stops for a difference."""
    draw, noise, stops = random.Random(8), Noise(1.0, 60), 0
    for _ in range(4000):
        total = 0.0
        for runs in range(1, 9):
            total += draw.gauss(0.0, 1.0) - draw.gauss(0.0, 1.0)
            if noise.chance_of_looks(total / runs, runs, runs, 8) <= level:
                stops += 1
                break
    return stops / 4000


@pytest.mark.parametrize("level", [0.05, 0.01])
def test_looks_after_each_run_err_together_as_seldom_as_one(level: float) -> None:
    assert level / 4 < stopped(level) <= level
