"""Every finished trial, the best on top."""

from collections.abc import Iterable

from rich.text import Text

from advisor.steadiness import NOT_YET
from tui import format as fmt
from tui.theme import colour
from tui.views import TrialView
from tui.widgets.wrapping_table import Heading, WrappingTable

COLUMNS = ("ops_per_s", "p99_us", "write_kb_per_op", "space_amp")
OPTIONAL = ("write_kb_per_op", "space_amp")
"""Not shown where the terminal is narrow."""


HEADINGS = (
    Heading("#", right=True, least=4),
    Heading("engine", least=7),
    *(Heading(fmt.label(name), right=True, least=9, optional=name in OPTIONAL) for name in COLUMNS),
    Heading("changed from the start"),
)


class TrialsTable(WrappingTable):
    """Trials by how well they serve the goal; the cursor stays on its trial when lines move."""

    HELP = """\
    ## Trials

    Each row is one finished run of the workload. The best under the goal is on top, of several
    objectives by the first. The row under the cursor is open where not all have room.
    A dimmed row failed or broke a limit of the goal; the last column says why. Where it says
    "not yet steady", something still changed when the run was measured: take its numbers with care.
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(HEADINGS, id=id)
        self._trials: dict[int, TrialView] = {}

    def add_trial(self, row: TrialView) -> None:
        """Put one more trial in its place."""
        self._trials[row.number] = row
        self._redraw()

    def show(self, rows: Iterable[TrialView]) -> None:
        """Put these trials in the place of all others."""
        self._trials = {row.number: row for row in rows}
        self._redraw()

    def _redraw(self) -> None:
        # On the first row the cursor stays with the best, whichever that is.
        under_cursor = self.key_at_cursor() if self.cursor_row else None
        ordered = sorted(self._trials.values(), key=best_first)
        best = ordered[0].number if ordered and ordered[0].score is not None else None
        lines = {str(row.number): self._cells(row, row.number == best) for row in ordered}
        self.fill(lines, under_cursor)

    def _cells(self, row: TrialView, is_best: bool) -> list[Text]:
        variables = self.app.theme_variables
        style = "bold " + colour(variables, "best") if is_best else ""
        if row.score is None:
            style = "dim"
        engine_style = style if row.score is None else colour(variables, row.engine)
        cells = [
            Text(str(row.number), style=style, justify="right"),
            Text(fmt.ENGINE_TITLES.get(row.engine, row.engine), style=engine_style),
        ]
        for name in COLUMNS:
            written = fmt.value(name, row.metrics.get(name))
            cells.append(Text(written, style=style, justify="right"))
        cells.append(Text(_remark(row), style="dim" if row.note else style))
        return cells


def _remark(row: TrialView) -> str:
    remark = row.note or row.changed
    return f"{NOT_YET}: {remark}" if row.steady is False else remark


def best_first(row: TrialView) -> tuple[bool, float, float, int]:
    return (row.score is None, row.beyond, -(row.score or 0.0), row.number)
