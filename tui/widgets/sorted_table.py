"""A table whose rows can be sorted by each of its columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.binding import Binding, BindingType
from textual.widgets import DataTable

from tui.widgets.wrapping_table import Heading, WrappingTable

UP, DOWN = "▲", "▼"

Value = float | str | None


@dataclass(frozen=True)
class Line:
    """A row: its cells, and by what each column sorts them."""

    cells: Sequence[Text]
    values: Sequence[Value]
    """Numbers or texts, the same kind in all of a column; None comes last either way."""


class SortedTable(WrappingTable):
    """Rows in the order they come in, until another column is chosen.

    On the first row the cursor stays with whichever is the first; elsewhere it stays on its row.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "sort", "Sort"),
        Binding("O", "reverse", "Reverse", show=False),
    ]

    def __init__(
        self,
        headings: Sequence[Heading],
        *,
        falling: frozenset[int] = frozenset(),
        id: str | None = None,  # noqa: A002
    ) -> None:
        """`falling` are the columns whose greatest value comes first."""
        super().__init__(headings, id=id)
        self._falling = falling
        self._lines: Mapping[str, Line] = {}
        self._by: int | None = None
        self._reversed = False

    def show_lines(self, lines: Mapping[str, Line], cursor: str | None = None) -> None:
        """Shows these rows in place of all others, sorted as the user chose."""
        self._lines = lines
        under_cursor = self.key_at_cursor() if self.cursor_row else None
        in_order = self._sorted()
        self.fill({key: lines[key].cells for key in in_order}, cursor or under_cursor)

    def title(self, column: int) -> str:
        usual = super().title(column)
        return f"{usual} {DOWN if self._falls else UP}" if column == self._by else usual

    def action_sort(self) -> None:
        """Sort by the next column that is shown, and behind the last in the order of before."""
        columns = sorted(self._layout_now.columns)
        later = [one for one in columns if self._by is None or one > self._by]
        self.sort_by(later[0] if later else None)

    def action_reverse(self) -> None:
        """Turn the order round."""
        if self._by is not None:
            self._reversed = not self._reversed
            self._sort_again()

    @on(DataTable.HeaderSelected)
    def _heading_clicked(self, event: DataTable.HeaderSelected) -> None:
        column = self._layout_now.columns[event.column_index]
        if column == self._by:
            self.action_reverse()
        else:
            self.sort_by(column)

    def sort_by(self, column: int | None) -> None:
        """Sort by a column, or as the rows came."""
        self._by, self._reversed = column, False
        self._sort_again()

    def _sort_again(self) -> None:
        for place, column in enumerate(self._layout_now.columns):
            self.ordered_columns[place].label = self._label(column)
        self.show_lines(self._lines)

    @property
    def _falls(self) -> bool:
        return (self._by in self._falling) != self._reversed

    def _sorted(self) -> list[str]:
        if self._by is None:
            return list(self._lines)
        column = self._by
        known = [(line.values[column], key) for key, line in self._lines.items()]
        found = sorted(
            (pair for pair in known if pair[0] is not None),
            key=lambda pair: pair[0],  # type: ignore[arg-type, return-value]
            reverse=self._falls,
        )
        return [key for _, key in found] + [key for value, key in known if value is None]
