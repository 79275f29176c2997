"""Which engine gets the next trial of the search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from advisor.knobs import Engine

WANTED_SHARE = 0.5
"""What the engine gets whose file the user asked for, however far it is behind."""
FAIR_SHARE = 0.3
"""Of two engines, the one that is behind still gets this share of the trials: it may only be badly
tuned yet."""
CLOSE = 0.05
"""Best scores this near to one another, relatively, do not name a leader."""
LEAST_SCORES = 10
"""Settings of an engine that the search proposed, before it may be given up: its defaults and the
rules of thumb may all be alike, and say little of what it can do."""
TAIL = 4
"""How many of the best scores tell how far apart the best ones lie."""
SURE = 2.0
"""An engine is given up when it is behind by more than so many times what it may still gain: a
search that learns gains more than random draws."""


def next_engine(
    engines: Sequence[Engine],
    trials: Mapping[Engine, int],
    scores: Mapping[Engine, Sequence[float]],
    left: int,
    *,
    searched: Mapping[Engine, Sequence[float]],
    noise: float,
    wanted: Engine | None = None,
) -> Engine:
    """The engine to try next, from the number of its trials and the scores of its settings, of
    which the higher are better, while so many trials are left. Of these scores `searched` has those
    of settings that the search proposed; `noise` is the relative standard deviation of one.

    An engine below its share goes first, the least tried before the others, unless all that is left
    would hardly bring it to the leader and nobody `wanted` it; then the leader. Without one the
    engines take turns.
    """
    leader = _leader(engines, scores)
    hopeful = [
        engine
        for engine in engines
        if leader in (None, engine)
        or engine == wanted
        or not _is_behind(
            scores.get(engine, ()), searched.get(engine, ()), scores[leader], left, noise
        )
    ]
    hopeful.sort(key=lambda engine: trials.get(engine, 0))
    total = sum(trials.get(engine, 0) for engine in engines)
    for engine in hopeful:
        share = WANTED_SHARE if engine == wanted else FAIR_SHARE
        if len(engines) == 1 or trials.get(engine, 0) < share * (total + 1):
            return engine
    return leader or hopeful[0]


def promise(scores: Sequence[float], looks: int, noise: float) -> float:
    """By how much the best of these scores is expected to rise with so many more of the same kind.

    Of n draws from a distribution whose tail is exponential, the i-th largest is ahead of the next
    by scale / i (Renyi 1953): the scale is the mean excess of the largest over the one behind them,
    and the largest of n + m draws is ahead of that of n by the scale times the sum of 1 / i from
    n + 1 to n + m. Shorter tails gain less. Scores that lie nearer to one another than their noise
    do not tell that there is nothing to gain.
    """
    ordered = sorted(scores, reverse=True)
    scale = max(fmean(ordered[:TAIL]) - ordered[TAIL], noise * abs(ordered[0]))
    return scale * math.log((len(ordered) + looks) / len(ordered))


def _is_behind(
    scores: Sequence[float],
    searched: Sequence[float],
    ahead: Sequence[float],
    left: int,
    noise: float,
) -> bool:
    """Whether all trials that are left would hardly change who is ahead."""
    if len(searched) < LEAST_SCORES:
        return False
    return max(ahead) - max(scores) > SURE * promise(searched, left, noise)


def _leader(engines: Sequence[Engine], scores: Mapping[Engine, Sequence[float]]) -> Engine | None:
    best = {engine: max(scores[engine]) for engine in engines if scores.get(engine)}
    ranked = sorted(best, key=lambda engine: best[engine], reverse=True)
    if len(ranked) < 2:
        return ranked[0] if ranked else None
    first, second = best[ranked[0]], best[ranked[1]]
    scale = max(abs(first), abs(second))
    return ranked[0] if scale > 0 and abs(first - second) / scale > CLOSE else None
