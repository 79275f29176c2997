"""Noise is pooled over repetitions, and few repetitions prove less."""

import math

import pytest

from advisor.noise import ASSUMED_RELATIVE_SD, SMALLEST_RELATIVE_SD, Noise, Spread


def test_noise_is_assumed_when_nothing_was_repeated() -> None:
    assert Noise.pooled([[100.0], []]) == Noise(ASSUMED_RELATIVE_SD, 0)


def test_noise_pools_relative_deviations_over_settings_of_any_level() -> None:
    noise = Noise.pooled([[90.0, 110.0], [900.0, 1100.0]])
    assert noise.degrees == 2
    assert noise.relative_sd == pytest.approx(math.sqrt(0.04 / 2))


def test_repetitions_that_agree_do_not_make_a_machine_exact() -> None:
    assert Noise.pooled([[100.0, 100.0]]).relative_sd == SMALLEST_RELATIVE_SD


def test_the_bound_shrinks_with_runs_and_with_what_is_known_of_the_noise() -> None:
    sure, unsure = Noise(0.05, 20), Noise(0.05, 2)
    assert sure.bound(4, 4) < sure.bound(1, 1)
    assert sure.bound(2, 2) < unsure.bound(2, 2)


def test_a_spread_holds_median_and_extremes() -> None:
    assert Spread.of([3.0, 1.0, 2.0]) == Spread(2.0, 1.0, 3.0, 3)
