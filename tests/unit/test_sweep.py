"""Axes of sweeps, and where one engine overtakes the other."""

import math
import re

import pytest

from advisor.errors import InputError
from advisor.sweep import Crossover, crossovers, parse_axis
from advisor.sweep.crossover import Step, gain

GIB = 1 << 30


def crossing(values: list[float], gains: list[float], bounds: list[float]) -> list[Crossover]:
    steps = [Step(*step) for step in zip(values, gains, bounds, strict=True)]
    return crossovers(steps, ("lsm", "btree"))


def test_a_range_is_walked_evenly_and_a_wide_one_by_factors() -> None:
    assert parse_axis("memory=5GiB..15GiB", 3).values == (5 * GIB, 10 * GIB, 15 * GIB)
    wide = parse_axis("clients=1..64", 4)
    assert wide.values == (1, 4, 16, 64)
    assert wide.label(16) == "16"


def test_values_may_be_named() -> None:
    axis = parse_axis("memory=50GiB, 5GiB,10GiB")
    assert [axis.label(value) for value in axis.values] == ["5GiB", "10GiB", "50GiB"]


def test_settings_without_an_order_are_walked_as_they_are_named() -> None:
    axis = parse_axis("compression=kzstd,kNoCompression,kZSTD")
    assert axis.choices == ("kZSTD", "kNoCompression") and axis.engine == "lsm"
    assert [axis.label(value) for value in axis.values] == ["kZSTD", "kNoCompression"]
    assert axis.settings("lsm", axis.values[1]) == {"compression": "kNoCompression"}
    switch = parse_axis("innodb_doublewrite=off,on")
    assert [switch.settings("btree", value) for value in switch.values] == [
        {"innodb_doublewrite": False},
        {"innodb_doublewrite": True},
    ]


def test_a_knob_belongs_to_its_engine() -> None:
    axis = parse_axis("innodb_io_capacity=200,2000")
    assert axis.engine == "btree"
    assert axis.settings("btree", 200.0) == {"innodb_io_capacity": 200}
    assert axis.settings("lsm", 200.0) == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("speed=1..2", "'speed'; accepted: memory, data, clients, requests_per_second, or a knob"),
        ("memory=5GiB..1GiB", "a range that does not ascend"),
        ("memory=5GiB", "one value; accepted: two or more"),
        ("memory=much..more", "accepted: memory=LOW..HIGH"),
        ("clients=0..4", "'0'; accepted: clients=LOW..HIGH"),
        ("compression=1..2", "'1..2'; accepted: one of kNoCompression"),
        ("compression=kZSTD", "one value; accepted: two or more, compression=A,B"),
        ("innodb_page_size=1..2", "innodb_page_size"),
    ],
)
def test_what_is_no_axis_is_refused(text: str, says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)) as raised:
        parse_axis(text)
    assert str(raised.value).startswith("--over")


def test_a_crossover_lies_on_the_line_between_two_steps() -> None:
    (found,) = crossing([10, 20, 30], [0.3, 0.1, -0.3], [0.04] * 3)
    assert found.value == pytest.approx(22.5)
    assert (found.before, found.after) == ("lsm", "btree")
    assert (found.low, found.high) == (pytest.approx(21.5), pytest.approx(23.5))


def test_the_step_with_more_noise_says_how_far_a_crossover_may_move() -> None:
    (found,) = crossing([0, 10, 20], [0.3, 0.1, -0.1], [0.9, 0.02, 0.05])
    assert (found.low, found.high) == (pytest.approx(12.5), pytest.approx(17.5))


def test_the_interval_of_a_crossover_ends_with_the_axis() -> None:
    (found,) = crossing([1, 2], [-0.1, 0.1], [10.0] * 2)
    assert (found.low, found.high) == (1, 2)
    assert (found.before, found.after) == ("btree", "lsm")


def test_without_a_change_of_sign_there_is_none() -> None:
    assert crossing([1, 2, 3], [0.3, 0.1, 0.2], [0.1] * 3) == []


def test_a_tie_is_no_change_of_sign_and_hides_none() -> None:
    assert crossing([1, 2, 3], [0.3, 0.0, 0.2], [0.1] * 3) == []
    (found,) = crossing([1, 2, 3], [-0.2, 0.0, 0.2], [0.1] * 3)
    assert (found.value, found.after) == (pytest.approx(2.0), "lsm")


def test_less_is_a_gain_where_the_goal_is_to_minimize() -> None:
    assert gain(50, 100, maximize=False) == pytest.approx(math.log(2))
    assert gain(50, 100, maximize=True) == pytest.approx(-math.log(2))
