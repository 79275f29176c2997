"""Every finished trial, the best on top."""

from collections.abc import Iterable

from rich.text import Text
from textual.widgets import DataTable

from advisor.steadiness import NOT_YET
from tui import format as fmt
from tui.theme import colour
from tui.views import TrialView

COLUMNS = ("ops_per_s", "p99_us", "write_kb_per_op", "space_amp")


class TrialsTable(DataTable[Text]):
    """Trials by how well they serve the goal; the cursor stays on its trial when lines move."""

    HELP = """\
    ## Trials

    Each line is one finished run of the workload. The best under the goal is on top.
    A dimmed line failed or broke a limit of the goal; the last column says why. Where it says
    "not yet steady", something still changed when the run was measured: take its numbers with care.
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, cursor_type="row", cursor_foreground_priority="renderable")
        self._rows: dict[int, TrialView] = {}

    def on_mount(self) -> None:
        self.add_column(Text("#", justify="right"), width=4)
        self.add_column("engine", width=7)
        for name in COLUMNS:
            self.add_column(Text(fmt.label(name), justify="right"), width=10)
        self.add_column("changed from the start")

    def add_trial(self, row: TrialView) -> None:
        """Put one more trial in its place."""
        self._rows[row.number] = row
        self._redraw()

    def show(self, rows: Iterable[TrialView]) -> None:
        """Put these trials in the place of all others."""
        self._rows = {row.number: row for row in rows}
        self._redraw()

    def _redraw(self) -> None:
        under_cursor = self._number_at_cursor()
        ordered = sorted(self._rows.values(), key=_best_first)
        best = ordered[0].number if ordered and ordered[0].score is not None else None
        self.clear()
        for row in ordered:
            self.add_row(*self._cells(row, row.number == best), key=str(row.number))
        if under_cursor in self._rows:
            self.move_cursor(row=self.get_row_index(str(under_cursor)), animate=False)

    def _number_at_cursor(self) -> int | None:
        if not self.row_count or self.cursor_row == 0:
            return None
        key = self.coordinate_to_cell_key(self.cursor_coordinate).row_key.value
        return int(key) if key is not None else None

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


def _best_first(row: TrialView) -> tuple[bool, float, int]:
    return (row.score is None, -(row.score or 0.0), row.number)
