"""Sweeps: both engines over memory, data, clients or a knob, and where one overtakes the other."""

from advisor.sweep.axis import LEAST_STEPS, MOST_STEPS, STEPS, Axis, parse_axis
from advisor.sweep.crossover import Crossover, crossovers
from advisor.sweep.stored import stored
from advisor.sweep.sweep import Asked, Point, Sweep, sweep
from advisor.sweep.words import lead, provenance, sentences, settings_of

__all__ = [
    "LEAST_STEPS",
    "MOST_STEPS",
    "STEPS",
    "Asked",
    "Axis",
    "Crossover",
    "Point",
    "Sweep",
    "crossovers",
    "lead",
    "parse_axis",
    "provenance",
    "sentences",
    "settings_of",
    "stored",
    "sweep",
]
