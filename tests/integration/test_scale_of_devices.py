"""A B-tree larger than its pool is as fast in the copy that decides a study as in one that is four
times larger: its page, doublewrite and log writes are hidden by the drive's write buffer.

Were the buffer to shrink with the data, most of these writes would wait for the flash: less than
half of the operations per second at a quarter of the size. The copy that a search looks at first,
at 1/640, is slower (`docs/scale.md`).
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
    assert ops_per_s(1 / 160) == pytest.approx(ops_per_s(1 / 40), rel=0.1)
