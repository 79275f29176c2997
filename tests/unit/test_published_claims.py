"""What a claim's test lets through and what not: only what the post says of that engine."""

from __future__ import annotations

import pytest

from advisor.published import linkbench_disks, linkbench_flash, tpcc
from advisor.published.claims import judge
from advisor.published.experiment import label
from advisor.published.predicates import growing, saturated

GROWS, SATURATES = (300.0, 1600.0, 2900.0, 4400.0, 5700.0), (220.0, 720.0, 1100.0, 1700.0, 1650.0)


def by_clients(myrocks: tuple[float, ...], innodb: tuple[float, ...]) -> dict[str, float | None]:
    return {
        label("ops_per_s", linkbench_disks.at_clients(name, clients)): rate
        for name, rates in (("myrocks", myrocks), ("innodb.none", innodb))
        for clients, rate in zip(linkbench_disks.CLIENTS, rates, strict=True)
    }


def test_myrocks_goes_on_where_innodb_is_saturated_and_not_the_other_way_round() -> None:
    assert judge("D5", by_clients(GROWS, SATURATES)).holds is True
    assert judge("D5", by_clients(SATURATES, GROWS)).holds is False
    assert judge("D5", by_clients(GROWS, GROWS)).holds is False
    assert judge("D5", by_clients(SATURATES, SATURATES)).holds is False


@pytest.mark.parametrize("series", [GROWS, SATURATES, (1.0, 1.1), (1.0, 1.3), (2.0, 1.0)])
def test_no_series_both_grows_and_is_saturated(series: tuple[float, ...]) -> None:
    assert not (growing(*series) and saturated(*series))


@pytest.mark.parametrize(
    ("lead", "holds"), [(1.0, False), (1.12, False), (1.24, True), (1.3, True), (1.37, False)]
)
def test_about_30_percent_ahead_is_not_12(lead: float, holds: bool) -> None:
    assert judge("H3", {tpcc.CROSSOVER: 57.7, tpcc.LEAD: lead}).holds is holds


def test_the_processor_may_be_off_by_what_rounding_hides() -> None:
    rows = [label("cpu_percent", tpcc.at_cache("myrocks", size)) for size in tpcc.CACHES_GB]

    def holds(percent: float) -> bool | None:
        return judge("H8", {**dict.fromkeys(rows, 70.0), rows[0]: percent}).holds

    assert [holds(percent) for percent in (65.9, 66.0, 73.0, 73.1)] == [False, True, True, False]


def test_a_filter_that_spares_no_more_than_noise_does_not_help() -> None:
    row = label("read_amp", "myrocks", linkbench_flash.WHOLE_KEYS)
    assert [judge("C8", {row: left}).holds for left in (0.9, 0.99, 1.0)] == [True, False, False]


def test_a_filter_that_leaves_more_than_its_false_positives_removes_not_all_reads() -> None:
    row = label("reads_per_op", "absent keys with filters", "absent keys without filters")
    assert [judge("C7", {row: left}).holds for left in (0.0, 0.01, 0.03)] == [True, True, False]


def test_a_secondary_index_that_is_read_for_an_insert_is_not_maintained_blindly() -> None:
    lsm, tree = label("client_reads_per_op", "myrocks.opt"), label("reads_per_op", "innodb.none")
    assert judge("C4", {lsm: 0.0, tree: 0.4}).holds is True
    assert judge("C4", {lsm: 0.01, tree: 0.4}).holds is False
    assert judge("C4", {lsm: 0.0, tree: 0.0}).holds is False
