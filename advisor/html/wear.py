"""What the settings do to the drive, on the page."""

from __future__ import annotations

from advisor.evidence import Evidence
from advisor.html.element import Markup, element, ids, number, said, section, table
from advisor.recommend import ENDURANCE_TITLES, Wear, wear_cells


def endurance(found: Evidence) -> Markup:
    """Bytes a day, drive writes per day and years of all that is compared, or why there are
    none."""
    wear = found.wear
    if wear is None:
        return Markup()
    if not wear.rows:
        told = element("p", said(f"Not told: {wear.why_not}."), class_="note")
        return section("Endurance of the drive", told)
    titles = ("", "engine", *ENDURANCE_TITLES.values())
    rows = [(said(one.title), one.engine, *_figures(one)) for one in wear.rows]
    how = element("p", said(f"Medians, {wear.how}."), class_="note")
    return section("Endurance of the drive", table(titles, rows, numbers=True), how)


def _figures(one: Wear) -> list[Markup]:
    trials = ids(one.trials)
    return [
        number(
            shown,
            one.figures[name],
            table="endurance",
            trial=trials,
            name=name,
            **{"as": "median"},
        )
        for name, shown in zip(ENDURANCE_TITLES, wear_cells(one), strict=True)
    ]
