"""A table whose last column takes the width that is left and wraps.

Nothing is cut off while lines are free: the row under the cursor is open, and others as far as they
have room. Where too little width is left, optional columns go first; then the last column stands
below the first.

`DataTable` is left its keys, messages and scrolling. Its rows hold no cells: what a row shows is
made when it is drawn, and kept while the row is the same, so a table of thousands costs what its
screenful does.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import on
from textual._two_way_dict import TwoWayDict
from textual.strip import Strip
from textual.widgets import DataTable
from textual.widgets.data_table import RowKey

LEAST_WIDTH = 26
"""Below this a sentence is no fun to read."""
MOST_DRAWN = 1_000
"""Rows whose looks are kept."""
UNKNOWN_WIDTH = 200
"""Taken before the first layout, which comes with a size."""


@dataclass(frozen=True)
class Heading:
    """A column that is as wide as its widest cell, or wider."""

    title: str
    right: bool = False
    least: int = 0
    optional: bool = False


@dataclass(frozen=True)
class Layout:
    """Which columns are shown, in their order; the first or the last one wraps."""

    columns: tuple[int, ...] = ()
    folds: bool = False
    """Whether the last column stands below the first."""
    widths: tuple[int, ...] = ()

    @property
    def wrapping(self) -> int:
        return 0 if self.folds else len(self.columns) - 1


class WrappingTable(DataTable[Text]):
    """Rows under headings; the last one is for the text that wraps."""

    def __init__(self, headings: Sequence[Heading], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, cursor_type="row", cursor_foreground_priority="renderable")
        self._headings = headings
        self._filled: Mapping[str, Sequence[Text]] = {}
        self._cell_lens: list[Counter[int]] = [Counter() for _ in headings]
        """How many cells of a column are how wide."""
        self._layout_now = Layout()
        self._heights: dict[str, int] = {}
        """Lines that whole rows take, as far as somebody asked."""
        self._open: set[str] = set()
        self._order: list[str] = []
        self._row_keys: dict[str, RowKey] = {}
        self._drawn: dict[tuple[object, ...], list[Strip]] = {}
        """Lines of rows, by key and looks."""
        self._opened: str | None = None

    def fill(self, lines: Mapping[str, Sequence[Text]], cursor: str | None = None) -> None:
        """Shows these rows, by key, in place of all others, with the cursor on one of them.

        A line that is the very object it was costs nothing.
        """
        before, shown = self._filled, self.key_at_cursor()
        changed = [key for key, line in lines.items() if before.get(key) is not line]
        gone = before.keys() - lines.keys()
        for key in (*gone, *(key for key in changed if key in before)):
            self._count(before[key], -1)
            self._heights.pop(key, None)
            self._forget([key])
        for key in changed:
            self._count(lines[key], 1)
        self._filled = dict(lines)
        self._opened = cursor if cursor in lines else next(iter(lines), None)
        layout = self._fitting()
        if gone or not self._has_columns_of(layout):
            self._make_anew(layout)
        else:
            self._set_widths(layout)
            self._add([key for key in changed if key not in before])
        self._put_in_order()
        self._show_again()
        place = self.cursor_row
        if self._opened is not None:
            self.move_cursor(row=self.get_row_index(self._opened), animate=False)
        if self._opened != shown and self.cursor_row == place:
            self._highlight_row(place)

    def key_at_cursor(self) -> str | None:
        """The key of the row under the cursor; `None` in an empty table."""
        if not self.row_count:
            return None
        return self.coordinate_to_cell_key(self.cursor_coordinate).row_key.value

    def get_row_at(self, row_index: int) -> list[Text]:
        """The cells of a row as they are shown."""
        return self._cells_shown(self._order[row_index])

    def on_resize(self) -> None:
        self._opened = self.key_at_cursor()
        layout = self._fitting()
        if self._has_columns_of(layout):
            self._set_widths(layout)
        else:
            self._make_anew(layout)
        self._show_again()
        if self._opened is not None:
            self.move_cursor(row=self.get_row_index(self._opened), animate=False)

    @on(DataTable.RowHighlighted)
    def _open_row(self) -> None:
        # A table that is made anew moves the cursor, so events tell of rows that it has left since.
        under_cursor = self.key_at_cursor()
        if under_cursor != self._opened:
            self._opened = under_cursor
            self._show_again()
            self.move_cursor(row=self.cursor_row, animate=False)

    def title(self, column: int) -> str:
        """What stands above a column."""
        return self._headings[column].title

    def _has_columns_of(self, layout: Layout) -> bool:
        now = self._layout_now
        return bool(self.columns) and (now.columns, now.folds) == (layout.columns, layout.folds)

    def _make_anew(self, layout: Layout) -> None:
        self._layout_now = layout
        self._heights.clear()
        self._drawn.clear()
        self._open.clear()
        self._order = []
        self._row_keys.clear()
        self.clear(columns=True)
        for column, width in zip(layout.columns, layout.widths, strict=True):
            self.add_column(self._label(column), width=width)
        self._add(list(self._filled))
        self._put_in_order()

    def _label(self, column: int) -> Text:
        label = Text(self.title(column))
        label.justify = "right" if self._headings[column].right else "left"
        return label

    def _set_widths(self, layout: Layout) -> None:
        now = self._layout_now
        if now == layout:
            return
        if layout.widths[layout.wrapping] != now.widths[now.wrapping]:
            self._heights.clear()
        self._drawn.clear()
        self._layout_now = layout
        for column, width in zip(self.ordered_columns, layout.widths, strict=True):
            column.width = width

    def _add(self, keys: Sequence[str]) -> None:
        for key in keys:
            self._row_keys[key] = self.add_row(key=key)

    def _put_in_order(self) -> None:
        order = list(self._filled)
        if order != self._order:
            self._order = order
            self._row_locations = TwoWayDict(
                {self._row_keys[key]: place for place, key in enumerate(order)}
            )

    def _show_again(self) -> None:
        """Opens the rows that are to be open, and draws what is new on the screen."""
        opened = {key for key in self._roomy() if self._height(key) > 1}
        for key in opened ^ self._open:
            if key in self._filled:
                self.rows[self._row_keys[key]].height = self._height(key) if key in opened else 1
        self._forget(opened ^ self._open)
        self._open = opened
        self._update_count += 1
        self._require_update_dimensions = True
        self.check_idle()
        self.refresh()

    def _forget(self, keys: Iterable[str]) -> None:
        """Draws these rows anew."""
        gone = set(keys)
        if gone:
            self._drawn = {looks: row for looks, row in self._drawn.items() if looks[0] not in gone}

    def notify_style_update(self) -> None:
        self._drawn.clear()
        super().notify_style_update()

    def _render_line(self, y: int, x1: int, x2: int, base_style: Style) -> Strip:
        """A line of the table; a row that was drawn before is not drawn again."""
        if y < self.header_height:
            return super()._render_line(y, x1, x2, base_style)
        try:
            row_key, line = self._get_offsets(y)
        except LookupError:
            return Strip.blank(self.size.width, base_style)
        place = self._row_locations.get(row_key)
        key = row_key.value
        if key is None or place is None:
            return Strip.blank(self.size.width, base_style)
        hover = self._show_hover_cursor and place == self.hover_row
        looks = (key, place == self.cursor_row, hover, base_style, self._pseudo_class_state)
        if looks not in self._drawn:
            if len(self._drawn) >= MOST_DRAWN:
                self._drawn.clear()
            self._drawn[looks] = self._draw_row(key, place == self.cursor_row, hover, base_style)
        where = Style.from_meta({"row": place, "column": 0})
        return self._drawn[looks][line].apply_style(where).crop(x1, x2)

    def _draw_row(self, key: str, cursor: bool, hover: bool, base_style: Style) -> list[Strip]:
        css = (self.cursor_foreground_priority, self.cursor_background_priority)
        under, over = self._get_styles_to_render_cell(
            False, False, False, hover, cursor, self.show_cursor, self._show_hover_cursor,
            *(priority == "css" for priority in css),
        )  # fmt: skip
        under = base_style + under
        console, padding = self.app.console, Segment(" " * self.cell_padding, under + over)
        height = self.rows[self._row_keys[key]].height
        lines: list[list[Segment]] = [[] for _ in range(height)]
        for cell, width in zip(self._cells_shown(key), self._layout_now.widths, strict=True):
            options = console.options.update(width=width, height=height, no_wrap=height == 1)
            drawn = console.render_lines(cell, options, style=under)
            for line, segments in zip(lines, drawn, strict=True):
                line += [padding, *Segment.apply_style(segments, post_style=over), padding]
        return [
            Strip(line).adjust_cell_length(self.size.width, under + over).simplify()
            for line in lines
        ]

    def _cells_shown(self, key: str) -> list[Text]:
        cells = _shown(self._filled[key], self._layout_now)
        return cells if key in self._open else [_closed(cell) for cell in cells]

    def _update_dimensions(self, new_rows: object) -> None:
        """All widths are given: no new row is measured."""
        super()._update_dimensions(())

    def _roomy(self) -> set[str]:
        """The rows to open: the one under the cursor, and others while lines are free."""
        free = self.size.height - self.header_height - len(self._filled)
        opened = set()
        if self._opened is not None:
            opened.add(self._opened)
            free -= self._height(self._opened) - 1
        if free <= 0:
            return opened
        for key in self._filled:
            more = self._height(key) - 1
            if key != self._opened and more <= free:
                opened.add(key)
                free -= more
        return opened

    def _fitting(self) -> Layout:
        """The columns to show at the width that there is."""
        shown = list(range(len(self._headings)))
        while (width := self._left(shown)) < LEAST_WIDTH:
            optional = [column for column in shown if self._headings[column].optional]
            if not optional:
                break
            shown.remove(optional[-1])
        if width >= min(LEAST_WIDTH, self._natural(shown[-1])):
            return Layout(tuple(shown), False, (*map(self._natural, shown[:-1]), width))
        first, *others = shown[:-1]
        width = max(1, self._left([*others, first]))
        return Layout(tuple(shown[:-1]), True, (width, *map(self._natural, others)))

    def _left(self, shown: Sequence[int]) -> int:
        """What the others leave for the last of these columns."""
        padding = 2 * self.cell_padding
        others = sum(self._natural(column) + padding for column in shown[:-1])
        whole = self.size.width - self.scrollbar_size_vertical if self.size.width else UNKNOWN_WIDTH
        return whole - others - padding

    def _natural(self, column: int) -> int:
        heading, widest = self._headings[column], max(self._cell_lens[column], default=0)
        return max(heading.least, len(self.title(column)), widest)

    def _count(self, line: Sequence[Text], by: int) -> None:
        for lens, cell in zip(self._cell_lens, line, strict=True):
            width = cell.cell_len
            lens[width] += by
            if not lens[width]:
                del lens[width]

    def _height(self, key: str) -> int:
        if key not in self._heights:
            layout = self._layout_now
            cell = _shown(self._filled[key], layout)[layout.wrapping]
            lines = cell.wrap(self.app.console, layout.widths[layout.wrapping])
            self._heights[key] = max(1, len(lines))
        return self._heights[key]


def _shown(line: Sequence[Text], layout: Layout) -> list[Text]:
    cells = [line[column] for column in layout.columns]
    if layout.folds and line[-1].plain:
        cells[0] = Text.assemble(cells[0], Text(f"\n{line[-1].plain}", style="dim"))
    return cells


def _closed(cell: Text) -> Text:
    """The cell on one line, with a sign of what is cut off."""
    first, *more = cell.split("\n")
    line = Text.assemble(first, "…") if more else first
    line.no_wrap, line.overflow, line.justify = True, "ellipsis", cell.justify
    return line
