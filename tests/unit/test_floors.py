"""What a copy could not shrink, when settings are compared on it."""

from __future__ import annotations

from advisor import knobs
from advisor.goal import parse_goal
from advisor.knobs import Engine, Settings
from advisor.noise import Noise
from advisor.recommend.floors import notes_of_base
from advisor.recommend.verdict import Comparison, compare
from advisor.scale import Scale
from advisor.search import Candidate
from tests.support.problems import trial

MIB = 1 << 20
GOAL = parse_goal("maximize ops_per_s")
SCALE = 1 / 640


def candidate(engine: Engine, ops_per_s: float, **own: int) -> Candidate:
    settings: Settings = {**knobs.defaults(engine), **own}
    runs = [
        trial(engine=engine, settings=settings, scale=SCALE, metrics={"ops_per_s": ops_per_s + n})
        for n in range(3)
    ]
    return Candidate(engine, settings, tuple(runs))


def compared(one: Candidate, other: Candidate) -> Comparison:
    noise = Noise.pooled([[t.metrics["ops_per_s"] for t in c.trials] for c in (one, other)])
    found = compare(GOAL, noise, one, other)
    assert found is not None
    return found


def test_a_gain_of_more_than_is_written_is_not_settled() -> None:
    large = candidate("btree", 100.0, innodb_buffer_pool_size=2048 * MIB)
    # The least pool of the core stands for 640 MiB.
    small = candidate("btree", 200.0, innodb_buffer_pool_size=128 * MIB)
    found = compared(small, large)
    assert found.enlarged == ("innodb_buffer_pool_size",)
    assert not found.is_settled
    assert "with more innodb_buffer_pool_size than is written" in found.words(GOAL)
    assert compared(candidate("lsm", 200.0), large).is_settled


def test_a_size_that_no_trial_exercises_unsettles_nothing() -> None:
    one = candidate("btree", 200.0, innodb_log_buffer_size=32 * MIB)
    assert "innodb_log_buffer_size" in Scale(SCALE).floored("btree", one.settings)
    assert compared(one, candidate("btree", 100.0)).is_settled


def test_what_both_sides_have_alike_decides_nothing() -> None:
    one, other = (candidate("btree", ops, innodb_io_capacity=int(ops)) for ops in (200.0, 100.0))
    assert compared(one, other).is_settled


def test_more_of_the_base_is_told_beside_a_gain_over_it() -> None:
    base = candidate("btree", 100.0, innodb_buffer_pool_size=128 * MIB)
    large = candidate("btree", 200.0, innodb_buffer_pool_size=2048 * MIB)
    assert compared(large, base).is_settled
    (told,) = notes_of_base(large, base)
    assert told.endswith(
        "innodb_buffer_pool_size: 128MiB hits the floor of the scale, ran as 640MiB"
    )
