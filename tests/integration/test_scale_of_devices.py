"""A B-tree larger than its pool is as fast in a smaller copy: its page, doublewrite and log writes
are hidden by the drive's write buffer at any scale.

Were the buffer to shrink with the data, most of these writes would wait for the flash: 16,700
operations per second at 1/640 beside 39,700 at 1/160.
"""

from functools import cache

import pytest

from advisor import evaluate, knobs, profile
from advisor.scale import Scale
from advisor.search.squeeze import with_full_cache

QUESTION = profile.load("linkbench")


@cache
def ops_per_s(factor: float) -> float:
    """Of InnoDB with a full pool and a large redo log."""
    redo = {"innodb_redo_log_capacity": 2 << 30}
    settings = with_full_cache(QUESTION, "btree", {**knobs.defaults("btree"), **redo})
    assert settings is not None
    setup = evaluate.Setup(QUESTION, Scale(factor), 2.0, clock="simulated")
    return evaluate.evaluate(setup, "btree", settings, seed=1).metrics["ops_per_s"]


def test_a_smaller_copy_hides_as_many_writes_in_the_buffer_of_the_drive() -> None:
    assert ops_per_s(1 / 640) == pytest.approx(ops_per_s(1 / 160), rel=0.3)
