"""A map as the terminal draws it: a line per value of the second axis, each cell in the colour of
the engine that leads."""

from rich.text import Text

from tui.theme import colour
from tui.views import SweepCell, SweepGrid

GAP = "  "


def drawn_map(grid: SweepGrid, width: int, variables: dict[str, str]) -> Text:
    """The grid in so many columns; what does not fit beside the rest goes below it."""
    first = max(len(grid.corner), *(len(label) for label, _ in grid.lines))
    rooms = [
        max(len(label), *(len(line[place].text) for _, line in grid.lines))
        for place, label in enumerate(grid.labels)
    ]
    text = Text()
    for number, block in enumerate(_blocks(rooms, width - first)):
        text.append("\n\n" if number else "")
        text.append(f"{grid.corner:>{first}}", style="dim")
        for place in block:
            text.append(f"{GAP}{grid.labels[place]:<{rooms[place]}}", style="dim")
        for label, line in grid.lines:
            text.append(f"\n{label:>{first}}")
            for place in block:
                text.append(GAP)
                text.append(f"{line[place].text:<{rooms[place]}}", _style(line[place], variables))
    return text


def _blocks(rooms: list[int], width: int) -> list[list[int]]:
    """The columns, as many together as fit; one at least."""
    blocks: list[list[int]] = [[]]
    taken = 0
    for place, room in enumerate(rooms):
        taken += len(GAP) + room
        if taken > width and blocks[-1]:
            blocks.append([])
            taken = len(GAP) + room
        blocks[-1].append(place)
    return blocks


def _style(cell: SweepCell, variables: dict[str, str]) -> str:
    return colour(variables, cell.engine) if cell.engine else "dim"
