"""The answer to a query: as many columns as it has, which may go beyond the screen."""

from rich.text import Text
from textual.widgets import DataTable

from tui.views import AnswerView

MOST_WIDTH = 48
"""Of a column; settings and notes are longer."""


class AnswerTable(DataTable[Text]):
    """Rows as the query ordered them."""

    HELP = """\
    ## Answer

    The rows that the query found. Left and right move to columns beyond the screen; a dash means
    that the row has no such value.
    """

    def show(self, answer: AnswerView) -> None:
        """Put this answer in the place of the one before."""
        self.clear(columns=True)
        for at, title in enumerate(answer.columns):
            widest = max((len(row[at]) for row in answer.rows), default=0)
            width = min(MOST_WIDTH, max(len(title), widest, 1))
            self.add_column(_cell(title, answer.numbers[at]), width=width)
        for row in answer.rows:
            self.add_row(*(_cell(*pair) for pair in zip(row, answer.numbers, strict=True)))

    def _update_dimensions(self, new_rows: object) -> None:
        """All widths are given: no row is measured."""
        super()._update_dimensions(())


def _cell(text: str, is_number: bool) -> Text:
    cell = Text(text, no_wrap=True, overflow="ellipsis")
    cell.justify = "right" if is_number else "left"
    return cell
