"""Ranks tell what outliers hide, and never more than chance allows."""

import itertools
import random

import pytest

from advisor import ranks


def test_the_chance_is_the_part_of_all_orders_that_lie_as_far_apart() -> None:
    one, other = [5.0, 3.0, 8.0], [4.0, 1.0]
    every = list(itertools.combinations([1.0, 3.0, 4.0, 5.0, 8.0], 3))

    def won(values: tuple[float, ...] | list[float]) -> int:
        rest = [value for value in (1.0, 3.0, 4.0, 5.0, 8.0) if value not in values]
        return sum(mine > its for mine in values for its in rest)

    expected = sum(won(values) >= won(one) for values in every) / len(every)
    assert ranks.chance(one, other) == pytest.approx(expected)


def test_all_above_all_is_one_order_of_all() -> None:
    assert ranks.chance([2.0] * 9, [1.0] * 9) == pytest.approx(1 / 48_620)
    assert ranks.least_chance(9, 9) == pytest.approx(1 / 48_620)
    assert ranks.chance([1.0, 1.0], [1.0, 1.0]) == 1.0, "ties tell nothing"


def test_two_outliers_do_not_hide_what_all_runs_say() -> None:
    better, worse = [48.7, 48.8, 48.9] * 3, [40.4, 40.5, 40.6, 40.5, 40.5, 40.4, 40.6, 29.9, 26.8]
    gains = [mine / its - 1 for mine in better for its in worse]
    found = ranks.bounds(gains, 9, 9, 0.005)
    assert found is not None
    assert found[0] > 0.19 and found[1] < 0.85


def test_few_runs_bound_nothing() -> None:
    assert ranks.bounds([1.0] * 9, 3, 3, 0.05) is None
    assert ranks.bounds([1.0] * 16, 4, 4, 0.05) is not None


@pytest.mark.parametrize("runs", [5, 8])
def test_bounds_leave_the_truth_out_as_seldom_as_they_say(runs: int) -> None:
    draw, missed = random.Random(runs), 0
    for _ in range(2000):
        one, other = ([draw.expovariate(1.0) for _ in range(runs)] for _ in range(2))
        found = ranks.bounds([a - b for a in one for b in other], runs, runs, 0.05)
        assert found is not None
        missed += not found[0] <= 0.0 <= found[1]
    assert 0.015 < missed / 2000 <= 0.055
