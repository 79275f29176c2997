"""A sweep as the terminal draws it: a line per value with a bar per engine, and between two values
where one engine overtakes the other; of two axes a grid."""

from rich.text import Text
from textual.events import Resize
from textual.widgets import Static

from tui import format as fmt
from tui.bar import BAR, bar
from tui.sweep_report import highest
from tui.theme import colour
from tui.views import SweepView
from tui.widgets.map_text import drawn_map

LEAST_BAR = 4
GAP = "  "


class SweepPlot(Static):
    """Values downwards, bars to the right, as wide as there is room."""

    HELP = """\
    ## A sweep

    Each line is a value of the axis: what either engine reaches there, and by how much the better
    one leads. Where the better engine changes between two lines, a line in between says at which
    value, and between which noise may have moved it.

    A sweep over two axes is a grid: each cell says which engine leads, `even` where noise does not
    tell them apart, who ran alone, or that neither did.
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._shown: SweepView | None = None

    def show(self, view: SweepView) -> None:
        """Draw this sweep."""
        self._shown = view
        self._draw()

    def clear(self) -> None:
        """Draw nothing."""
        self._shown = None
        self.update("")

    def on_resize(self, _event: Resize) -> None:
        self._draw()

    def _draw(self) -> None:
        if self._shown is not None:
            self.update(drawn(self._shown, self.size.width, self.app.theme_variables))


def drawn(view: SweepView, width: int, variables: dict[str, str]) -> Text:
    """The sweep in so many columns."""
    if view.grid is not None:
        return drawn_map(view.grid, width, variables)
    labels = [step.label for step in view.steps]
    numbers = [
        [fmt.value(view.metric, step.medians[place]) for step in view.steps]
        for place in range(len(view.engines))
    ]
    titles = [fmt.ENGINE_TITLES.get(engine, engine) for engine in view.engines]
    first = max(len(view.axis), *map(len, labels), 0)
    seconds = [
        max(len(title), *map(len, own), 0) for title, own in zip(titles, numbers, strict=True)
    ]
    last = max((len(step.lead) for step in view.steps), default=0)
    taken = first + sum(len(GAP) + one for one in seconds) + len(view.engines) * len(GAP)
    taken += len(GAP) + max(last, len("leads")) if last else 0
    bars = max(LEAST_BAR, min(BAR, (width - taken) // max(1, len(view.engines))))
    most = highest(view)
    text = Text()
    text.append(f"{view.axis:>{first}}", style="dim")
    for title, room in zip(titles, seconds, strict=True):
        text.append(f"{GAP}{title:>{room}}{GAP}{'':{bars}}", style="dim")
    text.append(f"{GAP}leads" if last else "", style="dim")
    for at, step in enumerate(view.steps):
        text.append(f"\n{step.label:>{first}}")
        for place, engine in enumerate(view.engines):
            own = colour(variables, engine)
            text.append(f"{GAP}{numbers[place][at]:>{seconds[place]}}")
            text.append(f"{GAP}{bar(step.medians[place], most, bars):<{bars}}", style=own)
        text.append(f"{GAP}{step.lead}" if step.lead else "")
        if step.crossing:
            text.append(f"\n{'✕':>{first}}{GAP}", style="bold " + colour(variables, "best"))
            text.append(step.crossing, style=colour(variables, "best"))
    return text
