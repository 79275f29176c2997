"""Changes to a text, line by line: what is replaced, and what comes after a line."""

from __future__ import annotations

from collections.abc import Sequence


class Edits:
    """Lines of a file, counted from 1, and what becomes of them."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self._instead: dict[int, list[str]] = {}
        self._after: dict[int, list[str]] = {}

    def replace(self, number: int, lines: Sequence[str]) -> None:
        """Puts other lines in the place of one."""
        self._instead[number] = list(lines)

    def add(self, number: int, lines: Sequence[str]) -> None:
        """Puts lines after one, those added first first; 0 is before the first line."""
        self._after.setdefault(number, []).extend(lines)

    def current(self, number: int) -> str:
        """The line as it is by now."""
        return self._instead.get(number, [self.lines[number - 1]])[-1]

    def comments(self, number: int) -> list[str]:
        """What was put before the line so far."""
        return self._instead.get(number, [""])[:-1]

    def result(self) -> list[str]:
        """All lines."""
        text = list(self._after.get(0, []))
        for number, line in enumerate(self.lines, start=1):
            text += self._instead.get(number, [line])
            text += self._after.get(number, [])
        return text
