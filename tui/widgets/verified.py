"""What a real engine said: each contender, predicted beside real."""

from rich.table import Table
from rich.text import Text
from textual.widgets import Static

from tui import format as fmt
from tui.views import VerificationView


class Verified(Static):
    """The contenders of a verification, one per line."""

    def show(self, found: VerificationView) -> None:
        """Fill in the lines."""
        table = Table(box=None, padding=(0, 1, 0, 0), expand=False, header_style="dim")
        table.add_column("settings")
        for title in (fmt.label(found.metric), "real", "predicted"):
            table.add_column(title, justify="right", no_wrap=True)
        table.add_column("verdict")
        for one in found.contenders:
            table.add_row(
                Text(one.name),
                Text(one.value),
                Text(one.real, style="bold"),
                Text(one.predicted),
                Text(one.verdict),
            )
        self.update(table)
