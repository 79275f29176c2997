"""What is said of the engine that is not recommended."""

from dataclasses import replace

import pytest

from advisor.recommend import Comparison, EngineVerdict, about_other
from tests.unit.test_report import recommendation

LEAD = Comparison(0.34, 0.03, 3)


@pytest.mark.parametrize(
    ("verdict", "told"),
    [
        (None, ""),
        (EngineVerdict("lsm", LEAD, "x"), "lost: lsm has +34% ops_per_s"),
        (EngineVerdict("btree", LEAD, "x"), "won"),
        (EngineVerdict("lsm", None, "x"), "lost: no run kept the limits"),
        (EngineVerdict(None, LEAD, "x"), "is equal"),
        (EngineVerdict(None, LEAD, "x", is_open=True), "may be as good: no verdict"),
    ],
)
def test_the_other_engine_is_told_by_the_verdict(verdict: EngineVerdict | None, told: str) -> None:
    assert about_other(replace(recommendation(), verdict=verdict)) == told
