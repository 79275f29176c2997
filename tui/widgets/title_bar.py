"""The top line: where the user is, and under which clock the numbers were taken."""

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static


class TitleBar(Horizontal):
    """The name of the program, the place, and a badge on the right."""

    def __init__(self, place: str, badge: str = "") -> None:
        super().__init__()
        self._place = place
        self._badge = badge

    def compose(self) -> ComposeResult:
        yield Static("tunebench", classes="program", markup=False)
        yield Static(self._place, classes="place", markup=False)
        yield Static(self._badge, classes="badge", markup=False)

    def rename(self, place: str, badge: str) -> None:
        """Change both texts."""
        self.query_one(".place", Static).update(place)
        self.query_one(".badge", Static).update(badge)
