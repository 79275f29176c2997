"""Every finished trial, the best on top."""

from collections.abc import Iterable

from rich.text import Text

from advisor.goal import find_metric
from advisor.steadiness import NOT_YET
from tui import format as fmt
from tui.theme import colour
from tui.views import TrialView
from tui.widgets.sorted_table import Line, SortedTable
from tui.widgets.wrapping_table import Heading

COLUMNS = ("ops_per_s", "p99_us", "write_kb_per_op", "space_amp")
OPTIONAL = ("write_kb_per_op", "space_amp")
"""Not shown where the terminal is narrow."""


HEADINGS = (
    Heading("#", right=True, least=4),
    Heading("engine", least=7),
    *(Heading(fmt.label(name), right=True, least=9, optional=name in OPTIONAL) for name in COLUMNS),
    Heading("changed from the start"),
)


class TrialsTable(SortedTable):
    """Trials by how well they serve the goal; the cursor stays on its trial when lines move."""

    HELP = """\
    ## Trials

    Each row is one finished run of the workload. The best under the goal is on top, of several
    objectives by the first. The row under the cursor is open where not all have room.
    A dimmed row failed or broke a limit of the goal; the last column says why. Where it says
    "not yet steady", something still changed when the run was measured: take its numbers with care.
    o sorts by the next column, its best first, and behind the last by the goal again; O turns that
    round. So does a click on a heading.
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        falling = frozenset(
            place for place, name in enumerate(COLUMNS, start=2) if _greatest_first(name)
        )
        super().__init__(HEADINGS, falling=falling, id=id)
        self._trials: dict[int, TrialView] = {}
        self._made: dict[tuple[int, bool], Line] = {}
        """Lines as they were drawn, by the trial's number and whether it was the best."""

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, lambda _theme: self._draw_anew())

    def add_trials(self, rows: Iterable[TrialView]) -> None:
        """Put more trials in their places."""
        for row in rows:
            self._trials[row.number] = row
        self._draw()

    def show(self, rows: Iterable[TrialView]) -> None:
        """Put these trials in the place of all others."""
        self._trials = {row.number: row for row in rows}
        self._draw_anew()

    def _draw_anew(self) -> None:
        self._made.clear()
        self._draw()

    def _draw(self) -> None:
        ordered = sorted(self._trials.values(), key=best_first)
        best = ordered[0].number if ordered and ordered[0].score is not None else None
        self.show_lines({str(row.number): self._line(row, row.number == best) for row in ordered})

    def _line(self, row: TrialView, is_best: bool) -> Line:
        made = self._made.get((row.number, is_best))
        if made is None:
            made = Line(self._cells(row, is_best), _values(row))
            self._made[row.number, is_best] = made
        return made

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


def _values(row: TrialView) -> tuple[float | str | None, ...]:
    metrics = (row.metrics.get(name) for name in COLUMNS)
    return (row.number, fmt.ENGINE_TITLES.get(row.engine, row.engine), *metrics, _remark(row))


def _remark(row: TrialView) -> str:
    remark = row.note or row.changed
    return f"{NOT_YET}: {remark}" if row.steady is False else remark


def _greatest_first(metric: str) -> bool:
    known = find_metric(metric)
    return known is not None and known.better == "higher"


def best_first(row: TrialView) -> tuple[bool, float, float, int]:
    return (row.score is None, row.beyond, -(row.score or 0.0), row.number)
