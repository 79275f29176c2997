"""The report of a recommendation in Markdown: what was asked, what was measured and how, what to
change and what each change buys, and where the numbers end."""

from __future__ import annotations

from pathlib import Path

from advisor.evidence import Evidence
from advisor.report import answer, background
from advisor.report.answer import export_command
from advisor.report.markdown import SPARK_WIDTH, cell, sparkline

__all__ = [
    "SPARK_WIDTH",
    "begins_with",
    "export_command",
    "is_report_of",
    "markdown",
    "sparkline",
]


def markdown(found: Evidence) -> str:
    """The report as text."""
    r = found.advice
    sections = (
        answer.head(r),
        background.question(found),
        background.method(found),
        answer.comparison(r),
        answer.front(r),
        background.verified(found),
        background.robust(found),
        background.wear(found),
        *map(background.swept, found.sweeps),
        answer.changes(r),
        answer.memory(r),
        answer.dropped(r),
        answer.rebuilds(r),
        answer.apply(r),
        background.history(found),
        background.importance(found),
        background.latency(found),
        background.written(found),
        background.shape(found),
        background.limits(r),
        background.agreement(r),
        background.trials(r),
    )
    return "\n\n".join([_title(r.study), *(section for section in sections if section)]) + "\n"


def is_report_of(study: str, path: Path) -> bool:
    """Whether a file is a report of the study of this name."""
    return begins_with(path, _title(study))


def begins_with(path: Path, line: str) -> bool:
    """Whether this is the first line of a file."""
    line += "\n"
    try:
        if not path.is_file():
            return False
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline(len(line)) == line
    except OSError:
        return False


def _title(study: str) -> str:
    return f"# Tuning report: {cell(study)}"
