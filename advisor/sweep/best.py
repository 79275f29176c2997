"""At which place an engine reaches its best, and which others noise does not tell from it."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.knobs import Engine
from advisor.sweep.answer import Sweep
from advisor.sweep.asked import Place


@dataclass(frozen=True)
class Best:
    """The best place of an engine by the goal's metric."""

    engine: Engine
    place: Place
    score: float
    even: tuple[Place, ...]
    """Others that noise does not tell from it."""


def best(sweep: Sweep, engine: Engine) -> Best | None:
    """The best place among those at which an engine has a score; None with fewer than two."""
    scores = {
        place: score
        for place in sweep.asked.places
        if (score := sweep.score(place, engine)) is not None
    }
    if len(scores) < 2:
        return None
    pick = max if sweep.goal.direction == "maximize" else min
    found = pick(scores, key=scores.__getitem__)
    even = (place for place in scores if place != found and _is_even(sweep, engine, found, place))
    return Best(engine, found, scores[found], tuple(even))


def _is_even(sweep: Sweep, engine: Engine, one: Place, other: Place) -> bool:
    points = [sweep.at(place, engine) for place in (one, other)]
    runs = [len(point.trials) for point in points if point is not None]
    best, score = (sweep.score(place, engine) or 0.0 for place in (one, other))
    return abs(score - best) <= sweep.noise.bound(*runs) * abs(best)
