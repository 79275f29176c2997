"""Leveled compaction in closed form: which levels there are, and what is written to keep them.

After Dostoevsky (Dayan and Idreos 2018) and what of it holds for RocksDB (cost-models.md 1.4); the
formulas are in docs/analytic.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from advisor.analytic.columns import Columns, Numbers
from advisor.analytic.demand import Demand
from advisor.analytic.machine import KB
from advisor.analytic.popularity import items

OVERLAP = {"kMinOverlappingRatio": 0.36}
"""Part of the next level that a compaction between random writes rewrites, of what overlaps on
average: of picking by least overlap, measured in the memory sweep of 2018 (cost-models.md 1.4)."""
CLASSICAL_OVERLAP = 0.5
MOST_LEVELS = 6
"""Levels below level 0, of the seven."""
DISTINCT_WRITES = np.geomspace(1.0, 1e14, 400)


@dataclass(frozen=True)
class Levels:
    """Bytes of user data in the levels, the base level first; a level that is not there is 0."""

    sizes: tuple[Numbers, ...]
    last: Numbers
    """The index of the last one."""

    @property
    def count(self) -> Numbers:
        return self.last + 1.0


@dataclass(frozen=True)
class Written:
    """What jobs do for an operation, KB: bytes as they are stored, and before compression."""

    kb: Numbers
    read_kb: Numbers
    upper_raw_kb: Numbers
    last_raw_kb: Numbers

    @property
    def raw_kb(self) -> Numbers:
        return self.upper_raw_kb + self.last_raw_kb


def levels_of(s: Columns, data: Numbers) -> Levels:
    """Dynamic levels are filled from the last one up, each a T-th of the next, until one is no
    larger than the base; others from the base down."""
    base = s.number("max_bytes_for_level_base")
    t = s.number("max_bytes_for_level_multiplier")
    dynamic = s.number("level_compaction_dynamic_level_bytes") > 0
    steps = np.ceil(np.log((data / base).clip(1.0)) / np.log(t) - 1e-9)
    # Of levels of base T^i, as many as hold the data.
    grown = np.ceil(np.log(data * (t - 1.0) / base + 1.0) / np.log(t) - 1e-9) - 1.0
    last = np.where(dynamic, steps, grown).clip(0, MOST_LEVELS - 1)
    sizes, above = [], np.zeros_like(data)
    for i in range(MOST_LEVELS):
        own = np.where(dynamic, data / t ** (last - i), base * t**i)
        size = np.where(i < last, own, np.where(i == last, (data - above * ~dynamic), 0.0))
        size = np.maximum(size, np.where(i == last, 0.05 * data, 0.0))
        sizes.append(size)
        above = above + np.where(i < last, size, 0.0)
    return Levels(tuple(sizes), last)


def compacted(
    s: Columns,
    levels: Levels,
    flushed: Numbers,
    trigger: Numbers,
    merged: Distinct,
    ratio_upper: Numbers,
    ratio_last: Numbers,
) -> Written:
    """Bytes of the flush, of level 0 to the base, and of each level to the next: what comes in and
    what of the next level it rewrites (cost-models.md 1.4). Of writes to the same row the last one
    goes on, so less comes in the lower the level."""
    overlap = s.each("compaction_pri", lambda name: OVERLAP.get(str(name), CLASSICAL_OVERLAP))
    came = merged.wrote * merged.left(flushed)
    upper_raw, last_raw, read = came, np.zeros(s.count), np.zeros(s.count)
    if merged.appends >= 1.0:
        # Files that overlap nothing are moved, not written.
        zeros = np.zeros(s.count)
        return Written(came * ratio_upper / KB, zeros, came / KB, zeros)
    source = flushed * trigger
    for i, size in enumerate(levels.sizes):
        there = levels.last >= i
        is_last = levels.last == i
        ratio = np.where(is_last, ratio_last, ratio_upper)
        full = size / ratio
        rewritten = full / source.clip(1.0)
        if i > 0:
            rewritten = overlap * rewritten
        rewritten = np.minimum(rewritten, full / flushed.clip(1.0))
        volume = np.where(there, came * (1.0 + rewritten * (1.0 - merged.appends)), 0.0)
        upper_raw = upper_raw + np.where(is_last, 0.0, volume)
        last_raw = last_raw + np.where(is_last, volume, 0.0)
        read = read + volume * ratio
        source = np.where(there, full, source)
        came = np.where(there, merged.wrote * merged.left(full), came)
    kb = (upper_raw * ratio_upper + last_raw * ratio_last) / KB
    return Written(kb, read / KB, upper_raw / KB, last_raw / KB)


@dataclass(frozen=True)
class Distinct:
    """How much of what is written stays when only the last write of each row does."""

    wrote: float
    """Bytes that an operation writes."""
    held: Numbers
    """Bytes of different rows that are written in so many operations, for each of
    `DISTINCT_WRITES`."""
    appends: float
    """Part of the bytes that are appended behind all others."""
    asked: Numbers
    """Part of the gets whose row was written in the last so many operations, for each of
    `DISTINCT_WRITES`."""

    def left(self, held: Numbers) -> Numbers:
        """Of the bytes written while so many different bytes gather, the part that these are."""
        return self._at(held, self.held / (DISTINCT_WRITES * (self.wrote or 1.0)))

    def found(self, held: Numbers) -> Numbers:
        """Of the gets, the part whose row is among the last so many different bytes written."""
        return self._at(held, self.asked)

    def _at(self, held: Numbers, known: Numbers) -> Numbers:
        if not self.wrote:
            return np.zeros_like(held)
        rising = np.concatenate(([True], np.diff(self.held) > 1e-9 * self.held[-1]))
        logs = np.log(self.held[rising])
        return np.asarray(np.interp(np.log(held.clip(1.0)), logs, known[rising]))


def distinct(demand: Demand) -> Distinct:
    held, asked = np.zeros(len(DISTINCT_WRITES)), np.zeros(len(DISTINCT_WRITES))
    gets = sum(space.gets for space in demand.spaces) or 1.0
    for space in demand.spaces:
        # A row is one of its item's.
        own = items(space)
        rows = max(1.0, space.rows_per_item)
        often = space.overwrites * own.rate / rows
        there = -np.expm1(-np.outer(DISTINCT_WRITES, often))
        met = there @ (own.count * rows)
        asked += there @ (own.count * own.rate) * space.gets / gets
        held += (met + DISTINCT_WRITES * (space.inserts + space.appends)) * space.row_bytes
    wrote = demand.user_bytes
    appended = sum(space.appends * space.row_bytes for space in demand.spaces)
    return Distinct(wrote, held, appended / wrote if wrote else 0.0, asked)


def space_amp(levels: Levels) -> Numbers:
    """All levels over the last one."""
    total = sum(levels.sizes, np.zeros(1))
    last = sum(
        (np.where(levels.last == i, size, 0.0) for i, size in enumerate(levels.sizes)), np.zeros(1)
    )
    return np.asarray(total / last)


def runs_before(
    levels: Levels, flushed: Numbers, level0: Numbers, written: Distinct, stored: Numbers
) -> tuple[Numbers, Numbers]:
    """Of gets of rows that exist: how many runs each looks into in vain, and the part that the
    memtable answers. A row that was overwritten is found in the first run that has it, which for
    rows that are asked for as often as they are overwritten is seldom the last (Endure's Z1).
    `stored` are bytes on disk per byte of the levels."""
    gathered = flushed / 2.0
    answered = written.found(gathered)
    runs = level0 * (1.0 - answered)
    gathered = gathered + level0 * flushed
    # Along level 0 the part that is found grows; its mean counts.
    runs = runs - level0 * (written.found(gathered) - answered) / 2.0
    for i, size in enumerate(levels.sizes):
        runs = runs + np.where(levels.last > i, 1.0 - written.found(gathered), 0.0)
        gathered = gathered + size / stored
    return runs, answered
