"""Before and after, one line per number, coloured by whether the change is welcome."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text
from textual.widgets import Static

from tui import format as fmt
from tui.views import NumberColumn


class Comparison(Static):
    """The numbers of two configurations side by side."""

    HELP = """\
    ## Before and after

    All columns were run with the same workload, data and duration.
    A dash means that the number was not measured.
    """

    def show(self, columns: Sequence[NumberColumn], wanted: Sequence[str] = ()) -> None:
        """Fill in the columns, the wanted metrics first; the last is compared with the one before
        it."""
        variables = self.app.theme_variables
        table = Table(box=None, padding=(0, 2, 0, 0), expand=False, header_style="dim")
        table.add_column("", no_wrap=True)
        for title in (*(column.title for column in columns), ""):
            table.add_column(title, justify="right")
        for name in fmt.compared([column.metrics for column in columns], wanted):
            numbers = [column.metrics.get(name) for column in columns]
            *_, old, new = [None, None, *numbers]
            welcome = fmt.is_better(name, old, new)
            key = {True: "text-success", False: "text-error", None: "foreground"}[welcome]
            table.add_row(
                Text(fmt.label(name), style="dim"),
                *(fmt.value(name, number) for number in numbers[:-1]),
                Text(fmt.value(name, new), style="bold"),
                Text(fmt.difference(old, new), style=variables.get(key, "")),
            )
        self.update(table)
