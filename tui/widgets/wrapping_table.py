"""A table whose last column takes the width that is left and wraps.

Nothing is cut off while lines are free: the row under the cursor is open, and others as far as they
have room. Where too little width is left, optional columns go first; then the last column stands
below the first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text
from textual import on
from textual.widgets import DataTable

LEAST_WIDTH = 26
"""Below this a sentence is no fun to read."""
UNKNOWN_WIDTH = 200
"""Taken before the first layout, which comes with a size."""


@dataclass(frozen=True)
class Heading:
    """A column that is as wide as its widest cell, or wider."""

    title: str
    right: bool = False
    least: int = 0
    optional: bool = False


class WrappingTable(DataTable[Text]):
    """Rows under headings; the last one is for the text that wraps."""

    def __init__(self, headings: Sequence[Heading], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, cursor_type="row", cursor_foreground_priority="renderable")
        self._headings = headings
        self._filled: Mapping[str, Sequence[Text]] = {}
        self._opened: str | None = None

    def fill(self, lines: Mapping[str, Sequence[Text]], cursor: str | None = None) -> None:
        """Shows these rows, by key, in place of all others, with the cursor on one of them."""
        self._filled = lines
        self._opened = cursor if cursor in lines else next(iter(lines), None)
        self._lay_out()

    def key_at_cursor(self) -> str | None:
        """The key of the row under the cursor; `None` in an empty table."""
        if not self.row_count:
            return None
        return self.coordinate_to_cell_key(self.cursor_coordinate).row_key.value

    def on_resize(self) -> None:
        self._opened = self.key_at_cursor()
        self._lay_out()

    @on(DataTable.RowHighlighted)
    def _open_row(self) -> None:
        # A new layout moves the cursor, so events tell of rows that it has left since.
        under_cursor = self.key_at_cursor()
        if under_cursor != self._opened:
            self._opened = under_cursor
            self._lay_out()

    def _lay_out(self) -> None:
        columns, width, folds = self._columns()
        rows = {key: _shown(line, columns, folds) for key, line in self._filled.items()}
        wrapping = 0 if folds else len(columns) - 1
        heights = {key: self._height(row[wrapping], width) for key, row in rows.items()}
        opened = self._roomy(heights)
        self.clear(columns=True)
        for place, column in enumerate(columns):
            heading = self._headings[column]
            title = Text(heading.title, justify="right" if heading.right else "left")
            self.add_column(title, width=width if place == wrapping else self._natural(column))
        for key, row in rows.items():
            height = heights[key] if key in opened else 1
            self.add_row(
                *(_closed(cell) if height == 1 else cell for cell in row), key=key, height=height
            )
        if self._opened in rows:
            self.move_cursor(row=self.get_row_index(self._opened), animate=False)

    def _roomy(self, heights: Mapping[str, int]) -> set[str]:
        """The rows to open: the one under the cursor, and others while lines are free."""
        free = self.size.height - self.header_height - len(heights)
        opened = set()
        for key in sorted(heights, key=lambda key: key != self._opened):
            more = heights[key] - 1
            if key == self._opened or more <= free:
                opened.add(key)
                free -= more
        return opened

    def _columns(self) -> tuple[list[int], int, bool]:
        """The columns to show, the width of the one that wraps, and whether it is the first."""
        shown = list(range(len(self._headings)))
        while (width := self._left(shown)) < LEAST_WIDTH:
            optional = [column for column in shown if self._headings[column].optional]
            if not optional:
                break
            shown.remove(optional[-1])
        if width >= min(LEAST_WIDTH, self._natural(shown[-1])):
            return shown, width, False
        folded = shown[:-1]
        return folded, max(1, self._left([*folded[1:], folded[0]])), True

    def _left(self, shown: Sequence[int]) -> int:
        """What the others leave for the last of these columns."""
        padding = 2 * self.cell_padding
        others = sum(self._natural(column) + padding for column in shown[:-1])
        whole = self.size.width - self.scrollbar_size_vertical if self.size.width else UNKNOWN_WIDTH
        return whole - others - padding

    def _natural(self, column: int) -> int:
        heading = self._headings[column]
        cells = (line[column].cell_len for line in self._filled.values())
        return max(heading.least, len(heading.title), *cells, 0)

    def _height(self, cell: Text, width: int) -> int:
        return max(1, len(cell.wrap(self.app.console, width)))


def _shown(line: Sequence[Text], columns: Sequence[int], folds: bool) -> list[Text]:
    cells = [line[column] for column in columns]
    if folds and line[-1].plain:
        cells[0] = Text.assemble(cells[0], Text(f"\n{line[-1].plain}", style="dim"))
    return cells


def _closed(cell: Text) -> Text:
    """The cell on one line, with a sign of what is cut off."""
    first, *more = cell.split("\n")
    line = Text.assemble(first, "…") if more else first
    line.no_wrap, line.overflow, line.justify = True, "ellipsis", cell.justify
    return line
