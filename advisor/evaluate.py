"""One trial: a profile and settings become a spec for the core, and its report becomes a `Trial`.

Settings come in full-size units and stay so in the trial; only the spec is scaled. Settings that do
not fit the profile's memory are rejected without a run. A run that fails is a trial that failed;
what stops everything (a full disk, a cancellation) is raised, and so is what the core refuses, with
the trial that failed by it.
"""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from advisor import core as bridge
from advisor import engines, knobs, memory, scratch
from advisor.core import Cancelled, Core, DiskFull
from advisor.errors import InputError, WorkError
from advisor.goal import percentiles
from advisor.knobs import Engine, Settings
from advisor.loading import loaded_before
from advisor.memory_need import needed_parts, shortage
from advisor.price import METRIC as COST
from advisor.profile import Profile
from advisor.real import ProcessCore, RealEngine, as_run, check_disk, real_spec
from advisor.scale import (
    MIB,
    RUNGS,
    FullRun,
    InBytes,
    Ladder,
    Scale,
    ScaledRun,
    Simulated,
    carry_back,
    scaled_run,
)
from advisor.spec import Interval, Length, Report, Spec
from advisor.steadiness import backlog_notes, debt_notes, unsteady_notes
from advisor.trial import THIS_MACHINE, Clock, Problem, Role, Trial

MOST_WARMUP = 2.0
"""A run that is not steady by then is measured all the same: warm-up / measured phase, in seconds
and in operations."""
WARMUP_PART = 0.5
"""Of the operations of a run that is given work: as many before it."""
INTERVAL_MS = 100
SCALED_LOAD_BATCH_ROWS = 64
"""Batches of a load shrink with memtables and logs, but not those of real engines: sessions of a
server that write 64 neighbouring rows each at once split its pages, until they are a quarter
empty."""
SIMULATED_OPERATIONS = 100_000
"""A simulated run ends after so many operations of one statement if its virtual seconds last
longer: fast settings do not cost more time than slow ones, and chance moves rates by less than a
percent by then."""
FEWEST_OPERATIONS = 5_000
"""However many statements one of them is: the 99th percentile rests on fifty."""
FEWEST_COMMITS = 4
"""Of each client, in a simulated run whose operations are committed many at a time: the insert
benchmark commits 1,000 rows, and of slow settings every client made one commit and all had the same
rate."""
MEMORY_SLACK = 1.2
"""A run may grow this far past its scaled budget: allocators round up, and sizes are checked a
little late."""
REAL_DATA_BYTES = 1024 * MIB
"""Data of a single run of a real engine, which keeps no other time than the wall's: a minute or two
to load, and ten times what stands in memtables and caches of the usual budgets."""
LARGEST_ALONE = 128 * MIB
"""Data of a simulated run that stands alone, at most: ten seconds, loading included."""
UNSCALED_MEMORY_BYTES = 32 * MIB
"""Buffers of compactions, iterators and clients keep their size however small the data is."""


class Refused(InputError):
    """What the core does not accept, with the trial that failed by it."""

    def __init__(self, refusal: InputError, trial: Trial) -> None:
        super().__init__(refusal.source, refusal.where, refusal.found, refusal.accepted)
        self.trial = replace(trial, outcome="failed", error=str(self))


@dataclass(frozen=True)
class Setup:
    """What all trials of a study share."""

    profile: Profile
    scale: Scale
    seconds: float
    """Length of the measured phase."""
    clock: Clock = "measured"
    directory: Path | None = None
    """Where scratch folders are made; the system's folder for temporary files if absent."""
    core: Core | None = None
    """The compiled core if absent; under the real clock every run of it has its own process."""
    real: RealEngine | None = None
    """What runs under the real clock, and what a simulated run is a prediction of."""
    times: float = 1.0
    """How many times longer than `seconds` and the operations of a simulated run it lasts."""
    to_the_end: bool = False
    """Whether a simulated run lasts for all of its seconds however many operations these hold, as
    under any other clock."""
    operations: int | None = None
    """Work in place of a window, the same on each engine that is compared: so many operations
    between two settled states, behind a warm-up of half as many, on data that the settings
    themselves loaded. `seconds` is then the most that it may take."""
    empties_level0: bool = False
    """Whether such work begins with nothing in level 0 of an LSM. Else a load, a warm-up and what
    settles leave some files there, and work that writes little pays for a merge of all of them or
    for none."""
    direct_io: bool = False
    """Whether files pass the page cache by, whatever the settings say: what keeps the memory of a
    larger machine out of a run, and is no part of what is tried. Nor is what such reads take beside
    settings that have none."""


