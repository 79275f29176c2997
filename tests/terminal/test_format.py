"""How numbers read."""

import pytest

from advisor.goal import METRICS
from tui import format as fmt


@pytest.mark.parametrize(
    ("name", "number", "written"),
    [
        ("ops_per_s", 48213.4, "48,213"),
        ("p99_us", 740.2, "740 µs"),
        ("p99_us", 1240.0, "1.24 ms"),
        ("max_us", 2_100_000.0, "2.10 s"),
        ("write_kb_per_op", 0.617, "0.62 KB"),
        ("space_amp", 1.234, "1.23x"),
        ("cache_hit_ratio", 0.9871, "98.7 %"),
        ("memory_bytes", 3 * 2**30, "3GiB"),
        ("reads_per_op", None, "-"),
        ("reads_per_op", float("nan"), "-"),
    ],
)
def test_a_metric_is_written_with_its_unit(name: str, number: float | None, written: str) -> None:
    assert fmt.value(name, number) == written


def test_a_run_says_how_much_smaller_it_was() -> None:
    told = "at 1/2,048 of the full size; sizes are multiplied back"
    assert fmt.scale(1 / 2048, "simulated") == told
    assert "sizes are those of the run" in fmt.scale(1 / 2048, "real")
    assert fmt.scale(1.0, "real") == "at full size"


def test_every_metric_of_the_library_has_a_label_and_a_way_of_writing() -> None:
    assert set(fmt.METRICS) == set(METRICS)


@pytest.mark.parametrize(
    ("before", "after", "written"),
    [
        (100.0, 212.0, "+112 %"),
        (100.0, 92.0, "-8 %"),
        (100.0, 340.0, "3.4x"),
        (100.0, 100.2, "same"),
        (None, 5.0, ""),
        (0.0, 5.0, ""),
        (0.0, 0.0, "same"),
        (3.2, 0.0, "-100 %"),
    ],
)
def test_a_difference_reads_at_a_glance(before: float | None, after: float, written: str) -> None:
    assert fmt.difference(before, after) == written


def test_less_latency_and_more_throughput_are_welcome() -> None:
    assert fmt.is_better("p99_us", 100, 50) is True
    assert fmt.is_better("ops_per_s", 100, 50) is False
    assert fmt.is_better("ops_per_s", 100, 100.5) is None
    assert fmt.is_better("stall_s", 0, 3.2) is False
    assert fmt.is_better("stall_s", 3.2, 0) is True
    assert fmt.is_better("stall_s", 0, 0) is None


def test_what_the_goal_speaks_of_is_compared_first() -> None:
    assert fmt.compared([{}], ("stall_s", "p99_us"))[:3] == ("stall_s", "p99_us", "ops_per_s")


@pytest.mark.parametrize(
    ("value", "written"), [(48213, "48.2k"), (1.3e6, "1.3M"), (0.25, "0.25"), (0, "0")]
)
def test_axis_labels_are_short(value: float, written: str) -> None:
    assert fmt.short_count(value) == written


def test_the_wear_of_flash_is_compared_where_it_was_simulated() -> None:
    assert fmt.compared([{"ops_per_s": 1.0}]) == fmt.COMPARED
    assert fmt.compared([{}, {"drive_years": 3.0}]) == (*fmt.COMPARED, "drive_years")
    assert fmt.value("drive_years", 3.21) == "3.21 years"
    assert [fmt.value("cost", one) for one in (0.00123, 4.5, 12_345.6)] == [
        "0.00123",
        "4.50",
        "12,346",
    ]


def test_years_at_the_rate_of_a_day_stand_in_place_of_those_that_were_measured() -> None:
    wear = {"written_bytes_per_day": 1.0, "drive_writes_per_day": 1.0, "years": 2.0}
    columns = [{"ops_per_s": 1.0, "drive_years": 2.0, **wear}]
    assert "years" in fmt.compared(columns) and "drive_years" not in fmt.compared(columns)
    assert "drive_years" in fmt.compared(columns, ("drive_years",))
    assert fmt.is_better("drive_writes_per_day", 2.0, 1.0) is True
    assert fmt.is_better("years", 2.0, 1.0) is False
