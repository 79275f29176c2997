"""Bars fit the room that they have."""

import pytest

from tui.widgets.bars import Bar, drawn

ROWS = [
    ("block_size", [Bar(0.5, "+50 % alone"), Bar(0.25, "+25 % in company")]),
    ("compression", [Bar(None, "alone not measured"), Bar(0.0, "+0 % in company")]),
]


def test_the_longest_bar_stands_for_the_largest_number() -> None:
    first, second, third, fourth = drawn(ROWS, 60).plain.split("\n")
    assert first.count("█") == 2 * second.count("█") > 0
    assert third == "compression  alone not measured"
    assert "█" not in fourth and fourth.endswith("+0 % in company")


@pytest.mark.parametrize("width", [36, 40, 60, 200])
def test_no_line_is_wider_than_the_room(width: int) -> None:
    assert max(len(line) for line in drawn(ROWS, width).plain.split("\n")) <= width


def test_a_name_that_leaves_no_room_stands_above_its_bars() -> None:
    lines = drawn(ROWS, 36).plain.split("\n")
    assert lines[0] == "block_size" and lines[1].startswith("  █")


def test_nothing_to_draw_is_nothing() -> None:
    assert drawn([], 40).plain == ""
