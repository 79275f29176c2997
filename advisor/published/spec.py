"""A run of an experiment as a spec for the core: how far it shrinks, and how long it is then.

Rates stay, so time shrinks with the data: an hour becomes an hour times the factor, and each byte
is overwritten as often as it was in the post, unless the run meets one of the bounds that keep it
affordable.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from advisor import knobs, scale
from advisor.hardware import Hardware
from advisor.published.experiment import Experiment, Run
from advisor.scale import MIB, FullRun, InUnits, Scale, ScaledRun, Simulated
from advisor.spec import Length

SEED = 1
INTERVALS = 100
INTERVAL_MS = 100
"""For runs whose length is given in operations."""
SHORTEST_INTERVAL_MS = 10
SHORTEST_S = 2.0
"""A disk array carries out some hundred operations per second and flushes rarely at that rate: in
fewer seconds a run would see no writes at all. Where more happens, its operations end it."""

MOST_OPERATIONS = 300_000
"""A timed run ends after its scaled part of the post's operations if its seconds last longer; so
does the warm-up of one that the post warmed up, if it is not steady before. Both bounds lie between
the least of the experiment and this: more are not affordable."""
LOAD_BATCH_ROWS = 64
"""Rows of one load batch: a thousand would not fit into a redo log of a mebibyte."""

LOAD_BYTES_PER_S = 20e6
OPERATIONS_PER_S = 60e3
"""What one core of a laptop simulates, about: they turn a budget of seconds into a size. They are
constants, so that the size, and with it the result, is the same on every machine."""
SMALLEST_DATA = 16 * MIB
"""Below this a cache of a tenth of the data holds too few pages to say anything."""


@dataclass(frozen=True)
class Budget:
    """Seconds of this machine's time that one run should take, about."""

    seconds: float


def choose_factor(experiment: Experiment, budget: Budget) -> float:
    """Data of the replay / data of the post: as much as the budget allows, in whole units.

    What grows from nothing is halved instead. Pages of a B-tree that fill together split together,
    so the space of its indexes goes up in waves, one for each doubling of the rows: at any other
    part of the rows they would be up to a third emptier or fuller than those of the post.
    """
    if not experiment.shrinks:
        return 1.0
    wanted = budget.seconds * LOAD_BYTES_PER_S / experiment.data_bytes
    least = SMALLEST_DATA / experiment.data_bytes
    if experiment.sized_by is None:
        wanted = min(1.0, wanted, budget.seconds * OPERATIONS_PER_S / experiment.operations)
        halvings = min(math.ceil(-math.log2(wanted)), math.floor(-math.log2(min(1.0, least))))
        return 2.0**-halvings
    wanted = min(1.0, max(wanted, least))
    return max(1, round(experiment.units * wanted)) / experiment.units


def scaled_run(experiment: Experiment, run: Run, factor: float, machine: Hardware) -> ScaledRun:
    """The spec of one run. Raises `InputError` for settings that the engine does not accept."""
    configuration = run.configuration
    given = knobs.check(configuration.engine, configuration.settings, configuration.name)
    sized = experiment.sized_by is not None
    full = FullRun(
        engine=configuration.engine,
        settings={**knobs.defaults(configuration.engine), **given},
        workload=InUnits(
            {**experiment.workload, **run.workload}, experiment.sized_by, experiment.units
        ),
        clients=run.clients,
        seed=SEED,
        clock=Simulated(machine, configuration.page_cache_bytes),
        length=_length(experiment, run, Scale(factor)),
        load_batch_rows=LOAD_BATCH_ROWS if sized and experiment.shrinks else None,
        binary_log=experiment.binary_log if run.keeps_binary_log else None,
    )
    return scale.scaled_run(full, Scale(factor))


def _length(experiment: Experiment, run: Run, small: Scale) -> Length:
    """How long the run is at scale."""
    phase, length = run.phase, Length(interval_ms=INTERVAL_MS)
    if phase.warmup_s:
        most = _bound(experiment, phase.warmup_s, run, small.factor)
        length["warmup"] = {"most_operations": most}
    if phase.operations is not None:
        length["operations"] = small.size(phase.operations)
    elif phase.seconds is not None:
        seconds = max(SHORTEST_S, phase.seconds * small.factor)
        interval_ms = round(1000 * seconds / INTERVALS)
        length["seconds"] = seconds
        length["operations"] = _bound(experiment, phase.seconds, run, small.factor)
        length["interval_ms"] = max(SHORTEST_INTERVAL_MS, interval_ms)
    return length


def _bound(experiment: Experiment, seconds: float, run: Run, factor: float) -> int:
    """Most operations of these seconds of a run."""
    share = seconds / (run.phase.warmup_s + (run.phase.seconds or 0.0))
    scaled = round(experiment.operations * share * factor)
    return min(MOST_OPERATIONS, max(experiment.least_operations, scaled))
