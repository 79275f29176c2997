"""The errors that the library raises on purpose, each with the exit code of a command."""

from __future__ import annotations

from pathlib import Path

MOST_FOUND = 200
"""Characters of what was found that an error repeats."""


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
        self.where = None if where is None else str(where)
        self.found = found if len(found) <= MOST_FOUND else f"{found[:MOST_FOUND]}…"
        self.accepted = accepted
        super().__init__(one_line(f"{self.place}: found {self.found}; accepted: {accepted}"))

    @property
    def place(self) -> str:
        """The file or option, and where in it."""
        return self.source if self.where is None else f"{self.source}:{self.where}"

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str | None, str, str]]:
        return type(self), (self.source, self.where, self.found, self.accepted)


def one_line(text: str) -> str:
    """The text on one line, printable."""
    return printable(" ".join(text.split()))


def printable(text: str) -> str:
    """The text with escapes for what would steer a terminal or cannot be written to one."""
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(letter: str) -> str:
    return letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
