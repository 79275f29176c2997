"""From measurements to a hardware profile of this machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import count
from pathlib import Path

import tomlkit
from tomlkit.items import Table

from advisor import core as bridge
from advisor import scratch
from advisor.calibration import figures
from advisor.calibration.calls import Calls, measure, runs_of
from advisor.calibration.clients import Clients, fit_clients
from advisor.calibration.device import Storage, probe
from advisor.calibration.fit import Fit, Observation, fit
from advisor.calibration.runs import RUNS, Run, observed
from advisor.core import Cancelled, Core
from advisor.hardware import FIGURES_VERSION, Flash, processor
from advisor.real import RealEngine
from advisor.scale import device_spec

PROGRESS = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Calibration:
    """What was measured."""

    processor: str
    measured: str
    """The day."""
    fit: Fit
    storage: Storage
    calls: tuple[Calls, ...]
    """Of the real engines that ran."""
    turning_us: float
    """How long a writer of RocksDB turns before it offers its core."""
    busy_ratio: float
    """CPU time over wall time of the runs that only compute: 1 on an idle machine."""

    @cached_property
    def clients(self) -> Clients | None:
        """Of servers; absent where none ran."""
        seen = [statements for one in self.calls for statements in one.statements]
        return fit_clients(seen) if seen else None


def calibrate(
    *,
    directory: Path | None = None,
    on_run: PROGRESS | None = None,
    cancelled: Callable[[], bool] | None = None,
    core: Core | None = None,
    runs: tuple[Run, ...] = RUNS,
    real: Sequence[RealEngine] = (),
) -> Calibration:
    """Measures the costs of work on this CPU, the drive under `directory`, and what calls of these
    real engines cost here.

    `on_run` hears the number of each step, how many there are, and its name. Raises `InputError`
    for a folder that cannot be used, `WorkError` for a run that failed, and `Cancelled`.
    """
    core = core or bridge.load()
    defaults = {kind["name"]: float(kind["ns"]) for kind in core.work_kinds()}
    observations: list[Observation] = []
    busy: list[float] = []
    steps = len(runs) + 1 + sum(map(runs_of, real))
    numbers = count(1)

    def begin(name: str) -> None:
        if on_run is not None:
            on_run(next(numbers), steps, name)

    for run in runs:
        begin(f"{run.engine}: {run.name}")
        with scratch.folder(directory) as folder:
            report = bridge.run(run.spec(str(folder)), cancelled=cancelled, core=core)
        found = list(observed(run, report))
        observations.extend(found)
        if run.only_computes:
            busy.append(found[0].cpu_ns / 1e9 / report["seconds"])
    begin("the drive")

    def pause() -> None:
        if cancelled is not None and cancelled():
            raise Cancelled("the calibration was cancelled")

    storage = probe(directory, pause)
    fitted = fit(observations, defaults)
    cores = os.cpu_count() or 1
    work_ns = {**fitted.work_ns, **_of_drive(storage)}
    drive = None
    if storage.drive is not None:
        drive = device_spec(Flash.model_validate(dict(figures.figures(storage))))
    measured = [
        measure(
            one,
            work_ns,
            cores=cores,
            drive=drive,
            directory=directory,
            on_run=begin,
            cancelled=cancelled,
            core=core,
        )
        for one in real
    ]
    return Calibration(
        processor=processor(),
        measured=datetime.now(UTC).date().isoformat(),
        fit=fitted,
        storage=storage,
        calls=tuple(measured),
        turning_us=core.probe_turning(),
        busy_ratio=sum(busy) / len(busy) if busy else 1.0,
    )


def to_toml(calibration: Calibration) -> str:
    """The hardware profile as TOML that `advisor.hardware` reads."""
    document = tomlkit.document()
    document["text"] = f"This machine, {platform.node()}, as it was measured."
    document["source"] = tomlkit.string(_source(calibration), multiline=True)
    document["detect"] = True
    document["calibrated"] = calibration.measured
    document["processor"] = calibration.processor
    document["figures_version"] = FIGURES_VERSION
    if calibration.storage.drive is not None:
        document["drive"] = calibration.storage.place.words
    waits = [wait for one in calibration.calls if (wait := one.statement_wait_us) is not None]
    if waits:
        document["statement_wait_us"] = round(min(waits), 1)
    clients = calibration.clients
    if clients is not None:
        document["statement_cold_us"] = round(clients.cold_us, 1)
        document["statement_cools_us"] = round(clients.cools_us, 1)
    document["write_turning_us"] = round(calibration.turning_us, 2)
    document["work_ns"] = _costs(calibration.fit)
    for name, cost in _of_drive(calibration.storage).items():
        document["work_ns"][name] = tomlkit.float_(f"{cost:.4g}")
    if calibration.calls:
        document["calls"] = _calls(calibration.calls)
    if clients is not None:
        document["work_ns"]["round_trip"] = tomlkit.float_(f"{1e3 * clients.warm_us:.4g}")
    device = tomlkit.table()
    for name, figure in figures.figures(calibration.storage).items():
        is_text = name == "source"
        device[name] = tomlkit.string(str(figure), multiline=True) if is_text else figure
    document["device"] = device
    return tomlkit.dumps(document)


def _of_drive(storage: Storage) -> dict[str, float]:
    """Work whose cost the probe of the drive says, nanoseconds."""
    return {} if storage.drive is None else {"storage_wait": 1e3 * storage.drive.wait_us}


def _costs(fitted: Fit) -> Table:
    costs = tomlkit.table()
    for name, cost in sorted(fitted.work_ns.items()):
        costs[name] = tomlkit.float_(f"{cost:.4g}")
        if name not in fitted.determined:
            costs[name].comment("only with others")
    return costs


def _calls(measured: Sequence[Calls]) -> Table:
    document = tomlkit.table()
    document["source"] = tomlkit.string(_source_of_calls(measured), multiline=True)
    for one in measured:
        document[one.product] = _costs(one.fit)
    return document


def _source_of_calls(measured: Sequence[Calls]) -> str:
    lines = [
        "CPU time of operations of the products on this machine, everything cached but for",
        "the load from the drive, with as many clients as keep it busy, less that of the",
        "core's own work for the same operations; shared among the calls by runs that make",
        "them in different proportions.",
    ]
    for one in measured:
        name, ratio = one.fit.worst
        lines.append(
            f"{one.product}: {one.version}, {len(one.fit.ratios)} loads; the one that these costs "
            f"miss most is {name!r}, which they put at {ratio:.2f} of the measured."
        )
        if one.fit.far_off:
            lines.append(f"NOT EXPLAINED by these costs: {off_by(one.fit)}.")
    return "\n".join(lines) + "\n"


def off_by(fitted: Fit) -> str:
    """The runs that the costs are far off, in words."""
    far = sorted(fitted.far_off.items(), key=lambda item: item[1])
    return "; ".join(f"{name} at {ratio:.2f} of the measured" for name, ratio in far)


def _source(calibration: Calibration) -> str:
    name, ratio = calibration.fit.worst
    loose = sorted(set(calibration.fit.work_ns) - set(calibration.fit.determined))
    return (
        "cpu_cores, memory: asked from the operating system.\n"
        f"work_ns: fitted to {len(calibration.fit.ratios)} CPU times, of clients and of\n"
        "background jobs, of measured runs of both engines by `tunebench doctor --calibrate`. The\n"
        f"one that the costs miss most is {name!r},\n"
        f"which they put at {ratio:.2f} of the measured. The runs determine only together with\n"
        f"others, so that each by itself stays near the default: {', '.join(loose) or 'none'}.\n"
        "storage_wait: CPU time of a direct read of the drive's probe, some being in flight; what\n"
        "reads take by how many are is the device's read_cpu_us_in_flight.\n"
        "round_trip, statement_cold_us, statement_cools_us: CPU time of a server's clients per\n"
        "statement, by the server's, of all loads of servers with a row a statement at most.\n"
        "statement_wait_us: what a statement of a single client takes beyond CPU time of both.\n"
        "write_turning_us: 200 pauses, as RocksDB makes them where a write waits for another.\n"
        "Absent kinds did not occur in the runs and take the defaults.\n"
    )
