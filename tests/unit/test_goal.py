import pytest

from advisor.errors import InputError
from advisor.goal import METRICS, Goal, Limit, described, find_metric, parse_goal, percentiles


def test_a_goal_is_read_from_a_sentence() -> None:
    goal = parse_goal("maximize ops_per_s subject to p99_us <= 5000, space_amp <= 2")
    assert goal == Goal("ops_per_s", (Limit("p99_us", 5000), Limit("space_amp", 2)))
    assert goal.direction == "maximize"


@pytest.mark.parametrize(
    "text",
    [
        "minimize p99_us",
        "maximize ops_per_s subject to disk_bytes <= 4294967296",
        "minimize write_amp subject to ops_per_s >= 1000, cache_hit_ratio >= 0.9",
        "maximize ops_per_s, minimize write_kb_per_op",
        "minimize p99_us, maximize ops_per_s, minimize space_amp subject to disk_bytes <= 5000",
        "minimize p99_us[add_link] subject to p50_us[get_links_list] <= 500, p50_us <= 600",
    ],
)
def test_a_goal_is_written_as_it_is_read(text: str) -> None:
    assert str(parse_goal(text)) == text


def test_sizes_and_durations_may_have_units() -> None:
    goal = parse_goal("minimize write_amp subject to memory_bytes <= 4GiB and p99_us <= 5 ms")
    assert [limit.value for limit in goal.limits] == [4 << 30, 5000]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "such as: maximize"),
        ("faster", "such as: maximize"),
        ("maximize speed", "ops_per_s"),
        ("maximize ops_per_sec", "ops_per_s"),
        ("minimize ops_per_s", "maximize ops_per_s"),
        ("maximise ops_per_s", "maximize ops_per_s"),
        ("maximize ops_per_s subject to", "ops_per_s"),
        ("maximize ops_per_s subject to p99_us", "p99_us <= 5000"),
        ("maximize ops_per_s subject to p99_us >= 5", "p99_us <= VALUE"),
        ("maximize ops_per_s subject to p99_us < 5", "p99_us <= VALUE"),
        ("maximize ops_per_s subject to p99_us <= fast", "microseconds"),
        ("maximize ops_per_s subject to space_amp <= nan", "a number"),
        ("maximize ops_per_s subject to disk_bytes <= big", "a size"),
        ("maximize ops_per_s subject to p99_us <= 5,", "p99_us <= 5000"),
        ("maximize ops_per_s, write_kb_per_op", "such as: maximize"),
        ("maximize ops_per_s,", "such as: maximize"),
        ("maximize ops_per_s, maximize p99_us", "minimize p99_us"),
        ("maximize ops_per_s and maximize ops_per_s", "each objective once"),
        ("maximize ops_per_s[get_node]", "of one operation, such as p99_us[get_node]"),
        ("minimize p99_us[]", "of one operation, such as p99_us[get_node]"),
        ("minimize p98_us[get_node]", "p99_us, p999_us, max_us of one operation"),
        ("maximize ops_per_s subject to p99_us[get_node] <= fast", "a time such as 5ms"),
        ("maximize ops_per_s subject to p99_us[get_node] >= 5", "p99_us[get_node] <= VALUE"),
    ],
)
def test_a_wrong_goal_says_what_is_accepted(text: str, named: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_goal(text, "--goal")
    assert str(caught.value).startswith("--goal: found ")
    assert named in caught.value.accepted or named in caught.value.found


def test_a_bound_on_what_was_not_measured_is_not_kept() -> None:
    goal = parse_goal("maximize ops_per_s subject to p99_us <= 10, cache_hit_ratio >= 0.5")
    assert goal.broken({"p99_us": 10}) == (Limit("cache_hit_ratio", 0.5),)
    assert goal.kept({"p99_us": 10, "cache_hit_ratio": 0.5})
    assert not goal.kept({"p99_us": 10.1, "cache_hit_ratio": 0.5})


def test_excess_is_relative_to_the_bound() -> None:
    assert Limit("p99_us", 100).excess(150) == pytest.approx(0.5)
    assert Limit("ops_per_s", 100).excess(50) == pytest.approx(0.5)
    assert Limit("stall_s", 0).excess(2) == 2


def test_the_vocabulary_is_the_one_of_the_reports() -> None:
    assert {"ops_per_s", "p999_us", "write_amp", "stall_s", "memory_bytes"} < set(METRICS)
    assert all(metric.text.endswith(".") for metric in METRICS.values())


def test_a_percentile_may_be_that_of_one_operation() -> None:
    goal = parse_goal("maximize ops_per_s subject to p99_us[get_links_list] <= 5ms")
    assert goal.limits == (Limit("p99_us[get_links_list]", 5000),)
    assert goal.operations == {"get_links_list"}
    told = described("p99_us[get_links_list]")
    assert (told.unit, told.better) == ("us", "lower")
    assert "get_links_list alone" in told.text
    assert find_metric("stall_s[get_links_list]") is None


def test_of_several_objectives_each_counts_in_its_own_direction() -> None:
    goal = parse_goal("maximize ops_per_s and minimize p99_us subject to space_amp <= 2")
    assert goal.objectives == ("ops_per_s", "p99_us")
    assert goal.metrics == ("ops_per_s", "p99_us", "space_amp")
    assert goal.point({"ops_per_s": 3.0, "p99_us": 5.0}) == (3.0, -5.0)
    assert not goal.is_measured({"ops_per_s": 3.0})


def test_percentiles_of_operations_come_from_their_latencies() -> None:
    seen = {"get_node": {"count": 9.0, "p99_us": 70.0}, "add_link": {"count": 1.0, "p99_us": 90.0}}
    wanted = ["ops_per_s", "p99_us", "p99_us[get_node]", "p50_us[get_node]", "p99_us[add_node]"]
    assert percentiles(wanted, seen) == {"p99_us[get_node]": 70.0}
