"""Puts the summary of the shipped scorecard into the README.

`python -m tests.support.readme_scorecard` does it.
"""

from __future__ import annotations

from pathlib import Path

from advisor.published import shipped_summary

README = Path(__file__).parents[2] / "README.md"
BEGIN, END = "<!-- scorecard -->", "<!-- /scorecard -->"


def quoted(text: str) -> str:
    """What stands between the marks."""
    return text.split(BEGIN, 1)[1].split(END, 1)[0].strip()


def updated(text: str) -> str:
    """The text with the shipped summary between the marks."""
    head, rest = text.split(BEGIN, 1)
    return f"{head}{BEGIN}\n{shipped_summary()}\n{END}{rest.split(END, 1)[1]}"


if __name__ == "__main__":
    README.write_text(updated(README.read_text(encoding="utf-8")), encoding="utf-8")
