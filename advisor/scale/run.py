"""The spec of a run from its pieces at full size and one scale: what trials and replays of
published experiments have in common. Where they differ, they say so in the pieces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from advisor import engines, knobs
from advisor.hardware import Hardware
from advisor.knobs import Engine, Setting, Settings
from advisor.scale.factor import MIB, Scale, ScaledSettings, batch_bytes
from advisor.scale.machine import FULL_SIZE, machine_spec, scaled_cache
from advisor.spec import BinaryLogSpec, Length, Spec, Value
from advisor.workload import Workload, kinds

SMALLEST_BINLOG = MIB
"""Bytes of a file of a binary log: a smaller one would hold less than a transaction of a load."""


@dataclass(frozen=True)
class InBytes:
    """A workload whose data is a size."""

    workload: Workload
    data_bytes: int
    """Logical bytes at full size."""

    def at(self, scale: Scale) -> dict[str, Value]:
        """The smaller copy."""
        return self.workload.spec(scale.size(self.data_bytes))


@dataclass(frozen=True)
class InUnits:
    """A workload whose data is a count that has to stay whole."""

    parameters: Mapping[str, Value]
    """`kind` among them."""
    sized_by: str | None
    """The parameter that says how many units there are; None for runs that start empty."""
    units: int
    """At full size."""

    def at(self, scale: Scale) -> dict[str, Value]:
        """The smaller copy."""
        sized = {} if self.sized_by is None else {self.sized_by: scale.size(self.units)}
        return {**self.parameters, **sized}


@dataclass(frozen=True)
class Simulated:
    """The virtual clock, on this machine."""

    machine: Hardware
    page_cache_bytes: float = 0
    """Memory of the operating system's page cache at full size; none if negative."""


@dataclass(frozen=True)
class LoadedBefore:
    """A load apart from the run, at full size."""

    settings: Settings
    """Complete, defaults included."""
    page_cache_bytes: float
    """Memory of the operating system's page cache while it loads; none if negative."""


@dataclass(frozen=True)
class FullRun:
    """A run at full size."""

    engine: Engine
    settings: Settings
    """Complete, defaults included."""
    workload: InBytes | InUnits
    clients: int
    seed: int
    clock: Simulated | Path
    """The virtual clock, or under the wall clock a folder for the run's files."""
    length: Length
    """As it is at scale: rates stay, so what is affordable decides it."""
    load_batch_rows: int | None = None
    """Rows that a load commits at once, at most: batches of full size would fill a log that shrank,
    which no load of full size does. None leaves it to the workload."""
    binary_log: BinaryLogSpec | None = None
    """A server's own log, if it keeps one."""
    load: LoadedBefore | None = None
    """How the data of a simulated run was loaded; None for one that loads it itself."""
    beside_product: bool = False
    """Whether the run is that of a product, or is held beside one: a smaller copy is then as a
    product of that size is, on the whole machine, and makes up for nothing that did not shrink."""


@dataclass(frozen=True)
class ScaledRun:
    """A spec, and in which respects it is unlike the full size."""

    spec: Spec
    notes: tuple[str, ...]


def scaled_run(run: FullRun, scale: Scale) -> ScaledRun:
    """The run at scale."""
    options = scale.settings(run.engine, run.settings)
    if run.beside_product:
        options = _told(run.engine, options, scale)
    spec: Spec = {
        "engine": run.engine,
        "options": dict(options.values),
        "workload": _workload(run, scale),
        "clients": run.clients,
        "seed": run.seed,
    }
    spec = cast(Spec, {**spec, **run.length})
    if scale.spec is not None:
        spec["scale"] = scale.spec
        if run.beside_product:
            spec["scale"]["only_draws"] = True
    if isinstance(run.clock, Simulated):
        spec["clock"] = "simulated"
        spec["hardware"] = machine_spec(
            run.clock.machine,
            FULL_SIZE if run.beside_product else scale,
            page_cache_bytes=run.clock.page_cache_bytes
            * (scale.factor if run.beside_product else 1),
            batch_bytes=batch_bytes(run.engine, run.settings),
        )
    else:
        spec["clock"] = "measured"
        spec["directory"] = str(run.clock)
    if run.binary_log is not None:
        size = max(SMALLEST_BINLOG, scale.size(run.binary_log["max_binlog_size"]))
        spec["binary_log"] = {**run.binary_log, "max_binlog_size": size}
    if run.load is not None:
        spec["load"] = {
            "options": dict(scale.settings(run.engine, run.load.settings).values),
            "page_cache_bytes": scaled_cache(scale, run.load.page_cache_bytes),
        }
    return ScaledRun(spec, options.notes)


def _told(engine: Engine, options: ScaledSettings, scale: Scale) -> ScaledSettings:
    """The settings of a product that does not know that it is a copy."""
    known = knobs.catalogue(engine)
    shrunk: dict[str, Setting] = {}
    for name in engines.of(engine).of_the_cache:
        full, least = options.values[name], known[name].low
        assert isinstance(full, int) and least is not None, "counts and times are whole"
        shrunk[name] = max(min(full, int(least)), round(full * scale.factor))
    return replace(options, values={**options.values, **shrunk})


def _workload(run: FullRun, scale: Scale) -> dict[str, Value]:
    workload = run.workload.at(scale)
    batch = kinds()[str(workload["kind"])].parameters.get("load_batch_rows")
    if run.load_batch_rows is not None and batch is not None:
        workload.setdefault("load_batch_rows", min(int(batch.default), run.load_batch_rows))
    return workload
