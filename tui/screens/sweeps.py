"""Both engines along an axis: stored sweeps, and a new one as it fills."""

from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Static

from tui import format as fmt
from tui.messages import SweepEnded, SweepMoved, SweepStepBegun
from tui.screens.confirm import Confirm
from tui.sweep_thread import SweepThread
from tui.views import Session, SweepPlan, SweepRow, SweepView
from tui.widgets.sweep_plot import SweepPlot
from tui.widgets.title_bar import TitleBar
from tui.widgets.wrapping_table import Heading, WrappingTable
from tui.working import plain_words

HEADINGS = (
    Heading("sweep"),
    Heading("over"),
    Heading("created", optional=True),
    Heading("points", right=True),
    Heading("clock", optional=True),
    Heading("goal"),
)


class SweepsTable(WrappingTable):
    """One line per sweep."""

    HELP = """\
    ## Sweeps

    Every sweep of this results file, the newest first; the one under the cursor is drawn below.
    n starts a new one, s ends a running one behind its step.
    """


class SweepsScreen(Screen[None]):
    """Sweeps above, the chosen one below. One that runs is cancelled when the screen goes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("n", "new", "New sweep"),
        ("s", "stop", "Stop after this step"),
        ("escape", "leave", "Back"),
    ]

    def __init__(self, session: Session, profile: str = "") -> None:
        super().__init__()
        self._session = session
        self._profile = profile
        self._rows: list[SweepRow] = []
        self._walker: SweepThread | None = None
        self._walked: SweepView | None = None
        """What the sweep of this screen has by now; it stays the newest when it has ended."""
        self._step = ""

    def compose(self) -> ComposeResult:
        yield TitleBar("sweeps")
        with Vertical(id="sweeps-body"):
            with Container(id="sweeps-panel", classes="panel") as panel:
                panel.border_title = "sweeps"
                yield Static("Reading the results…", classes="empty", id="no-sweeps")
                yield SweepsTable(HEADINGS, id="sweeps")
            with VerticalScroll(id="sweep-panel", classes="panel"):
                yield SweepPlot(id="sweep-plot")
                yield Static(id="sweep-sentences", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        self.query_one(SweepsTable).display = False
        self._read_sweeps()

    def on_unmount(self) -> None:
        if self._walker is not None:
            self._walker.cancel()

    @work(thread=True, exclusive=True, group="sweeps", exit_on_error=False)
    def _read_sweeps(self) -> None:
        """DuckDB takes a moment to import: not on the screen's thread."""
        try:
            rows = self._session.sweeps()
        except Exception as error:
            self.app.call_from_thread(self._say, plain_words(error))
        else:
            self.app.call_from_thread(self._fill, rows)

    def _say(self, text: str) -> None:
        self.query_one("#no-sweeps", Static).update(Text(text))

    def _fill(self, rows: list[SweepRow]) -> None:
        self._rows = rows
        self._list()
        if rows:
            self.query_one(SweepsTable).focus()

    def _list(self) -> None:
        """Show the rows, that of the running sweep as far as it is."""
        own = self._walked
        rows = {row.name: _cells(row) for row in self._rows}
        if own is not None:
            rows = {own.name: _cells_of(own)} | {k: v for k, v in rows.items() if k != own.name}
        table = self.query_one(SweepsTable)
        table.display = bool(rows)
        self.query_one("#no-sweeps").display = not rows
        if not rows:
            self._say("No sweep is stored yet.\nPress n to start one.")
            return
        table.fill(rows, table.key_at_cursor())

    @on(DataTable.RowHighlighted, "#sweeps")
    def _highlighted(self) -> None:
        name = self.query_one(SweepsTable).key_at_cursor()
        if self._walked is not None and name == self._walked.name:
            self._draw(self._walked)
        elif name is not None:
            self._read_sweep(name)

    @work(thread=True, exclusive=True, group="sweep", exit_on_error=False)
    def _read_sweep(self, name: str) -> None:
        try:
            view = self._session.stored_sweep(name)
        except Exception as error:
            self.app.call_from_thread(self._cannot, plain_words(error))
        else:
            self.app.call_from_thread(self._draw, view)

    def _cannot(self, text: str) -> None:
        self.query_one(SweepPlot).clear()
        self.query_one("#sweep-sentences", Static).update(text)

    def _draw(self, view: SweepView) -> None:
        panel = self.query_one("#sweep-panel")
        panel.border_title = f"{view.profile} over {view.axis}: {view.goal}"
        clock = fmt.CLOCK_TITLES.get(view.clock, view.clock)
        panel.border_subtitle = f"{fmt.label(view.metric)}, {clock}"
        self.query_one(SweepPlot).show(view)
        crossings = {step.crossing for step in view.steps}
        told = [one for one in view.sentences if one not in crossings]
        if self._is_shown_running(view):
            told = [f"running: {view.axis} {self._step}".rstrip()]
        self.query_one("#sweep-sentences", Static).update("\n".join(f"· {one}" for one in told))

    def _is_shown_running(self, view: SweepView) -> bool:
        return self._walker is not None and view is self._walked

    @on(SweepStepBegun)
    def _step_begun(self, event: SweepStepBegun) -> None:
        self._step = event.label
        self._redraw_running()

    @on(SweepMoved)
    def _moved(self, event: SweepMoved) -> None:
        is_new = self._walked is None or self._walked.name != event.view.name
        self._walked = event.view
        self._list()
        if is_new:
            self.query_one(SweepsTable).move_cursor(row=0, animate=False)
            self.query_one(SweepsTable).focus()
        self._redraw_running()

    def _redraw_running(self) -> None:
        shown = self.query_one(SweepsTable).key_at_cursor()
        if self._walked is not None and shown == self._walked.name:
            self._draw(self._walked)

    @on(SweepEnded)
    def _ended(self, event: SweepEnded) -> None:
        self._walker = None
        if event.view is None:
            self.notify(event.failure, title="The sweep stopped", severity="error", timeout=12)
        else:
            self._walked = event.view
        self._list()
        self._redraw_running()
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "new":
            return self._walker is None
        if action == "stop":
            return self._walker is not None
        return True

    def action_new(self) -> None:
        """Ask what to sweep."""
        from tui.screens.sweep_form import SweepDialog

        self.app.push_screen(SweepDialog(self._session, self._profile), self._start)

    def _start(self, plan: SweepPlan | None) -> None:
        if plan is None:
            return
        self._step = ""
        self._walker = SweepThread(self._session, plan, self.post_message)
        self._walker.start()
        self.refresh_bindings()

    def action_stop(self) -> None:
        """Ask the sweep to end between two steps."""
        if self._walker is not None:
            self._walker.stop()
            self.notify("The sweep ends with the running step. What was measured is kept.")

    def action_leave(self) -> None:
        """Back; a running sweep is cancelled first, if the user agrees."""
        if self._walker is None:
            self.app.pop_screen()
            return
        question = (
            "The sweep is still running.\n"
            "Leaving ends it and drops the step in flight; the finished steps are kept."
        )
        self.app.push_screen(Confirm(question, "Leave", "Stay"), self._left)

    def _left(self, agreed: bool | None) -> None:
        if agreed:
            self.app.pop_screen()


def _cells(row: SweepRow) -> tuple[Text, ...]:
    planned = "" if row.planned is None else f" of {row.planned}"
    return (
        Text(row.name),
        Text(row.axis),
        Text(row.created),
        Text(f"{row.points}{planned}", justify="right"),
        Text(row.clock),
        Text(row.goal),
    )


def _cells_of(view: SweepView) -> tuple[Text, ...]:
    row = SweepRow(view.name, view.axis, "now", view.points, view.planned, view.clock, view.goal)
    return _cells(row)
