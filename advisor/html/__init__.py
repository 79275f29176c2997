"""The report as one HTML page: the answer, then the evidence. It needs no network and no script.

`page` is made of what a study has stored, so that the same results give the same page.
"""

from __future__ import annotations

from advisor.data import data_path
from advisor.evidence import Evidence
from advisor.html import answer, background, charts, wear
from advisor.html import sweep as swept
from advisor.html.element import Markup, element, escaped, joined, section
from advisor.html.plots import MISSING, Plot, can_draw, plot_style
from advisor.sweep import Sweep

__all__ = ["Plot", "can_draw", "fragment", "page", "sweep_page", "sweep_title", "title"]

# Whoever opens the page can see that it asks for nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(found: Evidence) -> str:
    """The whole page; without matplotlib it has tables alone and says so."""
    draws = can_draw()
    body = joined(
        answer.head(found),
        _without_plots(),
        answer.changes(found, _figure(charts.gains(found)) if draws else Markup()),
        answer.comparison(found),
        answer.front(found, _figure(charts.front(found)) if draws else Markup()),
        wear.endurance(found),
        background.verified(found),
        background.robust(found),
        *(swept.within(one, _sweep_drawn(one)) for one in found.sweeps),
        _history(found) if draws else Markup(),
        background.importance(found, _figure(charts.importance(found)) if draws else Markup()),
        background.latency(found, _figure(charts.latency(found)) if draws else Markup()),
        background.written(found, _figure(charts.written(found)) if draws else Markup()),
        _over_time(found) if draws else Markup(),
        answer.memory(found),
        answer.dropped(found),
        answer.apply(found),
        background.provenance(found),
        background.limits(found),
        background.trials(found),
    )
    return _document(title(found.advice.study), body)


def sweep_page(found: Sweep) -> str:
    """The page of a sweep; without matplotlib it has its table alone and says so."""
    body = swept.body(found, joined(_without_plots(), _sweep_drawn(found)))
    return _document(sweep_title(found.asked.name), body)


def _sweep_drawn(found: Sweep) -> Markup:
    if not can_draw() or not any(point.trials for point in found.points):
        return Markup()
    return element("figure", Markup(swept.plot(found).svg), swept.caption(found))


def _without_plots() -> Markup:
    told = element("p", MISSING.capitalize(), ".", class_="note")
    return Markup() if can_draw() else told


def _document(first_line: str, body: Markup) -> str:
    style = data_path("advisor", "html", "page.css").read_text(encoding="utf-8")
    return (
        f"{first_line}\n"
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{style}{plot_style()}</style></head>\n"
        f"{element('body', element('main', body))}</html>\n"
    )


def title(study: str) -> str:
    """The first line of the page of a study."""
    return _titled(f"Tuning report: {' '.join(study.split())}")


def sweep_title(name: str) -> str:
    """The first line of the page of a sweep."""
    return _titled(f"Sweep: {' '.join(name.split())}")


def _titled(text: str) -> str:
    return f'<!doctype html><html lang="en"><head><title>{escaped(text)}</title>'


def fragment(found: Evidence) -> str:
    """The answer alone, to stand in a page of others."""
    return element(
        "div", answer.head(found), answer.changes(found, Markup()), answer.comparison(found)
    )


def _history(found: Evidence) -> Markup:
    what = "Large points are of the size that decides; a smaller copy is for the search alone."
    return section("History of the search", _figure(charts.history(found), what))


def _over_time(found: Evidence) -> Markup:
    drawn = [_figure(charts.over_time(found, metric)) for metric in charts.OVER_TIME]
    return section("Over the run", *drawn, _figure(charts.shape(found)))


def _figure(plot: Plot | None, what: str = "") -> Markup:
    if plot is None:
        return Markup()
    caption = element("figcaption", what) if what else ""
    return element("figure", Markup(plot.svg), caption)
