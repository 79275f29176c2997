"""A hair of difference is no change."""

import pytest

from advisor.knobs import Setting, Settings
from advisor.recommend.nearness import is_near, settled


@pytest.mark.parametrize(
    ("value", "current", "near"),
    [
        (1006, 1000, True),
        (951, 1000, True),
        (1050, 1000, False),
        (9, 8, False),
        (1, 0, False),
        (33.1, 33.0, True),
        (True, 1, False),
        ("kZSTD", "kZSTD", False),
    ],
)
def test_numbers_are_near_within_a_twentieth(value: Setting, current: Setting, near: bool) -> None:
    assert is_near(value, current) is near


def test_what_is_near_goes_back_and_the_rest_stays() -> None:
    current: Settings = {"cache": 1000, "buffer": 64, "compression": "none"}
    found: Settings = {"cache": 1006, "buffer": 128, "compression": "lz4"}
    assert settled(found, current, lambda given: True) == {**found, "cache": 1000}


def test_a_current_value_that_the_others_do_not_allow_is_not_forced() -> None:
    current: Settings = {"cache": 1000, "buffer": 64}
    found: Settings = {"cache": 980, "buffer": 65}
    kept = settled(found, current, lambda given: given["cache"] != 1000)
    assert kept == {"cache": 980, "buffer": 64}
