"""Puts the summaries of the shipped scorecard and of the shipped validation into the README.

`python -m tests.support.readme_scorecard` does it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from advisor import published, validation

README = Path(__file__).parents[2] / "README.md"
SUMMARIES: Mapping[str, Callable[[], str]] = {
    "scorecard": published.shipped_summary,
    "validation": validation.shipped_summary,
}
"""What stands between the marks of each name."""


def quoted(text: str, name: str) -> str:
    """What stands between the marks."""
    begin, end = _marks(name)
    return text.split(begin, 1)[1].split(end, 1)[0].strip()


def updated(text: str, name: str) -> str:
    """The text with the shipped summary between the marks."""
    begin, end = _marks(name)
    head, rest = text.split(begin, 1)
    return f"{head}{begin}\n{SUMMARIES[name]()}\n{end}{rest.split(end, 1)[1]}"


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- {name} -->", f"<!-- /{name} -->"


if __name__ == "__main__":
    page = README.read_text(encoding="utf-8")
    for one in SUMMARIES:
        page = updated(page, one)
    README.write_text(page, encoding="utf-8")
