"""The recommendation as a difference: what each setting is, what it should be, and why."""

from collections.abc import Sequence

from rich.text import Text

from tui.theme import colour
from tui.views import Change
from tui.widgets.wrapping_table import Heading, WrappingTable

HEADINGS = (
    Heading("setting"),
    Heading("current", right=True),
    Heading("recommended", right=True),
    Heading("what it buys"),
)


class ChangesTable(WrappingTable):
    """One row per changed setting."""

    HELP = """\
    ## Changes

    Only settings that pay for themselves are listed: a change that bought nothing was
    dropped.
    The last column, or the line below the setting, says what the change was measured to buy.
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(HEADINGS, id=id)

    def show(self, changes: Sequence[Change]) -> None:
        """Fill the table."""
        variables = self.app.theme_variables
        best = "bold " + colour(variables, "best")
        self.fill(
            {
                change.knob: (
                    Text(change.knob),
                    Text(change.current, style=variables["secondary"], justify="right"),
                    Text(change.recommended, style=best, justify="right"),
                    Text(change.evidence),
                )
                for change in changes
            }
        )
