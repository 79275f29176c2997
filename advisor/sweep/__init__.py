"""Sweeps: both engines over memory, data, clients, the rate of requests or a knob, or over two of
them as a map, and where one overtakes the other."""

from advisor.sweep.answer import Point, Sweep
from advisor.sweep.asked import SECONDS, Asked, Place
from advisor.sweep.axis import LEAST_STEPS, MOST_STEPS, STEPS, Axis, parse_axes, parse_axis
from advisor.sweep.best import Best, best
from advisor.sweep.cell import Cell, cell, cells, lead, standing
from advisor.sweep.crossover import Crossover, crossovers
from advisor.sweep.stored import stored, sweeps_of
from advisor.sweep.sweep import sweep
from advisor.sweep.words import provenance, sentences, settings_of

__all__ = [
    "LEAST_STEPS",
    "MOST_STEPS",
    "SECONDS",
    "STEPS",
    "Asked",
    "Axis",
    "Best",
    "Cell",
    "Crossover",
    "Place",
    "Point",
    "Sweep",
    "best",
    "cell",
    "cells",
    "crossovers",
    "lead",
    "parse_axes",
    "parse_axis",
    "provenance",
    "sentences",
    "settings_of",
    "standing",
    "stored",
    "sweep",
    "sweeps_of",
]
