"""What calls of the real engines of this machine cost beyond the core's own work: the same runs on
the product and simulated, everything cached but for runs that say what a wait for the drive leaves
cold.

A run of the product says how much CPU time an operation takes there. The same run, simulated at
this machine's own costs, says how much of it is work that the core does too, and how often each
call is made. What is left is the calls', and is shared among them by runs that make them in
different proportions (`fit`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from advisor import core as bridge
from advisor import knobs, scratch
from advisor.calibration.clients import Statements
from advisor.calibration.fit import Fit, Observation, fit
from advisor.calibration.loads import ALONE, CACHED, WAITING, Load, loads_of
from advisor.core import Core
from advisor.hardware import calls
from advisor.hardware import hardware as hardware_of
from advisor.knobs import Settings
from advisor.real import ProcessCore, RealEngine, Server, as_run, engine_of, real_spec
from advisor.scale import machine_spec
from advisor.spec import Report, Spec

SECONDS = 2.5
CLIENTS_PER_CORE = 2
SEED = 1
MOST_SIMULATED = 1_500_000
"""Operations of a library's load, where the simulation makes as many as the product did."""
SHIPPED = "nvme-2024"
"""The machine whose calls a calibration starts from."""
LEAST_NS = 50.0
"""Where those have none: a fit in proportions cannot start from nothing."""
PAGE_CACHE_BYTES = 4 << 30
"""As a machine that has room for all of it, as this one has."""
SNAPPY: Mapping[str, float] = {
    "snapped_byte": 0.6,
    "snapped_match": 60.0,
    "unsnapped_byte": 0.2,
}
"""As much again as the core's own: whether it is optimized is the build's, and that of the Java
archive is not."""
ZLIB: Mapping[str, float] = {
    "zipped_byte": 7.0,
    "zipped_block": 10_000.0,
    "unzipped_byte": 1.2,
    "unzipped_block": 4000.0,
}
"""The same of zlib, which takes longer than what the core has in its place."""
FETCH: Mapping[str, float] = {"block_fetch": 500.0}
"""Of a block that is fetched: assumption, a few allocations."""
MERGED: Mapping[str, float] = {"merged_byte": 0.5}
"""Of a byte of an entry that a flush or a compaction takes in: assumption, a few copies."""
LEFT_OUT: Mapping[str, Mapping[str, float]] = {
    product: {**FETCH, **MERGED, **SNAPPY, **ZLIB} for product in ("rocksdb", "myrocks")
}
"""Where the fit of what shipped figures leave out begins."""
COLD_WORK = 1.0
"""Where the fit of what cold caches cost begins, for every product: assumption, work behind a wait
takes twice as long."""
PROGRESS = Callable[[str], None]


@dataclass(frozen=True)
class Calls:
    """What the calls of a product cost here."""

    product: str
    """`rocksdb`, `innodb` or `myrocks`."""
    version: str
    """Its name and version, as it says itself."""
    fit: Fit
    statements: tuple[Statements, ...]
    """Of the loads of a server, what both sides take for each; empty for a library."""
    statement_wait_us: float | None
    """What a statement of a single client takes beyond CPU time of both sides; None for a
    library."""


def runs_of(real: RealEngine) -> int:
    """How many runs of a product `measure` makes."""
    alone = 1 if isinstance(real, Server) else 0
    return len(loads_of(real)) + len(_again(real)) + alone


def _again(real: RealEngine) -> list[Load]:
    """The loads that run a second time, later, since what else the machine does makes a load only
    dearer, and passes: those of a library, but those that have rounds of their own."""
    return [] if isinstance(real, Server) else [one for one in loads_of(real) if not one.waits]


