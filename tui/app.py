"""The workbench: themes, keys, the palette, and which screen comes first. Everything else lives in
the screens."""

import asyncio
import signal
from collections.abc import Iterable
from typing import ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from tui.screens.profiles import ProfilesScreen
from tui.theme import DARK, DEFAULT_COLOURS, LIGHT
from tui.views import Session

TERMINATED = 143
NARROW_COLUMNS = 100


class Workbench(App[None]):
    """The full-screen application over a session."""

    TITLE = "tunebench"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", "Help"),
        Binding("f2", "light_or_dark", "Light/dark", show=False),
        Binding("ctrl+q", "quit", "Quit", priority=True),
    ]
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-narrow"),
        (NARROW_COLUMNS, "-wide"),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = DARK.name

    def on_mount(self) -> None:
        # Without this a SIGTERM leaves the terminal in raw mode on the alternate screen.
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, lambda: self.exit(return_code=TERMINATED))
        self.push_screen(ProfilesScreen(self._session))

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return DEFAULT_COLOURS

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        yield SystemCommand("Results", "Browse the stored studies", self.action_results)
        yield SystemCommand("Light or dark", "Switch between both faces", self.action_light_or_dark)
        yield from super().get_system_commands(screen)

    def action_results(self) -> None:
        """Open the browser of stored studies."""
        from tui.screens.results import ResultsScreen

        if not isinstance(self.screen, ResultsScreen):
            self.push_screen(ResultsScreen(self._session))

    def action_light_or_dark(self) -> None:
        """Switch between the dark and the light face."""
        self.theme = DARK.name if self.theme == LIGHT.name else LIGHT.name

    def action_help(self) -> None:
        """Show or hide the help of the focused widget."""
        if self.screen.query("HelpPanel"):
            self.action_hide_help_panel()
        else:
            self.action_show_help_panel()
