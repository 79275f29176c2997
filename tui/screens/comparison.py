"""Studies side by side: what each one recommends, its numbers with verdicts, and what differs."""

from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.widgets import Footer, Static

from tui.views import ComparedLine, ComparisonView
from tui.widgets.title_bar import TitleBar
from tui.widgets.wrapping_table import Heading, WrappingTable

LOOKS = {"better": "text-success", "worse": "text-error"}
"""Colours of verdicts by their first word; the others are dim."""


class NumbersTable(WrappingTable):
    """A line per metric."""

    HELP = """\
    ## Side by side

    Medians of what each study recommends. A verdict compares with the first study: "better" or
    "worse" by more than noise, "within noise", or "from a single run", which decides nothing.
    """


class SettingsTable(WrappingTable):
    """A line per setting that differs."""

    HELP = """\
    ## Settings

    Those in which studies that recommend the same engine differ. The others are the same.
    """


class ComparisonScreen(Screen[None]):
    """What is compared above, then numbers, then settings."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "app.pop_screen", "Back")]

    def __init__(self, found: ComparisonView) -> None:
        super().__init__()
        self._found = found

    def compose(self) -> ComposeResult:
        names = [side.name for side in self._found.sides]
        values = [Heading(name, right=True) for name in names]
        verdicts = [Heading(f"{name} against {names[0]}") for name in names[1:]]
        yield TitleBar(" · ".join(names))
        with Vertical(id="compared-body"):
            yield Static(self._told(), id="compared-sides")
            with Container(id="numbers-panel", classes="panel") as panel:
                panel.border_title = "numbers"
                yield NumbersTable([Heading("metric"), *values, *verdicts], id="numbers")
            with Container(id="settings-panel", classes="panel") as panel:
                panel.border_title = "settings that differ"
                if self._found.settings:
                    yield SettingsTable([Heading("setting"), *map(Heading, names)], id="settings")
                else:
                    yield Static("No settings of one engine differ.", classes="empty")
            yield Static(
                "\n".join(f"· {note}" for note in self._found.notes),
                id="compared-notes",
                markup=False,
            )
        yield Footer()

    def on_mount(self) -> None:
        numbers = self.query_one(NumbersTable)
        numbers.fill(
            {
                line.name: (Text(line.name), *_right(line.values), *self._verdicts(line))
                for line in self._found.metrics
            }
        )
        for table in self.query(SettingsTable):
            table.fill(
                {
                    f"{place} {line.name}": [Text(told) for told in (line.name, *line.values)]
                    for place, line in enumerate(self._found.settings)
                }
            )
        numbers.focus()

    def _told(self) -> Text:
        secondary = self.app.theme_variables["secondary"]
        told = Text()
        for side in self._found.sides:
            told.append(side.name, style="bold").append(f"  {side.what}\n")
            told.append(f"  {side.how}\n", style=secondary)
        told.rstrip()
        return told

    def _verdicts(self, line: ComparedLine) -> list[Text]:
        variables = self.app.theme_variables
        shown = []
        for verdict in line.verdicts:
            look = LOOKS.get(verdict.split(" ")[0])
            shown.append(Text(verdict, style=variables.get(look or "", "dim")))
        return shown


def _right(values: Iterable[str]) -> list[Text]:
    return [Text(value, justify="right") for value in values]
