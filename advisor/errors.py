"""The errors that the library raises on purpose, each with the exit code of a command."""

from __future__ import annotations

from pathlib import Path

MOST_FOUND = 200
"""Letters of what was found, and of where, that an error repeats."""
MOST_ACCEPTED = 2000


class TunebenchError(Exception):
    """Base of everything that the library raises on purpose. `str()` of it is one line for the
    user.
    """

    exit_code = 1


class WorkError(TunebenchError):
    """The input was right, and the work failed."""


class InputError(TunebenchError):
    """The user's input was wrong: where it stands, what was found, and what would be accepted.

    `source` is a file or an option, `where` a line number or a dotted key inside it (or nothing).
    """

    exit_code = 2

    def __init__(
        self, source: str | Path, where: str | int | None, found: str, accepted: str
    ) -> None:
        self.source = str(source)
        self.where = None if where is None else _at_most(MOST_FOUND, str(where))
        self.found = _at_most(MOST_FOUND, found)
        self.accepted = _at_most(MOST_ACCEPTED, accepted)
        super().__init__(one_line(f"{self.place}: found {self.found}; accepted: {self.accepted}"))

    @property
    def place(self) -> str:
        """The file or option, and where in it."""
        return self.source if self.where is None else f"{self.source}:{self.where}"

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str | None, str, str]]:
        return type(self), (self.source, self.where, self.found, self.accepted)


def _at_most(letters: int, text: str) -> str:
    return text if len(text) <= letters else f"{text[:letters]}…"


def one_line(text: str) -> str:
    """The text on one line, printable."""
    return printable(" ".join(text.split()))


def printable(text: str) -> str:
    """The text with escapes for what would steer a terminal or cannot be written to one."""
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(letter: str) -> str:
    return letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
