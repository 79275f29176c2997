"""Limits of a goal, noise taken into account."""

import pytest

from advisor.goal import Goal, Limit
from advisor.noise import Noise
from advisor.recommend.limits import close_notes, keeps, may_keep
from advisor.search import Candidate
from tests.support.problems import trial

GOAL = Goal("ops_per_s", (Limit("p99_us", 5000.0),))
NOISES = {"ops_per_s": Noise(0.05, 20), "p99_us": Noise(0.05, 20)}


def of(p99_us: float) -> Candidate:
    told = {"ops_per_s": 100.0, "p99_us": p99_us}
    return Candidate("lsm", {}, tuple(trial(metrics=told) for _ in range(3)))


@pytest.mark.parametrize(
    ("p99_us", "is_kept", "may_be", "is_close"),
    [
        (3000.0, True, True, False),
        (4900.0, False, True, True),
        (5100.0, False, True, False),
        (8000.0, False, False, False),
    ],
)
def test_a_limit_has_a_margin_of_noise_on_both_sides(
    p99_us: float, is_kept: bool, may_be: bool, is_close: bool
) -> None:
    found = of(p99_us)
    assert keeps(GOAL, NOISES, found) is is_kept
    assert may_keep(GOAL, NOISES, found) is may_be
    notes = close_notes(GOAL, NOISES, found)
    assert bool(notes) is is_close
    assert all(note.startswith("p99_us <= 5000 is kept by less than noise") for note in notes)
