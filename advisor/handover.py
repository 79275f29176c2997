"""From a study to the user's hands: its advice, the product's file, and the reports beside it."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

from advisor import dialects, html, imports
from advisor.atomic import write_text
from advisor.errors import InputError
from advisor.evidence import Evidence
from advisor.files import exists, is_file
from advisor.knobs import Engine
from advisor.recommend import Recommendation, recommend, recommend_member
from advisor.report import begins_with, is_report_of, markdown
from advisor.robust import Robustness, advised
from advisor.search import Study
from advisor.store import Store
from advisor.verify import decided, known_errors

REPORT = "report"
"""What the reports beside a file are called, unless another study has left its own there."""
MARKDOWN, HTML = ".md", ".html"


def advice_for(
    study: Study,
    dialect: str | None,
    current: Path | None = None,
    *,
    measure: bool = True,
    member: int | None = None,
    on_other_engine: Callable[[Engine, Recommendation], None] = lambda engine, best: None,
) -> Recommendation:
    """The recommendation of a study, as a real engine left it where one was asked at its end. A
    dialect of the engine that did not win gets the best of the engine that it belongs to, and
    `on_other_engine` is told of that engine and of the best. The dialect of the user's own file
    goes before the engine's usual one. A `member` of the study's front, by its number, is taken as
    it was measured. Raises `InputError` for a number that is none, and for a dialect of another
    engine than the member's."""
    asked = dialect or own_dialect(study, current)
    known = known_errors(study.profile, study.question.clock, Store(study.results))
    if member is not None:
        advice = recommend_member(study, member, dialect=asked, known=known)
        if dialect is not None and dialects.engine_of(dialect) != advice.engine:
            found = f"{dialect}, and number {member} of the front is of {advice.engine}"
            raise InputError("--to", None, found, ", ".join(dialects.for_engine(advice.engine)))
        return advice
    engine = None if dialect is None else dialects.engine_of(dialect)
    if measure and engine is not None:
        # Whichever engine leads by then, the file that was asked for is proven.
        recommend(study, engine=engine, dialect=asked, known=known)
    best = recommend(study, measure=measure and engine is None, dialect=asked, known=known)
    if engine is None or engine == best.engine:
        return decided(study, best)
    on_other_engine(engine, best)
    other = recommend(study, measure=False, engine=engine, dialect=asked, known=known)
    return decided(study, other)


def usual_dialect(advice: Recommendation, current: Path | None, path: Path | None) -> str:
    """The dialect when none was asked for: that of the user's own file, else one whose file is
    called as the user calls it, else the one that the advice has proven."""
    spoken = sorted(dialects.for_engine(advice.engine), key=lambda name: name != advice.dialect)
    if current is not None:
        own = imports.read(current).dialect(advice.engine)
        if own in spoken:
            return own
    for file in filter(None, (path, current)):
        for name in spoken:
            usual = Path(dialects.file_name(name))
            if usual.name == file.name or (usual.suffix and usual.suffix == file.suffix):
                return name
    return spoken[0]


def own_file(study: Study) -> Path | None:
    """The file that a stored study started from, if it is still there."""
    source = study.question.source
    return source if source is not None and exists(source) else None


def own_dialect(study: Study, current: Path | None) -> str | None:
    """The dialect of the user's own file about an engine of the study."""
    if current is None:
        return None
    found = imports.read(current)
    spoken = (found.dialect(engine) for engine in study.engines if engine in found.settings)
    return next((dialect for dialect in spoken if dialect), None)


def reports_beside(path: Path, study: str) -> list[Path]:
    """Where the reports of a written file go, as Markdown and as HTML: `report.md` and
    `report.html` beside it, or names after the file's where one of these is taken by something else
    than a report of this study."""
    usual = [path.with_name(f"{REPORT}{suffix}") for suffix in (MARKDOWN, HTML)]
    if all(path != one and (not exists(one) or _is_report_of(study, one)) for one in usual):
        return usual
    return [path.with_name(f"{path.name}.{one.name}") for one in usual]


def write_files(
    advice: Recommendation,
    dialect: str,
    path: Path,
    current: Path | None,
    *,
    robust: Robustness | None = None,
    force: bool,
) -> list[Path]:
    """The product's file, which is the user's own one with the changes where that is of the
    product, and the reports of the study beside it. The file is of the robust choice where there is
    a `robust` of the advice. Raises `InputError` for a file that is there, without `force`."""
    reports = reports_beside(path, advice.study)
    for report in reports:
        if exists(report) and not force:
            found = "a file that exists already"
            raise InputError(report, None, found, "another folder, or --force")
    written = advice if robust is None else advised(advice, robust)
    write_text(path, written.write(dialect, current), force=force)
    if current is not None and is_file(current):
        # It may hold the passwords of the file that it was made from.
        path.chmod(stat.S_IMODE(current.stat().st_mode) | stat.S_IWUSR)
    for report in reports:
        write_report(advice, report, force=force)
    return [path, *reports]


def write_report(advice: Recommendation, path: Path, *, force: bool) -> None:
    """The report of a stored study: as Markdown where the file's name ends in `.md`, else as one
    page of HTML. Raises `InputError` for an existing file without `force`."""
    write_text(path, report_text(advice, is_markdown=path.suffix == MARKDOWN), force=force)


def report_text(advice: Recommendation, *, is_markdown: bool) -> str:
    """The text of a report."""
    found = Evidence.of(advice, Store(advice.results))
    return markdown(found) if is_markdown else html.page(found)


def _is_report_of(study: str, path: Path) -> bool:
    return is_report_of(study, path) or begins_with(path, html.title(study))
