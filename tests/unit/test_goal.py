import pytest

from advisor.errors import InputError
from advisor.goal import METRICS, Goal, Limit, parse_goal


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
