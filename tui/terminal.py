"""The terminal as it was found, for the case that Textual cannot give it back any more."""

import os
import sys
import termios
from contextlib import suppress

LEAVE = b"\x1b[?2004l\x1b[?1000l\x1b[?1003l\x1b[?1006l\x1b[<u\x1b[?1049l\x1b[?25h"
"""Paste, mouse and keyboard modes off, the normal screen, the cursor."""


class Terminal:
    """Remembers the settings of the terminal of this process."""

    def __init__(self) -> None:
        self._number = sys.__stdin__.fileno() if sys.__stdin__ is not None else 0
        self._settings = termios.tcgetattr(self._number)

    def give_back(self) -> None:
        """Sets them again, and never waits for a terminal that takes nothing."""
        with suppress(termios.error, OSError):
            termios.tcsetattr(self._number, termios.TCSANOW, self._settings)
            os.set_blocking(self._number, False)
            os.write(self._number, LEAVE)
            os.set_blocking(self._number, True)
