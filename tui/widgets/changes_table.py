"""The recommendation as a difference: what each setting is, what it should be, and why."""

from collections.abc import Sequence

from rich.text import Text
from textual.widgets import DataTable

from tui.theme import colour
from tui.views import Change


class ChangesTable(DataTable[Text]):
    """One line per changed setting."""

    HELP = """\
    ## Changes

    Only settings that pay for themselves are listed: a change whose reversal costs nothing was
    dropped.
    The last column says what the change was measured to buy.
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, cursor_type="row", cursor_foreground_priority="renderable")

    def on_mount(self) -> None:
        self.add_column("setting")
        self.add_column(Text("current", justify="right"))
        self.add_column(Text("recommended", justify="right"))
        self.add_column("what it buys")

    def show(self, changes: Sequence[Change]) -> None:
        """Fill the table."""
        variables = self.app.theme_variables
        best = "bold " + colour(variables, "best")
        self.clear()
        for change in changes:
            self.add_row(
                Text(change.knob),
                Text(change.current, style=variables["secondary"], justify="right"),
                Text(change.recommended, style=best, justify="right"),
                Text(change.evidence),
            )
