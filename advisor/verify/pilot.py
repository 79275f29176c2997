"""How large and how long the runs of a verification are: what small ones tell of this machine.

Work between two settled states pays all that it leaves to compact, as no work does that lasts. So a
burst on much data says little of what lasts (docs/scale.md has an example), and where the base of
comparison, or what it is asked about, leaves much, the data of a run is the smaller and its work
the longer. So it is where level 0 of an LSM would fill but once: whether it does in one run more or
less is chance, and decides what that run writes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from advisor import engines
from advisor.errors import WorkError
from advisor.evaluate import WARMUP_PART, Setup
from advisor.scale import MIB
from advisor.trial import Trial
from advisor.verify.contenders import Contender, tried

PILOT_BYTES = 48 * MIB
"""Data of the runs that tell how fast this machine loads, works and settles."""
PILOT_SECONDS = 1.0
SETTLED_SECONDS = 2.0
"""Work of those that settle, at the rate of the base."""
SMALLEST_BYTES = 64 * MIB
LARGEST_BYTES = 8 * 1024 * MIB
LOAD_PART = 0.6
"""Of the time of a run that may pass before it is measured."""
SECONDS = (3.0, 30.0)
"""Shortest and longest measured phase of a base of comparison where little is left to compact."""
PHASES = 1 + WARMUP_PART
"""What is measured stands behind a warm-up of half as much."""
MOST_DEBT = 0.2
"""Time of settling behind the work, as a part of that of the work, where the data may be so small.
It does not grow with the work for ever: what an engine may owe is a part of its data."""

CYCLES = 3
"""Pieces of background work of the largest kind in a run, where the data may be so small."""


@dataclass(frozen=True)
class Pilot:
    """What small runs of the base of comparison tell of this machine."""

    start_s: float
    """Seconds that a run takes beside its phases."""
    per_byte_s: float
    """Seconds in which a byte of data is loaded and settled."""
    ops_per_s: float
    """Settling left out."""
    ops_per_byte: float = 0.0
    """Of data, that a run makes for its debt to be no more than `MOST_DEBT` and its background work
    to come to `CYCLES`."""

    def takes_s(self, data_bytes: float, work_s: float) -> float:
        """Seconds of a run on so much data that works for so long, from its start on."""
        return self.start_s + data_bytes * self.per_byte_s + PHASES * work_s

    def sized(
        self,
        run_s: float,
        data_bytes: int | None,
        seconds: float | None,
        most_bytes: float = LARGEST_BYTES,
    ) -> tuple[float, float]:
        """Bytes of data, and seconds of work, of runs that take `run_s` without their start. What
        is given stays; other data is no more than `most_bytes`, but for the least that there is."""
        low, high = SECONDS
        work_s = seconds or min(high, max(low, (1 - LOAD_PART) * run_s / PHASES))
        if seconds is None:
            work_per_byte_s = self.ops_per_byte / self.ops_per_s
            data = run_s / (self.per_byte_s + PHASES * work_per_byte_s)
            data = data_bytes or max(float(SMALLEST_BYTES), data)
            in_time_s = (run_s - data * self.per_byte_s) / PHASES
            work_s = max(work_s, min(data * work_per_byte_s, in_time_s))
        if data_bytes is not None:
            return data_bytes, work_s
        of_time = max(0.0, run_s - PHASES * work_s) / self.per_byte_s
        return max(SMALLEST_BYTES, min(of_time, most_bytes, LARGEST_BYTES)), work_s


def pilot(
    base: Contender, asked: Sequence[Contender], setup: Setup, seed: int, most_s: float
) -> Pilot:
    """Runs the base of comparison in the window of a setup, and then it and what it is `asked`
    about from settled to settled, each for `most_s` at most. Raises `WorkError` if the base does
    not run, or not so soon."""

    def run(one: Contender, setup: Setup) -> Trial:
        return tried(one, setup, seed, most_wall_seconds=most_s)

    window = _finished(base, run(base, setup))
    after = math.fsum(
        interval["seconds"] for interval in window.intervals if interval["phase"] != "load"
    )
    ended = max((interval["t_s"] for interval in window.intervals), default=0.0)
    rate, size = window.metrics["ops_per_s"], setup.scale.size(setup.profile.data_bytes)
    operations = max(1, round(rate * SETTLED_SECONDS))
    settling = replace(setup, operations=operations, seconds=10 * SETTLED_SECONDS)
    settled = [(base, _finished(base, run(base, settling)))]
    settled += [(one, trial) for one in asked if (trial := run(one, settling)).finished]
    needed = [ops_per_byte(trial.owed, trial.operations / size) for _, trial in settled]
    needed += [in_cycles(one, trial, setup.profile.data_bytes) for one, trial in settled]
    return Pilot(
        start_s=max(0.0, window.wall_seconds - ended),
        per_byte_s=max(0.01, ended - after) / size,
        ops_per_s=rate,
        ops_per_byte=max(needed),
    )


def ops_per_byte(debt: float, made: float) -> float:
    """Operations per byte that owe `MOST_DEBT` of their time where so many `made` owe `debt`: what
    is owed is as much for fewer, down to those that fill level 0 once."""
    return made * debt / MOST_DEBT


def in_cycles(one: Contender, trial: Trial, data_bytes: int) -> float:
    """Operations per byte of data that write `CYCLES` times what the background takes in at once,
    for settings at the full size of `data_bytes` and a trial of them; 0 where none writes."""
    written, amplification = (trial.metrics.get(name) for name in ("write_kb_per_op", "write_amp"))
    if not written or not amplification:
        return 0.0
    rows_per_op = written * 1024 / amplification
    return CYCLES * engines.of(one.engine).cycle_bytes(one.settings) / (rows_per_op * data_bytes)


def _finished(base: Contender, trial: Trial) -> Trial:
    if not trial.finished:
        raise WorkError(f"{base.name}: {trial.error or trial.outcome}")
    return trial
