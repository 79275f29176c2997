"""Which engine leads at a place, as the cells of a map tell it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from advisor.knobs import Engine
from advisor.sweep.answer import Sweep
from advisor.sweep.asked import Place

Verdict = Literal["leads", "even", "alone", "neither", "missing"]
"""One engine leads, noise does not tell them apart, one alone has runs, none has, or the place was
not visited."""


@dataclass(frozen=True)
class Cell:
    """A place of a map."""

    place: Place
    verdict: Verdict
    engine: Engine | None = None
    """The one that leads, or has runs alone."""
    ratio: float | None = None
    """How many times what the other engine reaches, 1 or more; absent unless both have runs."""

    def text(self, titles: Mapping[str, str] | None = None) -> str:
        """In a word or two."""
        engine = (titles or {}).get(self.engine, self.engine) if self.engine else ""
        if self.verdict == "leads":
            return f"{engine} {self.ratio:.2f}x"
        if self.verdict == "even":
            return f"even {self.ratio:.2f}x"
        return {"alone": f"{engine} alone", "neither": "neither"}.get(self.verdict, "-")


def cells(sweep: Sweep) -> list[Cell]:
    """Every place that was asked, line by line."""
    bound = sweep.bound
    return [_cell(sweep, place, bound) for place in sweep.asked.places]


def _cell(sweep: Sweep, place: Place, bound: float) -> Cell:
    engines = sweep.asked.engines
    if any(sweep.at(place, engine) is None for engine in engines):
        return Cell(place, "missing")
    leader = lead(sweep, place)
    if leader is not None:
        engine, ratio = leader
        is_even = math.log(ratio) <= bound
        return Cell(place, "even" if is_even else "leads", None if is_even else engine, ratio)
    ran = [engine for engine in engines if sweep.score(place, engine) is not None]
    return Cell(place, "alone", ran[0]) if len(ran) == 1 else Cell(place, "neither")


def lead(sweep: Sweep, place: Place) -> tuple[Engine, float] | None:
    """Which engine leads at a place, and how many times what the other reaches; None unless both
    were measured there."""
    gain = sweep.gain(place)
    if gain is None:
        return None
    return sweep.asked.engines[0 if gain > 0 else 1], math.exp(abs(gain))