def choose_scale(profile: Profile, clock: Clock = "measured") -> Scale:
    """The scale for a profile under a clock. It does not depend on the settings tried, so that
    trials can be compared."""
    if clock == "real":
        return Scale.at_most(REAL_DATA_BYTES, profile.data_bytes)
    return Scale.choose(
        profile.data_bytes,
        {engine: knobs.defaults(engine) for engine in profile.engines},
        profile.workload.unit_bytes,
    )


def scale_of_one(profile: Profile, clock: Clock, asked: float | None) -> tuple[Scale, float]:
    """The scale of a run that stands alone, and how many times longer it lasts than one at
    `choose_scale`: the factor that was `asked` for, if one was. Else a simulated run is as large as
    those that decide in a study, unless its units make these larger than most, and asks for each
    byte as often as a look does."""
    if asked is not None:
        return Scale(asked), 1.0
    lowest = choose_scale(profile, clock)
    top = Ladder.above(lowest, profile.data_bytes, RUNGS).rungs[-1]
    if clock != "simulated" or top.size(profile.data_bytes) > LARGEST_ALONE:
        return lowest, 1.0
    return top, top.factor / lowest.factor


def problem_of(profile: Profile) -> Problem:
    """What settings are tried on, as a trial keeps it."""
    workload = profile.workload
    usual = {name: option.default for name, option in workload.info.parameters.items()}
    return Problem(
        {"kind": workload.kind, **usual, **workload.parameters},
        profile.data_bytes,
        profile.memory_bytes,
        profile.clients,
    )


def needed_memory(profile: Profile, engine: Engine, settings: Settings) -> int:
    """The sum of `needed_parts`, bytes."""
    return sum(part.bytes for part in needed_parts(profile, engine, settings))


def fits_memory(profile: Profile, engine: Engine, settings: Settings) -> bool:
    """Whether the profile's memory holds the settings."""
    return needed_memory(profile, engine, settings) <= profile.memory_bytes


def largest_cache(profile: Profile, engine: Engine, settings: Settings) -> int | None:
    """The cache that fills the profile's memory beside all else in the settings; `None` if none
    fits."""
    return memory.largest_cache(engine, settings, profile.memory_load, budget=profile.memory_bytes)


