"""Which engine leads at a place, as the cells of a map tell it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from advisor.knobs import Engine
from advisor.sweep.answer import Sweep
from advisor.sweep.asked import Place

Verdict = Literal["leads", "even", "keeps", "alone", "breaks", "neither", "missing"]
"""One engine leads, noise does not tell them apart, one alone keeps the goal's limits, one alone
has runs, none that ran keeps the limits, none has runs, or the place was not visited."""


@dataclass(frozen=True)
class Cell:
    """A place of a map."""

    place: Place
    verdict: Verdict
    engine: Engine | None = None
    """The one that leads, keeps the limits alone, or has runs alone."""
    ratio: float | None = None
    """How many times what the other engine reaches, 1 or more; absent unless both have scores."""

    def text(self, titles: Mapping[str, str] | None = None) -> str:
        """In a word or two."""
        engine = (titles or {}).get(self.engine, self.engine) if self.engine else ""
        if self.verdict == "leads":
            return f"{engine} {self.ratio:.2f}x"
        if self.verdict == "even":
            return f"even {self.ratio:.2f}x"
        words = {
            "keeps": f"{engine} alone keeps limits",
            "alone": f"{engine} alone",
            "breaks": "limits broken",
            "neither": "neither",
        }
        return words.get(self.verdict, "-")


def cells(sweep: Sweep) -> list[Cell]:
    """Every place that was asked, line by line."""
    return [cell(sweep, place) for place in sweep.asked.places]


def cell(sweep: Sweep, place: Place) -> Cell:
    """What there is to say of a place."""
    points = [sweep.at(place, engine) for engine in sweep.asked.engines]
    known = [point for point in points if point is not None]
    if len(known) < len(points):
        return Cell(place, "missing")
    leader, bound = lead(sweep, place), sweep.bound(place)
    if leader is not None and bound is not None:
        engine, ratio = leader
        is_even = math.log(ratio) <= bound
        return Cell(place, "even" if is_even else "leads", None if is_even else engine, ratio)
    scored = [point.engine for point in known if sweep.score(place, point.engine) is not None]
    is_broken = any(point.broken(sweep.goal) for point in known)
    if len(scored) == 1:
        return Cell(place, "keeps" if is_broken else "alone", scored[0])
    return Cell(place, "breaks" if is_broken else "neither")


def standing(sweep: Sweep, place: Place, titles: Mapping[str, str] | None = None) -> str:
    """Which engine leads at a place, be it within noise, or why none does; empty for a sweep of one
    engine."""
    if len(sweep.asked.engines) != 2:
        return ""
    if leader := lead(sweep, place):
        return f"{(titles or {}).get(leader[0], leader[0])} {leader[1]:.2f}x"
    return cell(sweep, place).text(titles)


def lead(sweep: Sweep, place: Place) -> tuple[Engine, float] | None:
    """Which engine leads at a place, and how many times what the other reaches; None unless both
    have a score there."""
    gain = sweep.gain(place)
    if gain is None:
        return None
    return sweep.asked.engines[0 if gain > 0 else 1], math.exp(abs(gain))
