"""Which engine gets the next trial of the search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from advisor.knobs import Engine

FAIR_SHARE = 0.3
"""Of two engines, the one that is behind still gets this share of the trials: it may only be badly
tuned yet."""
CLOSE = 0.05
"""Best scores this near to one another, relatively, do not name a leader."""
LEAST_SCORES = 10
"""Looks at an engine before it may be given up."""
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
) -> Engine:
    """The engine to try next, from the number of its trials and the scores of its settings, of
    which the higher are better, while so many trials are left.

    An engine below its fair share goes first, the least tried before the others, unless all that is
    left would hardly bring it to the leader; then the leader. Without one the engines take turns.
    """
    leader = _leader(engines, scores)
    hopeful = [
        engine
        for engine in engines
        if leader in (None, engine) or not _is_behind(scores.get(engine, ()), scores[leader], left)
    ]
    least = min(hopeful, key=lambda engine: trials.get(engine, 0))
    total = sum(trials.get(engine, 0) for engine in engines)
    if len(engines) == 1 or trials.get(least, 0) < FAIR_SHARE * (total + 1):
        return least
    return leader or least


def promise(scores: Sequence[float], looks: int) -> float:
    """By how much the best of these scores is expected to rise with so many more of the same kind.

    Of n draws from a distribution whose tail is exponential, the i-th largest is ahead of the next
    by scale / i (Renyi 1953): the scale is the mean excess of the largest over the one behind them,
    and the largest of n + m draws is ahead of that of n by the scale times the sum of 1 / i from
    n + 1 to n + m. Shorter tails gain less.
    """
    ordered = sorted(scores, reverse=True)
    scale = fmean(ordered[:TAIL]) - ordered[TAIL]
    return scale * math.log((len(ordered) + looks) / len(ordered))


def _is_behind(scores: Sequence[float], ahead: Sequence[float], left: int) -> bool:
    """Whether all trials that are left would hardly change who is ahead."""
    if len(scores) < LEAST_SCORES:
        return False
    return max(ahead) - max(scores) > SURE * promise(scores, left)


def _leader(engines: Sequence[Engine], scores: Mapping[Engine, Sequence[float]]) -> Engine | None:
    best = {engine: max(scores[engine]) for engine in engines if scores.get(engine)}
    ranked = sorted(best, key=lambda engine: best[engine], reverse=True)
    if len(ranked) < 2:
        return ranked[0] if ranked else None
    first, second = best[ranked[0]], best[ranked[1]]
    scale = max(abs(first), abs(second))
    return ranked[0] if scale > 0 and abs(first - second) / scale > CLOSE else None
