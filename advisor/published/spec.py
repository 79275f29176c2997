"""A run of an experiment as a spec for the core: everything that is a size shrinks by one factor.

Rates stay, so time shrinks with the data: an hour becomes an hour times the factor, and each byte
is overwritten as often as it was in the post, unless the run meets one of the bounds that keep it
affordable.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from advisor import knobs
from advisor.core import Spec
from advisor.hardware import Hardware
from advisor.published.experiment import Experiment, Run
from advisor.scale import MIB, Scale, batch_bytes
from advisor.workload import kinds

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
SMALLEST_BINLOG = MIB
SMALLEST_DATA = 16 * MIB
"""Below this a cache of a tenth of the data holds too few pages to say anything."""


@dataclass(frozen=True)
class Budget:
    """Seconds of this machine's time that one run should take, about."""

    seconds: float


@dataclass(frozen=True)
class ScaledRun:
    """A spec, and in which respects it is unlike the full size."""

    spec: Spec
    notes: tuple[str, ...]


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
    scale = Scale(factor)
    engine = run.configuration.engine
    given = knobs.check(engine, run.configuration.settings, run.configuration.name)
    settings = scale.settings(engine, {**knobs.defaults(engine), **given})
    workload = {**experiment.workload, **run.workload}
    if experiment.sized_by is not None:
        workload[experiment.sized_by] = scale.size(experiment.units)
        if experiment.shrinks:
            workload["load_batch_rows"] = LOAD_BATCH_ROWS
            if "stands_for" in kinds()[workload["kind"]].parameters:
                workload["stands_for"] = 1 / factor
    spec: Spec = {
        "engine": engine,
        "options": dict(settings.values),
        "workload": workload,
        "clients": run.clients,
        "seed": SEED,
        "interval_ms": INTERVAL_MS,
        "clock": "simulated",
        "hardware": machine.to_spec(
            factor, run.configuration.page_cache_bytes, batch_bytes(engine, settings.values)
        ),
    }
    if run.phase.warmup_s:
        spec["warmup"] = {"most_operations": _bound(experiment, run.phase.warmup_s, run, factor)}
    if experiment.binary_log is not None:
        size = max(SMALLEST_BINLOG, scale.size(experiment.binary_log.max_binlog_size))
        spec["binary_log"] = {**asdict(experiment.binary_log), "max_binlog_size": size}
    if run.phase.operations is not None:
        spec["operations"] = scale.size(run.phase.operations)
    elif run.phase.seconds is not None:
        seconds = max(SHORTEST_S, run.phase.seconds * factor)
        interval_ms = round(1000 * seconds / INTERVALS)
        spec |= {
            "seconds": seconds,
            "operations": _bound(experiment, run.phase.seconds, run, factor),
            "interval_ms": max(SHORTEST_INTERVAL_MS, interval_ms),
        }
    return ScaledRun(spec, settings.notes)


def _bound(experiment: Experiment, seconds: float, run: Run, factor: float) -> int:
    """Most operations of these seconds of a run."""
    share = seconds / (run.phase.warmup_s + (run.phase.seconds or 0.0))
    scaled = round(experiment.operations * share * factor)
    return min(MOST_OPERATIONS, max(experiment.least_operations, scaled))
