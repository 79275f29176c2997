"""No text is cut off while lines are free, and the row under the cursor is open in any case."""

import pytest
from rich.text import Text
from textual.app import App, ComposeResult

from tests.terminal.conftest import text_of, until
from tui.widgets.wrapping_table import Heading, WrappingTable

LONG = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"


class OneTable(App[None]):
    """A table of four rows, of which the second and the fourth have much to say."""

    CSS = "WrappingTable { height: 1fr; overflow-x: hidden; }"

    def compose(self) -> ComposeResult:
        yield WrappingTable((Heading("name"), Heading("size", optional=True), Heading("text")))

    def on_mount(self) -> None:
        texts = {"a": "short", "b": f"{LONG} b-end", "c": "short", "d": f"{LONG} d-end"}
        rows = {name: (Text(name), Text("12345678"), Text(text)) for name, text in texts.items()}
        self.query_one(WrappingTable).fill(rows)


@pytest.mark.parametrize("width", [20, 40, 60, 90, 200])
async def test_all_is_shown_where_lines_are_free(width: int) -> None:
    app = OneTable()
    async with app.run_test(size=(width, 40)) as pilot:
        await until(pilot, lambda: "d-end" in text_of(app))
        shown = " ".join(text_of(app).split())
        for word in LONG.split():
            assert shown.count(f"{word} ") == 2, word
        assert "…" not in shown


async def test_where_few_lines_are_free_the_row_under_the_cursor_is_open() -> None:
    app = OneTable()
    async with app.run_test(size=(40, 7)) as pilot:
        await until(pilot, lambda: "…" in text_of(app))
        await pilot.press("down", "down", "down")
        await until(pilot, lambda: "d-end" in text_of(app))
        assert "b-end" not in text_of(app)
        await pilot.press("up", "up")
        await until(pilot, lambda: "b-end" in text_of(app))
        assert app.query_one(WrappingTable).key_at_cursor() == "b"


async def test_a_free_line_opens_another_row() -> None:
    app = OneTable()
    async with app.run_test(size=(40, 7)) as pilot:
        await until(pilot, lambda: "b-end" in text_of(app))
        assert "d-end" not in text_of(app)


async def test_an_optional_column_goes_before_the_text_is_squeezed() -> None:
    app = OneTable()
    async with app.run_test(size=(60, 40)) as pilot:
        await until(pilot, lambda: "12345678" in text_of(app))
        await pilot.resize_terminal(36, 40)
        await until(pilot, lambda: "12345678" not in text_of(app))
        table = app.query_one(WrappingTable)
        rows = [table.get_row_at(place) for place in range(table.row_count)]
        assert [str(row[0]) for row in rows] == ["a", "b", "c", "d"]
