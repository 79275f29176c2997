"""The few elements that the page is made of. A number carries where it is stored.

Its attributes name the row: `data-table` (`trial_metric` if absent), `data-trial` (ids, its own or
those of the element around it), `data-name`, `data-key`, and `data-as` where it is taken from
several rows. `data-formula` marks what is computed from the stored question.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escaped(text: str) -> Markup:
    """Any text as HTML."""
    return text if isinstance(text, Markup) else Markup(html.escape(text))


def element(name: str, *content: str, **attributes: str) -> Markup:
    """An element; `class_` is its class, other underscores are hyphens."""
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(value)}"'
        for key, value in attributes.items()
        if value
    )
    return Markup(f"<{name}{told}>{''.join(map(escaped, content))}</{name}>")


def joined(*parts: str) -> Markup:
    """Parts one after the other."""
    return Markup("".join(map(escaped, parts)))


def code(text: str) -> Markup:
    """A name."""
    return element("code", text)


def marked(text: str) -> Markup:
    """Words with names between backticks."""
    parts = text.split("`")
    return joined(*(code(part) if place % 2 else part for place, part in enumerate(parts)))


def said(text: str) -> Markup:
    """Words whose numbers follow from stored ones: the page made anew says the same."""
    return element("span", text, class_="said")


def number(text: str, value: object, **source: str) -> Markup:
    """A stored value as people read it."""
    told = {f"data_{key}": one for key, one in source.items()}
    return element("data", text, value=str(value), **told)


def ids(trials: Iterable[str]) -> str:
    """Several trials, as `data-trial` names them."""
    return " ".join(trials)


def section(title: str, *content: str) -> Markup:
    """A part of the page; nothing where there is no content."""
    shown = [one for one in content if one]
    return element("section", element("h2", title), *shown) if shown else Markup()


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> Markup:
    """A table; its rows are cells, or whole rows of `row`. Where all but the first column are
    numbers, they go to the right."""
    lines = [one if isinstance(one, Markup) else row(one) for one in rows]
    titles = element("thead", element("tr", *(element("th", one, scope="col") for one in head)))
    style = "numbers" if numbers else ""
    whole = element("table", titles, element("tbody", *lines), class_=style)
    return element("div", whole, class_="wide")


def row(cells: Sequence[str], **attributes: str) -> Markup:
    """A row of a table."""
    return element("tr", *(element("td", cell) for cell in cells), **attributes)
