"""Tables and figures as Markdown writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from advisor import knobs
from advisor.knobs import Engine, Setting
from advisor.noise import Spread
from advisor.recommend import Column, wording

BARS = "▁▂▃▄▅▆▇█"
SPARK_WIDTH = 40
NOT_MEASURED = "-"


def sparkline(values: Sequence[float], width: int = SPARK_WIDTH) -> str:
    """Values as bars from 0 to their maximum, averaged down to `width` bars; empty for no
    values."""
    if not values:
        return ""
    count = min(width, len(values))
    edges = [i * len(values) // count for i in range(count + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    top = max(means)
    if top <= 0:
        return BARS[0] * count
    return "".join(BARS[min(int(mean / top * len(BARS)), len(BARS) - 1)] for mean in means)


def spread(column: Column, name: str) -> str:
    """A metric of a column; empty if it was not measured."""
    found = column.metrics.get(name)
    return "" if found is None else spread_cell(name, found)


def spread_cell(name: str, found: Spread) -> str:
    """The median of a metric, with the lowest and highest of several runs."""
    median = wording.metric(name, found.median)
    if found.repetitions == 1:
        return median
    return f"{median} [{wording.metric(name, found.low)} to {wording.metric(name, found.high)}]"


def shown(engine: Engine, name: str, value: Setting) -> str:
    """A setting as people write it."""
    return knobs.catalogue(engine)[name].show(value)


def counted(count: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table under its head."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell(text) for text in line) + " |" for line in lines)


def cell(text: str) -> str:
    """Any text as one line that no table breaks."""
    return " ".join(text.split()).replace("|", "\\|")
