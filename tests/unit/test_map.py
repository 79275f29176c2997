"""Maps: two axes at once, what a cell says, and the crossovers of each line."""

import re
from collections.abc import Mapping

import pytest

from advisor.errors import InputError
from advisor.knobs import Engine
from advisor.sweep import Asked, Place, Point, Sweep, cells, parse_axes, sentences
from tests.support.problems import problem, trial

GIB = 1 << 30
MEMORY, CLIENTS = "memory=1GiB,2GiB,3GiB", "clients=1,4"
KEYS = {"kind": "key_value"}

Reached = Mapping[tuple[int, int], tuple[float | None, float | None]]
"""By GiB and clients, what the LSM and the B-tree reach; None where none of their settings fit."""

REACHED: Reached = {
    (1, 1): (200.0, 100.0),
    (2, 1): (150.0, 100.0),
    (3, 1): (100.0, 150.0),
    (1, 4): (300.0, None),
    (2, 4): (None, None),
    (3, 4): (100.0, 100.5),
}


def point(gib: int, clients: int, engine: Engine, reached: float | None) -> Point:
    """Two runs that differ by a percent, so that there is noise to tell."""
    trials = tuple(
        trial(engine=engine, metrics={"ops_per_s": reached * factor, "p99_us": reached * factor})
        for factor in (0.995, 1.005)
        if reached is not None
    )
    error = "" if trials else "no settings fit the memory"
    return Point(float(gib * GIB), engine, {}, trials, error, float(clients))


def mapped(reached: Reached = REACHED, goal: str = "maximize ops_per_s") -> Sweep:
    axis, across = parse_axes([MEMORY, CLIENTS])
    asked = Asked("m", problem(goal=goal), axis, ("lsm", "btree"), across=across)
    points = tuple(
        point(gib, clients, engine, value)
        for (gib, clients), pair in reached.items()
        for engine, value in zip(asked.engines, pair, strict=True)
    )
    return Sweep(asked, points, len(points) == asked.planned)


def test_two_axes_are_every_pair_of_their_values_line_by_line() -> None:
    asked = mapped().asked
    assert [(place.value / GIB, place.across) for place in asked.places] == [
        (1, 1), (2, 1), (3, 1), (1, 4), (2, 4), (3, 4),
    ]  # fmt: skip
    assert (asked.planned, asked.over) == (12, "memory and clients")
    last = asked.places[-1]
    assert (asked.label(last), asked.where(last)) == ("3GiB, clients 4", "memory 3GiB, clients 4")


def test_a_range_of_a_map_has_fewer_steps_where_nobody_says_how_many() -> None:
    single, nothing = parse_axes(["memory=1GiB..11GiB"])
    assert (len(single.values), nothing) == (11, None)
    for steps, expected in ((None, (5, 5)), (3, (3, 3))):
        axis, across = parse_axes(["memory=1GiB..11GiB", "data=1GiB..100GiB"], steps)
        assert across is not None
        assert (len(axis.values), len(across.values)) == expected


def test_a_place_changes_what_both_axes_name() -> None:
    axis, across = parse_axes([MEMORY, "innodb_old_blocks_time=0,1000"])
    asked = Asked("m", problem(), axis, ("lsm", "btree"), across=across)
    place = Place(2.0 * GIB, 0.0)
    assert asked.profile_at(place).memory_bytes == 2 * GIB
    assert asked.settings_at("btree", place) == {"innodb_old_blocks_time": 0}
    assert asked.settings_at("lsm", place) == {}
    assert asked.label(place) == "2GiB, innodb_old_blocks_time 0"


@pytest.mark.parametrize(
    ("over", "says"),
    [
        (["memory=1GiB,2GiB", "memory=2GiB,3GiB"], "the same axis twice; accepted: two axes"),
        ([MEMORY, CLIENTS, "data=1GiB,2GiB"], "found 3 axes; accepted: one, or two for a map"),
        ([], "found 0 axes"),
        ([MEMORY, "speed=1,2"], "found 'speed'"),
    ],
)
def test_what_makes_no_map_is_refused(over: list[str], says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)) as raised:
        parse_axes(over)
    assert str(raised.value).startswith("--over")


