"""Robustness: what a study recommends, and its rivals, at the neighbours of what was asked."""

from advisor.robust.advice import advised
from advisor.robust.mixes import RADIUS, Mix, corner, divergence, mixes
from advisor.robust.neighbours import Neighbour, longer, neighbours
from advisor.robust.outcome import MOST_LOSS, Robustness
from advisor.robust.robustness import RUNS, robust
from advisor.robust.stored import newest
from advisor.robust.tried import Tried
from advisor.robust.words import cell, head, sentences, worst_cell

__all__ = [
    "MOST_LOSS",
    "RADIUS",
    "RUNS",
    "Mix",
    "Neighbour",
    "Robustness",
    "Tried",
    "advised",
    "cell",
    "corner",
    "divergence",
    "head",
    "longer",
    "mixes",
    "neighbours",
    "newest",
    "robust",
    "sentences",
    "worst_cell",
]
