"""The workbench: themes, keys, the palette, and which screen comes first. Everything else lives in
the screens."""

import asyncio
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, NoReturn

from rich.console import RenderableType
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.css.query import NoMatches
from textual.screen import Screen

from tui import leaving
from tui.screens.profiles import ProfilesScreen
from tui.terminal import Terminal
from tui.theme import DARK, DEFAULT_COLOURS, LIGHT
from tui.views import Session

LATEST_S = 0.9
"""From the wish to leave to an end that waits for nothing more."""
NARROW_COLUMNS = 100
SHORT_LINES = 30


class Workbench(App[None]):
    """The full-screen application over a session."""

    TITLE = "tunebench"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", "Help"),
        Binding("f2", "light_or_dark", "Light/dark", show=False),
        Binding("ctrl+q", "quit", "Quit", priority=True),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (SHORT_LINES, "-tall")]  # noqa: RUF012
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-narrow"),
        (NARROW_COLUMNS, "-wide"),
    ]

    def __init__(self, session: Session, terminal: Terminal | None = None) -> None:
        super().__init__()
        self._session = session
        self._terminal = terminal
        self.left_at = 0.0
        """When the user, or a signal, asked for the end; of the monotonic clock."""
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = DARK.name

    def on_mount(self) -> None:
        self.push_screen(ProfilesScreen(self._session))

    def exit(
        self,
        result: None = None,
        return_code: int = 0,
        message: RenderableType | None = None,
    ) -> None:
        """Leave; who asks again does not change the exit code."""
        if self.left_at:
            return
        self.left_at = time.monotonic()
        if self._terminal is not None:
            leaving.force(return_code, LATEST_S, self._terminal.give_back)
        super().exit(result, return_code, message)

    def _handle_exception(self, error: Exception) -> None:
        # While an app leaves, Textual mounts nothing: a widget that just came misses its children.
        if not (self.left_at and isinstance(error, NoMatches)):
            super()._handle_exception(error)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return DEFAULT_COLOURS

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        yield SystemCommand("Results", "Browse the stored studies", self.action_results)
        yield SystemCommand("SQL", "Ask the results file", self.action_query)
        yield SystemCommand("Sweeps", "Both engines along an axis", self.action_sweeps)
        yield SystemCommand("Published", "Published experiments, replayed", self.action_published)
        yield SystemCommand("Light or dark", "Switch between both faces", self.action_light_or_dark)
        yield from super().get_system_commands(screen)

    def action_results(self) -> None:
        """Open the browser of stored studies."""
        from tui.screens.results import ResultsScreen

        if not isinstance(self.screen, ResultsScreen):
            self.push_screen(ResultsScreen(self._session))

    def action_query(self) -> None:
        """Open the query of the results file."""
        from tui.screens.query import QueryScreen

        if not isinstance(self.screen, QueryScreen):
            self.push_screen(QueryScreen(self._session))

    def action_sweeps(self) -> None:
        """Open the sweeps."""
        from tui.screens.sweeps import SweepsScreen

        if not isinstance(self.screen, SweepsScreen):
            self.push_screen(SweepsScreen(self._session))

    def action_published(self) -> None:
        """Open the published experiments."""
        from tui.screens.published import PublishedScreen

        if not isinstance(self.screen, PublishedScreen):
            self.push_screen(PublishedScreen(self._session))

    def action_light_or_dark(self) -> None:
        """Switch between the dark and the light face."""
        self.theme = DARK.name if self.theme == LIGHT.name else LIGHT.name

    def action_help(self) -> None:
        """Show or hide the help of the focused widget."""
        if self.screen.query("HelpPanel"):
            self.action_hide_help_panel()
        else:
            self.action_show_help_panel()


def run_workbench(session: Session) -> NoReturn:
    """Runs the workbench and ends the process with its exit code."""
    terminal = Terminal()
    app = Workbench(session, terminal)
    # A loop of our own: at its end asyncio's would wait for imports that threads have begun.
    loop = asyncio.new_event_loop()
    loop.set_default_executor(threads := ThreadPoolExecutor(thread_name_prefix="workbench"))
    signalled: list[int] = []

    def leave(code: int) -> None:
        signalled.append(code)
        loop.call_soon_threadsafe(lambda: app.exit(return_code=code))
        # The loop may wait for a terminal that is stuck, and never hear of it.
        leaving.force(code, LATEST_S, terminal.give_back)

    leaving.on_signals(leaving.EXIT_CODES, leave)
    app.run(loop=loop)
    threads.shutdown(wait=False, cancel_futures=True)
    code = signalled[0] if signalled else app.return_code or 0
    leaving.end(code, app.left_at or time.monotonic())
