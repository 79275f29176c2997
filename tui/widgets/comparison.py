"""Before and after, one line per number, coloured by whether the change is welcome."""

from collections.abc import Mapping

from rich.table import Table
from rich.text import Text
from textual.widgets import Static

from tui import format as fmt


class Comparison(Static):
    """The numbers of two configurations side by side."""

    HELP = """\
    ## Before and after

    Both columns were run with the same workload, data and duration.
    A dash means that the number was not measured.
    """

    def show(
        self,
        before_title: str,
        before: Mapping[str, float],
        after_title: str,
        after: Mapping[str, float],
    ) -> None:
        """Fill in the two columns."""
        variables = self.app.theme_variables
        table = Table(box=None, padding=(0, 2, 0, 0), expand=False, header_style="dim")
        table.add_column("")
        for title in (before_title, after_title, ""):
            table.add_column(title, justify="right")
        for name in fmt.COMPARED:
            old, new = before.get(name), after.get(name)
            welcome = fmt.is_better(name, old, new)
            key = {True: "text-success", False: "text-error", None: "foreground"}[welcome]
            table.add_row(
                Text(fmt.label(name), style="dim"),
                fmt.value(name, old),
                Text(fmt.value(name, new), style="bold"),
                Text(fmt.difference(old, new), style=variables.get(key, "")),
            )
        self.update(table)