def test_steps_without_a_range_are_refused() -> None:
    with pytest.raises(InputError, match="--steps: found 4, and values that are listed"):
        parse_axes([MEMORY], 4)


def test_a_cell_says_who_leads_who_is_alone_or_that_noise_or_nothing_tells() -> None:
    found = cells(mapped())
    assert [one.text() for one in found] == [
        "lsm 2.00x", "lsm 1.50x", "btree 1.50x", "lsm alone", "neither", "even 1.00x",
    ]  # fmt: skip
    assert [(one.verdict, one.engine) for one in found][3:] == [
        ("alone", "lsm"), ("neither", None), ("even", None),
    ]  # fmt: skip


def test_less_leads_where_the_goal_is_to_minimize() -> None:
    assert cells(mapped(goal="minimize p99_us"))[0].text({"btree": "B-tree"}) == "B-tree 2.00x"


def test_a_cell_of_which_one_engine_is_still_to_run_is_missing() -> None:
    found = mapped()
    begun = Sweep(found.asked, found.points[:3], False)
    assert [one.verdict for one in cells(begun)] == ["leads", *["missing"] * 5]


def test_every_line_has_crossovers_of_its_own() -> None:
    turned = {**REACHED, (1, 4): (50.0, 100.0), (2, 4): (100.0, 100.0), (3, 4): (300.0, 100.0)}
    low, high = mapped(turned).crossovers()
    assert (low.across, low.before, low.after) == (1.0, "lsm", "btree")
    assert low.value == pytest.approx(2.5 * GIB)
    assert 2 * GIB < low.low < low.value < low.high < 3 * GIB
    assert (high.across, high.before, high.after) == (4.0, "btree", "lsm")


def test_a_line_without_two_measured_places_says_nothing_of_crossovers() -> None:
    told = sentences(mapped(), {"lsm": "LSM"})
    assert told[0] == (
        "of 6 cells LSM leads in 2, btree leads in 1, noise does not tell them apart in 1, "
        "LSM alone ran in 1, neither ran in 1"
    )
    assert [one for one in told if "overtakes" in one] == [
        one for one in told if one.startswith("clients 1: btree overtakes LSM at memory 2.5GiB")
    ]
    assert "LSM at memory 2GiB, clients 4: no settings fit the memory" in told
    both = "btree at memory 1GiB, clients 4; 2GiB, clients 4: no settings fit the memory"
    assert both in told


def test_lines_without_a_crossover_are_named_together() -> None:
    steady = dict.fromkeys(REACHED, (200.0, 100.0))
    assert "clients 1, 4: no engine overtakes the other" in sentences(mapped(steady))


def test_the_rate_of_requests_is_an_axis_of_every_workload() -> None:
    axis, _ = parse_axes(["requests_per_second=1000,20000"])
    profile = axis.profile(problem(workload={**KEYS, "value_bytes": 50}), 20_000.0)
    assert profile.workload.parameters == {"value_bytes": 50, "requests_per_second": 20_000}
    assert axis.label(20_000.0) == "20,000"
    assert axis.profile(problem(), 1000.0).workload.parameters == {"requests_per_second": 1000}


@pytest.mark.parametrize(
    ("over", "workload"),
    [("clients=1,70000", KEYS), ("requests_per_second=1,99999999999", KEYS)],
)
def test_values_that_a_profile_does_not_take_are_found_before_anything_runs(
    over: str, workload: dict[str, str]
) -> None:
    axis, across = parse_axes([MEMORY, over])
    asked = Asked("m", problem(workload=workload), axis, ("lsm", "btree"), across=across)
    with pytest.raises(InputError, match="--over"):
        asked.check()
