"""Published experiments: their figures beside simulated ones, and which of their claims hold."""

from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Static

from tui.messages import ReplayCounted, ReplayEnded, ReplayMoved
from tui.replay_thread import ReplayThread
from tui.screens.confirm import Confirm
from tui.views import ClaimView, ExperimentRow, PublishedView, Session
from tui.widgets.title_bar import TitleBar
from tui.widgets.wrapping_table import Heading, WrappingTable
from tui.working import plain_words

LISTED = (Heading("experiment"), Heading("runs", right=True), Heading("what it is"))
COMPARED = (
    Heading("published", right=True),
    Heading("simulated", right=True),
    Heading("ratio", right=True),
    Heading("metric"),
)
CLAIMED = (Heading("claim"), Heading("verdict"), Heading("what it says"))
LOOKS = {"holds": "text-success", "fails": "text-error"}
"""Colours of verdicts; the others are dim."""


class ExperimentsTable(WrappingTable):
    """One line per experiment."""

    HELP = """\
    ## Published experiments

    Benchmarks that others have published, with the hardware that they ran on as a model. Enter
    replays the one under the cursor, which takes minutes; its figures come as its runs end.
    """


class FiguresTable(WrappingTable):
    """Published beside simulated."""

    HELP = """\
    ## Figures

    What the post says, what the replay gives, and simulated over published. Nothing was fitted to
    a figure that it is compared with.
    """


class ClaimsTable(WrappingTable):
    """What the post claims."""

    HELP = """\
    ## Claims

    Each claim holds or fails by the simulated figures. "no answer" stands where no run can decide,
    with the reason; "not yet" where its runs are not done.
    """


class PublishedScreen(Screen[None]):
    """Experiments above, the figures and claims of the chosen one below."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("r", "replay", "Replay"),
        ("s", "stop", "Stop"),
        ("escape", "leave", "Back"),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._walker: ReplayThread | None = None
        self._live: PublishedView | None = None
        """What the running replay has by now."""

    def compose(self) -> ComposeResult:
        yield TitleBar("published experiments", "simulated")
        with Vertical(id="published-body"):
            with Container(id="experiments-panel", classes="panel") as panel:
                panel.border_title = "experiments"
                yield ExperimentsTable(LISTED, id="experiments")
            yield Static("Reading the experiments…", id="published-about", markup=False)
            with Container(id="figures-panel", classes="panel") as panel:
                panel.border_title = "figures"
                yield FiguresTable(COMPARED, id="figures")
            with Container(id="claims-panel", classes="panel") as panel:
                panel.border_title = "claims"
                yield ClaimsTable(CLAIMED, id="claims")
        yield Footer()

    def on_mount(self) -> None:
        self._read_experiments()

    def on_unmount(self) -> None:
        if self._walker is not None:
            self._walker.cancel()

    @work(thread=True, exclusive=True, group="experiments", exit_on_error=False)
    def _read_experiments(self) -> None:
        try:
            rows = self._session.experiments()
        except Exception as error:
            self.app.call_from_thread(self._about, plain_words(error))
        else:
            self.app.call_from_thread(self._fill, rows)

    def _fill(self, rows: list[ExperimentRow]) -> None:
        table = self.query_one(ExperimentsTable)
        table.fill(
            {
                row.name: (Text(row.name), Text(str(row.runs), justify="right"), Text(row.text))
                for row in rows
            }
        )
        table.focus()

    def _about(self, text: str) -> None:
        self.query_one("#published-about", Static).update(text)

    @on(DataTable.RowHighlighted, "#experiments")
    def _highlighted(self) -> None:
        name = self.query_one(ExperimentsTable).key_at_cursor()
        if self._live is not None and self._live.name == name:
            self._draw(self._live)
        elif name is not None:
            self._read_experiment(name)

    @work(thread=True, exclusive=True, group="experiment", exit_on_error=False)
    def _read_experiment(self, name: str) -> None:
        try:
            view = self._session.published(name)
        except Exception as error:
            self.app.call_from_thread(self._about, plain_words(error))
        else:
            self.app.call_from_thread(self._draw, view)

    def _draw(self, view: PublishedView) -> None:
        self._about(view.about)
        figures = self.query_one(FiguresTable)
        figures.fill(
            {
                one.metric: (
                    Text(one.published, justify="right"),
                    Text(one.simulated, justify="right"),
                    Text(one.ratio, justify="right"),
                    Text(one.metric),
                )
                for one in view.figures
            },
            figures.key_at_cursor(),
        )
        claims = self.query_one(ClaimsTable)
        lines = {one.id: self._claim(one) for one in view.claims}
        claims.fill(lines, claims.key_at_cursor())

    def _claim(self, one: ClaimView) -> tuple[Text, ...]:
        style = self.app.theme_variables.get(LOOKS.get(one.verdict, ""), "dim")
        told = Text(one.text)
        if one.why:
            told.append(f" ({one.why})", style="dim")
        return Text(one.id), Text(one.verdict, style=style), told

    @on(DataTable.RowSelected, "#experiments")
    def _selected(self) -> None:
        self.action_replay()

    @on(ReplayCounted)
    def _counted(self, event: ReplayCounted) -> None:
        if self._walker is not None:
            done = f"{self._walker.experiment}: {event.done} of {event.runs} runs"
            self.query_one("#experiments-panel").border_subtitle = done

    @on(ReplayMoved)
    def _moved(self, event: ReplayMoved) -> None:
        self._live = event.view
        self._redraw_live()

    def _redraw_live(self) -> None:
        chosen = self.query_one(ExperimentsTable).key_at_cursor()
        if self._live is not None and self._live.name == chosen:
            self._draw(self._live)

    @on(ReplayEnded)
    def _ended(self, event: ReplayEnded) -> None:
        self._walker = None
        self.query_one("#experiments-panel").border_subtitle = ""
        if event.view is None:
            self.notify(event.failure, title="The replay stopped", severity="error", timeout=12)
        else:
            self._live = event.view
            self._redraw_live()
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "replay":
            return self._walker is None
        if action == "stop":
            return self._walker is not None
        return True

    def action_replay(self) -> None:
        """Replay the experiment under the cursor."""
        name = self.query_one(ExperimentsTable).key_at_cursor()
        if name is None or self._walker is not None:
            return
        self._live = None
        self._walker = ReplayThread(self._session, name, self.post_message)
        self._walker.start()
        self.refresh_bindings()

    def action_stop(self) -> None:
        """End the replay with the figures that there are."""
        if self._walker is not None:
            self._walker.stop()

    def action_leave(self) -> None:
        """Back; a running replay is ended first, if the user agrees."""
        if self._walker is None:
            self.app.pop_screen()
            return
        question = "The replay is still running.\nLeaving ends it; what it has is not kept."
        self.app.push_screen(Confirm(question, "Leave", "Stay"), self._left)

    def _left(self, agreed: bool | None) -> None:
        if agreed:
            self.app.pop_screen()
