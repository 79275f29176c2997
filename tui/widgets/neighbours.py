"""The recommended settings and the robust choice at the neighbours of what was asked."""

from rich.console import Group
from rich.table import Table
from rich.text import Text
from textual.widgets import Static

from tui.theme import colour
from tui.views import RobustView


class Neighbours(Static):
    """What each has of the best at every point, and what follows."""

    def show(self, found: RobustView) -> None:
        """Fill in the lines."""
        variables = self.app.theme_variables
        table = Table(box=None, padding=(0, 2, 0, 0), expand=False, header_style="dim")
        table.add_column("settings")
        for point in found.points:
            table.add_column(point, justify="right")
        for name, parts in found.candidates:
            is_choice = name == found.choice
            style = "bold " + colour(variables, "best") if is_choice else ""
            table.add_row(Text(name, style=style), *map(Text, parts))
        told = (Text(f"· {sentence}", style=variables["secondary"]) for sentence in found.sentences)
        self.update(Group(table, *told))
