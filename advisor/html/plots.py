"""The plots of the page and of notebooks, as SVG, by matplotlib (the extra `report`).

They name colours as variables of CSS, so that a page decides them, by light and dark. The same
values give the same text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advisor import atomic
from advisor.data import data_path
from advisor.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MISSING = "without plots: pip install 'tunebench[report]' draws them"
WIDTH, HEIGHT = 8.4, 2.8
"""Of a plot, in inches of 72 points."""

_NAMES = ("ink", "muted", "grid", "one", "two", "three", "four", "five", "six")
# matplotlib knows no variables of CSS: each stands for one in the text that it writes.
_STANDS_FOR = {name: f"#0{place}0{place}0{place}" for place, name in enumerate(_NAMES, 1)}
INK, MUTED, GRID, ONE, TWO, THREE, FOUR, FIVE, SIX = _STANDS_FOR.values()
COLOURS = (ONE, TWO, FOUR, FIVE, SIX, THREE)
"""Of lines that stand for nothing else."""
# Any, because matplotlib's type spells out the names of all its settings.
_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "tunebench",
    "font.size": 10.0,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": GRID,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "grid.color": GRID,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


@dataclass(frozen=True)
class Plot:
    """A drawing. Notebooks show it."""

    svg: str
    """An element without colours of its own: `plot.css` has them."""

    def alone(self) -> str:
        """The drawing with its colours, as a file of its own."""
        style = f"<style>{plot_style()}</style>"
        return self.svg.replace(">", f">{style}", 1)

    def save(self, path: Path | str, *, force: bool = True) -> None:
        """Writes an SVG file. Raises as `atomic.write_text` does."""
        atomic.write_text(path, f'<?xml version="1.0" encoding="utf-8"?>\n{self.alone()}\n', force)

    def _repr_html_(self) -> str:
        return self.alone()


@dataclass(frozen=True)
class Line:
    """Values along an axis, one of several of a plot."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    colour: str = ONE
    look: str = "line"
    """`line`, `steps`, `points` or `small points`."""


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return False
    return True


def plot_style() -> str:
    """The colours of all plots."""
    return data_path("advisor", "html", "plot.css").read_text(encoding="utf-8")


def lines(
    told: Sequence[Line],
    *,
    title: str,
    x: str,
    y: str,
    bands: Sequence[tuple[float, float, float]] = (),
    names: Sequence[str] = (),
) -> Plot:
    """Lines and points over a common axis; each of `bands` is where something lies, with its low
    and high. `names` are those of the values 0, 1, 2, ..., where they stand for something else."""
    figure, axes = _begun(title)
    for low, value, high in bands:
        axes.axvspan(low, high, color=THREE, alpha=0.25, linewidth=0)
        axes.axvline(value, color=MUTED, linestyle="--", linewidth=1)
    for one in told:
        _draw(axes, one)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if names:
        axes.set_xticks(range(len(names)), names)
    axes.grid(axis="y", linewidth=0.6, color=GRID)
    axes.set_ylim(bottom=0)
    if len(told) > 1:
        _explain(axes)
    return _drawn(figure, title)


@dataclass(frozen=True)
class Tile:
    """A cell of a grid."""

    text: str
    colour: str
    strength: float
    """How much of the colour, from 0 to 1."""


def tiles(
    rows: Sequence[Sequence[Tile]],
    *,
    title: str,
    x: tuple[str, Sequence[str]],
    y: tuple[str, Sequence[str]],
    bands: Sequence[tuple[int, float, float, float]] = (),
) -> Plot:
    """A grid of cells, the first row on top, with the name and the values of both axes. Each of
    `bands` is a row, and where along it, in columns, something lies, with its low and high."""
    figure, axes = _begun(title, rows=2 * len(rows))
    for row, cells in enumerate(rows):
        for column, one in enumerate(cells):
            axes.barh(
                row, 0.96, left=column - 0.48, height=0.92, color=one.colour, alpha=one.strength
            )
            axes.text(column, row, one.text, ha="center", va="center", fontsize=9)
    for row, low, value, high in bands:
        axes.plot([low, high], [row + 0.4] * 2, color=INK, linewidth=2)
        axes.plot([value] * 2, [row - 0.46, row + 0.46], color=INK, linestyle="--", linewidth=1)
    axes.set_xticks(list(range(len(x[1]))), list(x[1]))
    axes.set_yticks(list(range(len(y[1]))), list(y[1]))
    axes.set_xlim(-0.5, len(x[1]) - 0.5)
    axes.set_ylim(len(y[1]) - 0.5, -0.5)
    axes.set_xlabel(x[0])
    axes.set_ylabel(y[0])
    return _drawn(figure, title)


def bars(
    names: Sequence[str], groups: Mapping[str, Sequence[float]], *, title: str, x: str
) -> Plot:
    """Horizontal bars by name, for each group beside one another, the first name on top."""
    figure, axes = _begun(title, rows=len(names) * max(len(groups), 1))
    thick = 0.8 / max(len(groups), 1)
    colours = (THREE, ONE, TWO) if len(groups) > 1 else (ONE,)
    for place, (label, values) in enumerate(groups.items()):
        at = [row + (place - (len(groups) - 1) / 2) * thick for row in range(len(names))]
        axes.barh(at, values, height=thick * 0.9, color=colours[place % len(colours)], label=label)
    axes.set_yticks(list(range(len(names))), list(names))
    axes.invert_yaxis()
    axes.set_xlabel(x)
    axes.grid(axis="x", linewidth=0.6, color=GRID)
    axes.set_axisbelow(True)
    if len(groups) > 1:
        _explain(axes)
    return _drawn(figure, title)


def _draw(axes: Axes, one: Line) -> None:
    if one.look in ("points", "small points"):
        size, alpha = (34.0, 1.0) if one.look == "points" else (12.0, 0.45)
        axes.scatter(
            one.x, one.y, s=size, color=one.colour, alpha=alpha, linewidths=0, label=one.label
        )
    else:
        style = "steps-post" if one.look == "steps" else "default"
        axes.plot(one.x, one.y, color=one.colour, drawstyle=style, linewidth=1.6, label=one.label)


def _explain(axes: Axes) -> None:
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.2,
        frameon=False,
        labelcolor=INK,
    )


def _begun(title: str, rows: int = 0) -> tuple[Figure, Axes]:
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError(title, None, "no matplotlib", "pip install 'tunebench[report]'") from error
    height = 0.9 + 0.21 * max(rows, 2) if rows else HEIGHT
    with matplotlib.rc_context(dict(_STYLE)):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        return figure, figure.add_subplot()


def _drawn(figure: Figure, title: str) -> Plot:
    import matplotlib

    text = StringIO()
    with matplotlib.rc_context(dict(_STYLE)):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<style type=\"text/css\">.*?</style>", "", svg, flags=re.DOTALL)
    # What nothing refers to, and would be there again in the next plot of a page.
    svg = re.sub(r' id="[A-Za-z.0-9]+_\d+"', "", svg)
    svg = re.sub(r"\n\s*", "\n", svg)
    for name, colour in _STANDS_FOR.items():
        svg = svg.replace(colour, f"var(--{name})")
    label = html.escape(title)
    return Plot(svg.replace("<svg ", f'<svg class="plot" role="img" aria-label="{label}" ', 1))
