"""Which engine gets the next trial of the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from advisor.knobs import Engine

FAIR_SHARE = 0.3
"""Of two engines, the one that is behind still gets this share of the trials: it may only be badly
tuned yet."""
CLOSE = 0.05
"""Best scores this near to one another, relatively, do not name a leader."""


def next_engine(
    engines: Sequence[Engine],
    trials: Mapping[Engine, int],
    best: Mapping[Engine, float],
    maximize: bool,
) -> Engine:
    """The engine to try next, from the number of its trials and its best score so far.

    An engine below its fair share goes first, the least tried before the others; then the leader.
    Without a leader the engines take turns.
    """
    least = min(engines, key=lambda engine: trials.get(engine, 0))
    total = sum(trials.get(engine, 0) for engine in engines)
    if len(engines) == 1 or trials.get(least, 0) < FAIR_SHARE * (total + 1):
        return least
    return _leader(engines, best, maximize) or least


def _leader(
    engines: Sequence[Engine], best: Mapping[Engine, float], maximize: bool
) -> Engine | None:
    ranked = sorted(
        (engine for engine in engines if engine in best), key=lambda e: best[e], reverse=maximize
    )
    if len(ranked) < 2:
        return ranked[0] if ranked else None
    first, second = best[ranked[0]], best[ranked[1]]
    scale = max(abs(first), abs(second))
    return ranked[0] if scale > 0 and abs(first - second) / scale > CLOSE else None
