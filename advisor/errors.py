"""The errors that the library raises on purpose, each with the exit code of a command."""

from __future__ import annotations

from pathlib import Path


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
        self.found = found
        self.accepted = accepted
        place = self.source if self.where is None else f"{self.source}:{self.where}"
        super().__init__(_one_line(f"{place}: found {found}; accepted: {accepted}"))

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str | None, str, str]]:
        return type(self), (self.source, self.where, self.found, self.accepted)


def _one_line(text: str) -> str:
    return " ".join(text.split())
