"""The published tables: found by what they say, and complete."""

import pytest

from advisor.published.claims import TESTS, UNDECIDABLE
from advisor.published.experiments import experiments
from advisor.published.tables import Figure, claims, figure, rows

TABLES = ("linkbench-7day", "linkbench-ssd-24h", "linkbench-disk-array", "flash-waf")
MORE_TABLES = ("insert-benchmark", "load-and-memtable", "tpcc-memory-sweep", "point-queries-2014")


def test_a_figure_is_found_by_its_columns() -> None:
    assert figure("flash-waf", "flash_waf", config="rocksdb.zlib") == Figure(1.03, "exact")
    assert figure("tpcc-memory-sweep", "tps", engine="InnoDB", x1_value=5).value == 849.0664


def test_an_ambiguous_figure_is_refused() -> None:
    with pytest.raises(LookupError, match=r"flash-waf\.csv has"):
        figure("flash-waf", "flash_waf", compression="zlib")


def test_a_bound_stands_before_its_number() -> None:
    assert str(Figure(2.0, "lower")) == "at least 2"
    assert str(Figure(1.03)) == "1.03"


@pytest.mark.parametrize("table", TABLES + MORE_TABLES)
def test_every_observation_has_a_listed_source_and_says_where_it_is_from(table: str) -> None:
    known = {row["id"] for row in rows("sources")}
    assert {row["source"] for row in rows(table)} <= known
    assert all(row["provenance"] and row["bound"] for row in rows(table))


def test_every_claim_of_a_replayed_post_is_asked_in_its_experiment() -> None:
    for one in experiments():
        of_its_posts = {claim.id for claim in claims().values() if claim.source in one.sources}
        assert of_its_posts == set(one.claims), one.name


def test_every_asked_claim_has_a_test_or_a_reason_and_not_both() -> None:
    asked = {identifier for one in experiments() for identifier in one.claims}
    assert asked == set(TESTS) | set(UNDECIDABLE)
    assert not set(TESTS) & set(UNDECIDABLE)
