"""Shares and gains as bars, one or several under a name."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text
from textual.events import Resize
from textual.widgets import Static

from tui.bar import BAR, bar

LEAST_BAR = 6
GAP = "  "


@dataclass(frozen=True)
class Bar:
    """A number under a name: how long, what is written behind it, and in which style."""

    size: float | None
    """Without one there is the text alone."""
    text: str
    style: str = ""


class Bars(Static):
    """The longest bar takes the room that names and numbers leave; a name that leaves none stands
    above its bars."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._rows: Sequence[tuple[str, Sequence[Bar]]] = ()

    def show(self, rows: Sequence[tuple[str, Sequence[Bar]]]) -> None:
        """Draw these bars by name."""
        self._rows = rows
        self._draw()

    def on_resize(self, event: Resize) -> None:
        self._draw()

    def _draw(self) -> None:
        self.update(drawn(self._rows, self.size.width))


def drawn(rows: Sequence[tuple[str, Sequence[Bar]]], width: int) -> Text:
    """The bars in this many cells."""
    bars = [one for _, own in rows for one in own]
    most = max((one.size for one in bars if one.size is not None), default=0.0)
    names = max((len(name) for name, _ in rows), default=0)
    taken = 2 * len(GAP) + max((len(one.text) for one in bars if one.size is not None), default=0)
    stands_above = width - taken - names < LEAST_BAR
    indent = len(GAP) if stands_above else names + len(GAP)
    room = max(1, min(BAR, width - taken - (0 if stands_above else names)))
    lines = []
    for name, own in rows:
        if stands_above:
            lines.append(Text(name, no_wrap=True, overflow="ellipsis"))
        for at, one in enumerate(own):
            head = name if at == 0 and not stands_above else ""
            line = Text(f"{head:<{indent}}", no_wrap=True, overflow="ellipsis")
            if one.size is not None:
                line.append(f"{bar(one.size, most, room) or '▏':<{room}}{GAP}", style=one.style)
            lines.append(line.append(one.text))
    return Text("\n").join(lines)
