"""Whether a gain is told from noise: by how far runs spread, or by how they rank.

Noise is pooled over settings and taken for normal, which is what few runs can be held against.
Where there are enough of them, ranks are asked too: some runs that fell into another state make a
spread that hides what all others agree about. Of two tests one errs by chance more often than
either, so that each has half of the error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from advisor import ranks
from advisor.goal import Goal
from advisor.noise import LEVEL, Noise
from advisor.recommend.evidence import Effect
from advisor.search.ranking import Candidate, loss, signed

CLEAR = 0.005
"""Ranks are asked where all runs above all others would be less probable than this: from five of
each on."""


def effect(
    goal: Goal, gain: float, noise: Noise, one: Candidate, other: Candidate, looks: int
) -> Effect:
    """The gain of the mean of `one` over that of `other`, relatively to it, with what noise makes
    of it, where whoever looked after each run stops for a clear one, after so many of both at the
    latest."""
    new, old = one.values(goal.metric), other.values(goal.metric)
    runs = (len(new), len(old))
    chance, of_looks = noise.chance(gain, *runs), noise.chance_of_looks(gain, *runs, looks)
    if ranks.least_chance(*runs) <= CLEAR:
        ranked = ranks.chance(*([signed(goal, value) for value in values] for values in (new, old)))
        chance = min(1.0, 2.0 * min(chance, ranked))
        of_looks = min(1.0, 2.0 * min(of_looks, looks * ranked))
    bound = bound_of(goal, gain, one, other, LEVEL, partial(noise.bound_of_means, *runs))
    return Effect(gain, bound, chance, of_looks, min(runs))


def bound_of(
    goal: Goal,
    gain: float,
    one: Candidate,
    other: Candidate,
    level: float,
    by_spread: Callable[[float], float],
) -> float:
    """How much of a gain of `one` over `other` noise may have made, but for one case in
    `1 / level`: by how far runs spread, which `by_spread` tells at a level, or by their ranks."""
    by_ranks = _bound_of_ranks(goal, gain, one, other, level)
    if by_ranks is None:
        return by_spread(level)
    # Either may err: where both are asked, each may do so half as often.
    return min(by_spread(level / 2.0), by_ranks)


def _bound_of_ranks(
    goal: Goal, gain: float, one: Candidate, other: Candidate, level: float
) -> float | None:
    """How much of a gain of `one` over `other` noise may have made, but for one case in
    `2 / level`, by the ranks of their runs; `None` where these are too few."""
    new, old = one.values(goal.metric), other.values(goal.metric)
    if ranks.least_chance(len(new), len(old)) > CLEAR:
        return None
    gains = [-loss(goal, before, after) for after in new for before in old]
    found = ranks.bounds(gains, len(new), len(old), level / 2.0)
    if found is None:
        return None
    return max(0.0, gain - found[0] if gain > 0.0 else found[1] - gain)