def evaluate(
    setup: Setup,
    engine: Engine,
    settings: Settings,
    *,
    seed: int,
    role: Role = "run",
    on_interval: Callable[[Interval], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    most_wall_seconds: float | None = None,
) -> Trial:
    """Tries settings once. Absent knobs take their defaults. A run that takes longer than
    `most_wall_seconds` of this machine's time is given up, and has failed.

    Raises `InputError` for settings that the engine does not accept or a folder that cannot be
    used, `Refused` for what the core does not accept, `DiskFull`, and `Cancelled`.
    """
    core = setup.core or _core_of(setup.clock)
    trial = begun(setup, engine, settings, seed=seed, role=role, core=core)
    if trial.budget_bytes is not None and trial.budget_bytes > setup.profile.memory_bytes:
        error = shortage(setup.profile, engine, trial.settings)
        return replace(trial, outcome="rejected", error=error)
    patience = _Patience(most_wall_seconds, cancelled)
    return _run(trial, setup, core, on_interval, patience)


def begun(
    setup: Setup, engine: Engine, settings: Settings, *, seed: int, role: Role, core: Core
) -> Trial:
    """What is known of a trial before it runs. Raises `InputError` for settings that the engine
    does not accept."""
    complete = {**knobs.defaults(engine), **knobs.check(engine, settings)}
    return Trial(
        engine=engine,
        settings=complete,
        role=role,
        outcome="finished",
        seed=seed,
        clock=setup.clock,
        seconds=setup.seconds * setup.times,
        scale=setup.scale.factor,
        budget_bytes=needed_memory(setup.profile, engine, complete),
        workload=setup.profile.workload.kind,
        started=datetime.now(UTC).replace(tzinfo=None).isoformat(),
        core_version=core.VERSION,
        host=platform.node(),
        hardware=setup.profile.hardware.name if setup.clock == "simulated" else THIS_MACHINE,
        problem=problem_of(setup.profile),
    )


def _opened(setup: Setup, engine: Engine, settings: Settings) -> Settings:
    """The settings with those by which files are opened."""
    return {**settings, **engines.of(engine).direct_io} if setup.direct_io else settings


def spec_of(profile: Profile, trial: Trial, seconds: float) -> Spec:
    """The spec that a simulated trial ran as, made again from what is stored of it and of its
    study, whose measured phase lasts `seconds` on the smallest copy."""
    setup = Setup(
        profile,
        Scale(trial.scale),
        seconds,
        "simulated",
        times=trial.seconds / seconds,
        direct_io=profile.passes_page_cache,
    )
    return _scaled(trial, setup, None).spec


class _Patience:
    """Ends a run that its caller cancels, or that takes too long."""

    def __init__(self, most_seconds: float | None, cancelled: Callable[[], bool] | None) -> None:
        self.most_seconds = math.inf if most_seconds is None else most_seconds
        self.is_lost = False
        self._cancelled = cancelled or (lambda: False)
        self._began = time.monotonic()

    def is_over(self) -> bool:
        """Whether the run shall end."""
        if self._cancelled():
            return True
        self.is_lost = time.monotonic() - self._began > self.most_seconds
        return self.is_lost


def _core_of(clock: Clock) -> Core:
    """The compiled core, around a real engine in a process of its own."""
    core = bridge.load()
    return ProcessCore(core) if clock == "real" else core


def _run(
    trial: Trial,
    setup: Setup,
    core: Core,
    on_interval: Callable[[Interval], None] | None,
    patience: _Patience,
) -> Trial:
    began = time.monotonic()
    with _scratch(setup) as directory:
        scaled = _scaled(trial, setup, directory)
        trial = replace(trial, notes=scaled.notes)
        try:
            report = bridge.run(
                scaled.spec, on_interval=on_interval, cancelled=patience.is_over, core=core
            )
        except DiskFull:
            raise
        except Cancelled:
            if not patience.is_lost:
                raise
            return replace(
                trial,
                outcome="failed",
                error=f"given up after {patience.most_seconds:.0f} s of this machine's time",
                wall_seconds=time.monotonic() - began,
            )
        except InputError as refusal:
            raise Refused(refusal, trial) from refusal
        except WorkError as error:
            return replace(
                trial,
                outcome="failed",
                error=str(error),
                wall_seconds=time.monotonic() - began,
            )
    metrics = _numbers(report["metrics"])
    if "hardware" in scaled.spec:
        small = scaled.spec["hardware"]["device"]
        metrics = carry_back(setup.profile.hardware, metrics, small)
    # What a product did is told as it was, and what is held beside that.
    told_at = Scale(1.0) if setup.real is not None else setup.scale
    by_operation = _rows(report.get("by_operation", {}))
    metrics |= percentiles(setup.profile.goal.metrics, by_operation)
    metrics = told_at.carry_back(metrics)
    return _measured(
        trial,
        report,
        metrics | _cost(setup, metrics),
        by_operation,
        told_at,
        time.monotonic() - began,
    )


def _cost(setup: Setup, metrics: Mapping[str, float]) -> dict[str, float]:
    """The cost of what was measured, by the profile's prices. A smaller copy on a real engine has
    none: what its data takes is that of the copy, and what it rents that of the whole."""
    price = setup.profile.price
    if price is None or (setup.clock == "real" and setup.scale.factor < 1):
        return {}
    found = price.cost(metrics, setup.profile.memory_bytes)
    return {} if found is None else {COST: found}


def _scaled(trial: Trial, setup: Setup, directory: Path | None) -> ScaledRun:
    """The run of a trial: simulated without a directory, else measured or real there."""
    profile, scale = setup.profile, setup.scale
    clock: Simulated | Path
    shrinks_batches = scale.factor < 1 and setup.clock != "real"
    load = None
    if directory is None:
        assert trial.budget_bytes is not None
        if setup.operations is None:
            load = loaded_before(profile, trial.engine, trial.settings)
        # What the settings leave of the memory holds pages of files, as in a container it would.
        clock = Simulated(profile.hardware, profile.memory_bytes - trial.budget_bytes)
    else:
        clock = directory
    scaled = scaled_run(
        FullRun(
            engine=trial.engine,
            settings=_opened(setup, trial.engine, trial.settings),
            workload=InBytes(profile.workload, profile.data_bytes),
            clients=profile.clients,
            seed=trial.seed,
            clock=clock,
            length=_length(trial, setup),
            load_batch_rows=SCALED_LOAD_BATCH_ROWS if shrinks_batches else None,
            load=load,
            beside_product=setup.real is not None,
        ),
        scale,
    )
    if setup.clock == "real":
        assert directory is not None and setup.real is not None
        check_disk(directory, scale.size(profile.data_bytes))
        spec, notes = real_spec(scaled.spec, setup.real)
        return ScaledRun(spec, (*scaled.notes, *notes))
    if setup.real is not None:
        scaled = _as_run(scaled, setup.real)
    scaled.spec["memory_limit"] = _memory_limit(trial, setup, scaled.spec["options"])
    return scaled


def _length(trial: Trial, setup: Setup) -> Length:
    """How long the run of a trial goes."""
    if setup.operations is not None:
        return {
            "seconds": trial.seconds,
            "operations": setup.operations,
            "warmup_seconds": trial.seconds * WARMUP_PART,
            "warmup_operations": max(1, int(setup.operations * WARMUP_PART)),
            "ends": "settled",
            "empties_level0": setup.empties_level0,
            "interval_ms": INTERVAL_MS,
        }
    length: Length = {
        "seconds": trial.seconds,
        "warmup": {"most_seconds": trial.seconds * MOST_WARMUP},
        "interval_ms": INTERVAL_MS,
    }
    if setup.clock == "simulated" and not setup.to_the_end:
        each = SIMULATED_OPERATIONS // setup.profile.workload.statements
        operations = min(SIMULATED_OPERATIONS, max(FEWEST_OPERATIONS, each))
        length["operations"] = int(operations * setup.times)
        if (together := setup.profile.workload.operations_per_commit) > 1:
            least = FEWEST_COMMITS * setup.profile.clients * together
            length["operations"] = max(length["operations"], least)
            # As many of the slowest: virtual time in which little happens costs little.
            least_seconds = trial.seconds / setup.times * 2 * FEWEST_COMMITS
            length["seconds"] = max(length["seconds"], least_seconds)
        length["warmup"]["most_operations"] = int(length["operations"] * MOST_WARMUP)
        paced_seconds = _paced_seconds(setup.profile, length["operations"])
        length["seconds"] = max(length["seconds"], paced_seconds)
        length["warmup"]["most_seconds"] = length["seconds"] * MOST_WARMUP
    return length


def _as_run(scaled: ScaledRun, real: RealEngine) -> ScaledRun:
    """A prediction of what a real engine does with the settings that it has, where it has not all
    that it is asked for."""
    options, notes = as_run(scaled.spec["options"], real)
    spec: Spec = {**scaled.spec, "options": dict(options)}
    return ScaledRun(spec, (*scaled.notes, *notes))


def _paced_seconds(profile: Profile, operations: int) -> float:
    """How long so many operations take a workload that is held to a rate, 0 for one that is not:
    level 0 of an LSM that is written at a slow pace takes seconds to fill once."""
    rate = float(profile.workload.parameters.get("requests_per_second", 0))
    return operations / rate if rate else 0.0


def _memory_limit(trial: Trial, setup: Setup, options: Settings) -> int:
    """Bytes that the engine of a run with these options, which are scaled, may take."""
    profile, data_bytes = setup.profile, setup.scale.size(setup.profile.data_bytes)
    keys = profile.workload.keys(data_bytes)
    small = replace(profile.memory_load, data_bytes=data_bytes, keys=keys)
    parts = memory.memory_parts(trial.engine, options, small)
    # What no setting decides is the product's and the machine's, and no engine here has it.
    needed = sum(part.bytes for part in parts if part.knobs)
    budget = max(setup.scale.size(profile.memory_bytes), needed)
    return int(budget * MEMORY_SLACK) + UNSCALED_MEMORY_BYTES


def _scratch(setup: Setup) -> AbstractContextManager[Path | None]:
    """A folder for a measured run. The simulation needs none, and removes what others left."""
    if setup.clock == "simulated":
        scratch.sweep(setup.directory)
        return nullcontext()
    return scratch.folder(setup.directory)


def _measured(
    trial: Trial,
    report: Report,
    metrics: Mapping[str, float],
    by_operation: Mapping[str, Mapping[str, float]],
    scale: Scale,
    wall_seconds: float,
) -> Trial:
    product = report.get("product")
    return replace(
        trial,
        product=f"{product['name']} {product['version']}" if product else "",
        metrics=metrics,
        by_operation=by_operation,
        by_statement=_rows(report.get("statements", {})),
        bytes_by_purpose=_rows(report.get("bytes", {})),
        intervals=tuple(_interval(row, scale) for row in report.get("intervals", ())),
        steady=report.get("steady"),
        notes=(
            *trial.notes,
            *unsteady_notes(report),
            *debt_notes(report),
            *backlog_notes(report),
        ),
        wall_seconds=wall_seconds,
    )


def _interval(row: Interval, scale: Scale) -> dict[str, Any]:
    present = {name: value for name, value in row.items() if value is not None}
    sizes = {name: value for name, value in present.items() if isinstance(value, int | float)}
    carried: dict[str, Any] = _whole_bytes(scale.carry_back(sizes))
    if shape := row.get("shape"):
        full = {n: scale.full(v) if n.endswith("_bytes") else v for n, v in shape.items()}
        carried["shape"] = _whole_bytes(full)
    return present | carried


def _whole_bytes(numbers: Mapping[str, float]) -> dict[str, float]:
    return {name: round(n) if name.endswith("_bytes") else n for name, n in numbers.items()}


def _rows(table: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    return {name: _numbers(row) for name, row in table.items()}


def _numbers(row: Mapping[str, Any]) -> dict[str, float]:
    """Only what was measured: the core leaves out or nulls the rest."""
    return {name: float(value) for name, value in row.items() if value is not None}