def measure(
    real: RealEngine,
    work_ns: Mapping[str, float],
    *,
    cores: int,
    drive: Mapping[str, Any] | None = None,
    directory: Path | None = None,
    on_run: PROGRESS = lambda name: None,
    cancelled: Callable[[], bool] | None = None,
    core: Core | None = None,
) -> Calls:
    """Measures a product's calls on this machine of so many cores, whose own work costs `work_ns`
    and whose drive has these figures, if they are known.

    Raises `InputError` for an engine that cannot be opened, `WorkError` for a run that failed, and
    `Cancelled`.
    """
    core = core or bridge.load()
    product = real.storage if isinstance(real, Server) else "rocksdb"
    known = known_calls(product)
    own = {kind["name"]: float(kind["ns"]) for kind in core.work_kinds()} | dict(work_ns)

    def run(load: Load) -> Any:
        on_run(f"{product}: {load.name}")
        with scratch.folder(directory) as folder:
            spec = _measured(real, load, str(folder), cores)
            return bridge.run(spec, cancelled=cancelled, core=ProcessCore(core))

    every = loads_of(real)
    reports = {load.name: run(load) for load in every}
    for load in _again(real):
        reports[load.name] = min(reports[load.name], run(load), key=_cpu_us)

    def simulated(load: Load, calls_ns: Mapping[str, float]) -> Report:
        operations = load.operations or min(reports[load.name]["operations"], MOST_SIMULATED)
        cost = {"work_ns": dict(work_ns), "calls": {product: dict(calls_ns)}}
        hardware = _hardware(cost, cores, drive if load.waits else None)
        return _simulated(real, load, operations, hardware, core)

    def observation(load: Load, report: Report, calls_ns: Mapping[str, float]) -> Observation:
        work = {kind: units / report["operations"] for kind, units in report["work"].items()}
        counts = {kind: units for kind, units in work.items() if kind in known}
        if load.waits:
            # What a wait takes hangs on how many reads are in flight, which the simulation knows.
            of_calls_ns = sum(units * calls_ns[kind] for kind, units in counts.items())
            own_ns = 1e3 * report["metrics"]["cpu_us_per_op"] - of_calls_ns
        else:
            # A round trip is the client's.
            own_ns = sum(
                units * own[kind]
                for kind, units in work.items()
                if kind not in known and kind != "round_trip"
            )
        return Observation(load.name, counts, 1e3 * _cpu_us(reports[load.name]), known_ns=own_ns)

    found = {load.name: simulated(load, known) for load in every}
    observations = {load.name: observation(load, found[load.name], known) for load in every}
    # How much of the work finds cold caches hangs on what the calls take.
    calls_ns = {**known, **fit(list(observations.values()), known).work_ns}
    for load in every:
        if load.waits:
            observations[load.name] = observation(load, simulated(load, calls_ns), calls_ns)
    statements = []
    for load in every:
        report, counts = reports[load.name], observations[load.name].work
        trips = found[load.name]["work"].get("round_trip", 0) / found[load.name]["operations"]
        # A statement of many rows is built from them.
        if trips and counts.get("row_insert", 0.0) <= trips:
            client_us = report["metrics"]["client_cpu_us_per_op"]
            name = f"{product}: {load.name}"
            server_us = _cpu_us(report) / trips
            statements.append(Statements(name, server_us, client_us / trips))
    version = "{name} {version}".format(**reports[every[-1].name]["product"])
    wait_us = _waits_us(run(ALONE)["metrics"]) if isinstance(real, Server) else None
    fitted = fit(list(observations.values()), known)
    return Calls(product, version, fitted, tuple(statements), wait_us)


def _cpu_us(report: Report) -> float:
    return report["metrics"]["cpu_us_per_op"]


def _waits_us(metrics: Mapping[str, float]) -> float:
    """What an operation of a single client takes while neither it nor the server computes."""
    computes_us = metrics["cpu_us_per_op"] + metrics["client_cpu_us_per_op"]
    return max(0.0, 1e6 / metrics["ops_per_s"] - computes_us)


def known_calls(product: str) -> dict[str, float]:
    """What the calls of a product cost elsewhere, nanoseconds."""
    shipped = calls(hardware_of(SHIPPED).calls).by_product[product]
    per_call = {name: max(ns, LEAST_NS) for name, ns in shipped.items() if not _is_byte(name)}
    per_byte = {name: ns for name, ns in shipped.items() if _is_byte(name)}
    return {**per_call, **per_byte, **LEFT_OUT.get(product, {}), "cold_work": COLD_WORK}


def _is_byte(call: str) -> bool:
    return call.endswith("_byte")


def _measured(real: RealEngine, load: Load, directory: str, cores: int) -> Spec:
    by_time = {"seconds": SECONDS, "warmup_seconds": SECONDS / 4, **_end(load)}
    length = {"operations": load.real_operations} if load.real_operations else by_time
    spec = _spec(real, load, cores) | {
        "clock": "measured",
        "directory": directory,
        **length,
    }
    return real_spec(cast(Spec, spec), real)[0]


def _end(load: Load) -> dict[str, str]:
    """Of a load with background work: all that it gave rise to. A short window counts the bytes of
    a job that it began, but not the CPU time behind its end."""
    return {"ends": "settled"} if load.settles else {}


def _spec(real: RealEngine, load: Load, cores: int) -> dict[str, Any]:
    """What both sides run. A server is told every setting, as its own defaults are not the
    engine's: MyRocks' puts indexes and filters into the block cache."""
    engine = engine_of(real)
    waiting = WAITING[engine] if load.waits else {}
    options: Settings = {**CACHED[engine], **waiting, **load.options}
    if isinstance(real, Server):
        options = as_run({**knobs.defaults(engine), **options}, real)[0]
    return {
        "engine": engine,
        "options": dict(options),
        "workload": dict(load.workload),
        "clients": load.clients or cores * CLIENTS_PER_CORE,
        "seed": SEED,
    }


def _hardware(
    cost: Mapping[str, Any], cores: int, drive: Mapping[str, Any] | None
) -> dict[str, Any]:
    """A machine with this cost, which speaks for the product."""
    machine = machine_spec(hardware_of(SHIPPED))
    drive = machine["device"] if drive is None else dict(drive)
    own = {"cores": cores, "cost": cost, "page_cache_bytes": PAGE_CACHE_BYTES, "device": drive}
    return {**machine, **own}


def _simulated(
    real: RealEngine, load: Load, operations: int, hardware: Mapping[str, Any], core: Core
) -> Report:
    own = {
        "clock": "simulated",
        "operations": operations,
        "hardware": hardware,
        **_end(load),
    }
    cores = hardware["cores"]
    return bridge.run(cast(Spec, _spec(real, load, cores) | own), core=core)
