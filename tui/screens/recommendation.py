"""The advice: which engine, what to change, what it buys, and the way into a file."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal, VerticalScroll
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Footer, Static

from tui import format as fmt
from tui.theme import colour
from tui.views import Outcome, Session
from tui.widgets.advice_bars import Gains, Importance
from tui.widgets.changes_table import ChangesTable
from tui.widgets.comparison import Comparison
from tui.widgets.neighbours import Neighbours
from tui.widgets.title_bar import TitleBar
from tui.widgets.verified import Verified

LEAST_TOP = 8
HEADER_AND_BORDER = 3
BARS = 2
"""Title and footer."""


class RecommendationScreen(Screen[None]):
    """A verdict, two columns of numbers, the difference line by line, and what speaks for it. On a
    small terminal the last comes into sight as the focus moves there."""

    AUTO_FOCUS = ""  # It would scroll the verdict away.
    BINDINGS: ClassVar[list[BindingType]] = [
        ("e", "export", "Export"),
        ("escape", "app.pop_screen", "Back"),
    ]

    def __init__(self, session: Session, outcome: Outcome) -> None:
        super().__init__()
        self._session = session
        self._outcome = outcome

    def compose(self) -> ComposeResult:
        outcome = self._outcome
        clock = fmt.CLOCK_TITLES.get(outcome.clock, outcome.clock)
        yield TitleBar(f"{outcome.study} / recommendation", clock)
        with VerticalScroll(id="recommendation-body", can_focus=False):
            if outcome.warning:
                yield Static(outcome.warning, id="warning", markup=False)
            yield Static(id="verdict")
            with Horizontal(id="recommendation-top"):
                with VerticalScroll(
                    id="comparison-panel", classes="panel", can_focus=False
                ) as panel:
                    panel.border_title = "before and after"
                    yield Comparison(id="comparison")
                with VerticalScroll(id="notes-panel", classes="panel", can_focus=False) as panel:
                    panel.border_title = "how it was found"
                    yield Static(id="notes")
            if outcome.verified is not None:
                with VerticalScroll(id="verified-panel", classes="panel") as panel:
                    panel.border_title = f"on {outcome.verified.product} itself"
                    yield Verified(id="verified")
            with Container(id="changes-panel", classes="panel") as panel:
                panel.border_title = _changes_title(len(outcome.changes))
                if outcome.changes:
                    yield ChangesTable(id="changes")
                else:
                    yield Static("There is nothing to change.", classes="empty")
            yield from self._evidence()
        yield Footer()

    def _evidence(self) -> ComposeResult:
        """What each line buys, what the knobs weigh, and the answer at its neighbours, as far as
        that is known."""
        outcome = self._outcome
        gains = any((one.alone, one.company) != (None, None) for one in outcome.changes)
        if gains or outcome.importance:
            with Horizontal(id="bars"):
                if gains:
                    with VerticalScroll(id="gains-panel", classes="panel") as panel:
                        panel.border_title = f"what each line buys of {outcome.metrics[0]}"
                        yield Gains(id="gains")
                if outcome.importance:
                    with VerticalScroll(id="importance-panel", classes="panel") as panel:
                        panel.border_title = "importance"
                        yield Importance(id="importance")
        if outcome.robust is not None:
            with VerticalScroll(id="robust-panel", classes="panel") as panel:
                panel.border_title = f"robust choice: {outcome.robust.choice}"
                yield Neighbours(id="neighbours")

    def on_mount(self) -> None:
        outcome = self._outcome
        style = "bold " + colour(self.app.theme_variables, outcome.engine)
        self.query_one("#verdict", Static).update(Text(outcome.verdict, style=style))
        self.query_one(Comparison).show(outcome.columns, outcome.metrics)
        self.query_one("#notes", Static).update(_notes(outcome))
        if outcome.verified is not None:
            self.query_one(Verified).show(outcome.verified)
        for gains in self.query(Gains):
            gains.show_gains(outcome.changes, outcome.less_is_better)
        for importance in self.query(Importance):
            importance.show_shares(outcome.importance)
        if outcome.robust is not None:
            self.query_one(Neighbours).show(outcome.robust)
        if outcome.changes:
            table = self.query_one(ChangesTable)
            table.show(outcome.changes)
            table.focus(scroll_visible=False)

    def on_resize(self, event: Resize) -> None:
        """Room for all numbers, up to half of what lies between the bars of the screen."""
        shown = fmt.compared(
            [column.metrics for column in self._outcome.columns], self._outcome.metrics
        )
        half = (event.size.height - BARS) // 2
        height = max(LEAST_TOP, min(len(shown) + HEADER_AND_BORDER, half))
        self.query_one("#recommendation-top").styles.height = height

    def action_export(self) -> None:
        """Write the recommendation into a file."""
        from tui.screens.export import ExportDialog

        self.app.push_screen(ExportDialog(self._session, self._outcome), self._exported)

    def _exported(self, written: str | None) -> None:
        if written:
            self.notify(written, title="Written", timeout=8)


def _notes(outcome: Outcome) -> Text:
    lines = [outcome.goal, f"{outcome.tried}, {outcome.clock}", *outcome.notes]
    if outcome.verified is not None:
        lines.append(f"{outcome.verified.product}: {outcome.verified.how}")
    return Text("\n".join(f"· {line}" for line in lines))


def _changes_title(count: int) -> str:
    return "1 change" if count == 1 else f"{count} changes"
