"""The published tables: found by what they say, and complete."""

import pytest

from advisor.published.claims import REMARKS, TESTS, UNDECIDABLE
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


def test_every_claim_is_asked_once_in_an_experiment_that_names_its_post() -> None:
    asked = [identifier for one in experiments() for identifier in one.claims]
    assert sorted(asked) == sorted(claims())
    for one in experiments():
        assert {claims()[identifier].source for identifier in one.claims} <= set(one.sources)


def test_every_claim_has_a_test_or_a_reason_and_not_both() -> None:
    assert set(claims()) == set(TESTS) | set(UNDECIDABLE)
    assert not set(TESTS) & set(UNDECIDABLE)


def test_remarks_are_of_claims_that_are_judged() -> None:
    assert set(REMARKS) <= set(TESTS)


@pytest.mark.parametrize("metric", ["myrocks_tps_ratio", "tps_ratio_myrocks_over_innodb"])
def test_derived_ratios_of_two_replayed_runs_are_compared(metric: str) -> None:
    """Those of MySQL 5.6 are not: it is one model with 5.7, whose figures stand beside it."""
    derived = [
        float(row["value"])
        for row in rows("derived-ratios")
        if row["metric"] == metric and "5.6" not in row["engine_version"]
    ]
    compared = [
        plan.published.value
        for one in experiments()
        for plan in one.rows
        if plan.published is not None and plan.metric.startswith("ops_per_s ")
    ]
    assert derived
    assert set(derived) <= set(compared)
