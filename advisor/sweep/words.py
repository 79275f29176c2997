"""A sweep in sentences, and what it takes to get the same numbers again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from advisor.knobs import Engine
from advisor.sizes import format_factor, format_size
from advisor.sweep.sweep import Sweep


@dataclass(frozen=True)
class Fact:
    """A line of the provenance."""

    title: str
    text: str
    value: object = None
    """The stored one; None for words."""
    key: str = ""
    """Where in the stored question it is, names between dots, or a column of the table `sweep`."""
    trial: str = ""
    """The id of the run whose column `key` it is, where no question states it."""


def sentences(sweep: Sweep, titles: Mapping[str, str] | None = None) -> list[str]:
    """Where the better engine changes, or that it does not; what noise there was, and what did not
    run. Engines have their `titles`, or their names."""
    asked, named = sweep.asked, titles or {}
    told = [asked.axis.crossing(one, titles) for one in sweep.crossovers()]
    if not told and len(asked.engines) == 2:
        told.append("no engine overtakes the other between these values")
    if sweep.noise.degrees:
        noise = sweep.noise.bound(asked.runs, asked.runs)
        told.append(f"differences below {100 * noise:.1f} % are within noise")
    errors = {point.error: point for point in sweep.points if point.error}
    for error, point in errors.items():
        where = f"{asked.axis.name} {asked.axis.label(point.value)}"
        told.append(f"{named.get(point.engine, point.engine)} at {where}: {error}")
    if not sweep.is_whole:
        told.append("interrupted: the steps that are missing were not run")
    return told


def settings_of(sweep: Sweep, titles: Mapping[str, str] | None = None) -> str:
    """With which settings the engines ran."""
    asked, named = sweep.asked, titles or {}
    if asked.retune:
        return f"searched anew at each step, {asked.retune} trials"
    known = ", ".join(named.get(engine, engine) for engine in asked.current)
    rest = "a rule of thumb, its cache filling the memory"
    return f"your settings of {known}, else {rest}" if known else rest


def lead(sweep: Sweep, value: float) -> tuple[Engine, float] | None:
    """Which engine leads at a value, and how many times what the other reaches; None unless both
    were measured there."""
    scores = [sweep.score(value, engine) for engine in sweep.asked.engines]
    if len(scores) != 2 or not scores[0] or not scores[1]:
        return None
    one, other = scores[0], scores[1]
    is_first = (one > other) == (sweep.goal.direction == "maximize")
    return sweep.asked.engines[0 if is_first else 1], max(one, other) / min(one, other)


def provenance(sweep: Sweep) -> list[Fact]:
    """What was asked, and on what it ran."""
    asked, profile = sweep.asked, sweep.asked.profile
    data, memory = profile.data_bytes, profile.memory_bytes
    cores = profile.hardware.cpu_cores
    facts = [
        Fact("Profile", profile.name),
        Fact("Workload", profile.workload.kind),
        Fact("Goal", str(sweep.goal)),
        Fact("Clock", asked.clock),
        Fact("Hardware", profile.hardware.name),
        Fact("Cores", str(cores), cores, "profile.hardware.cpu_cores"),
        Fact("Data", format_size(data), data, "profile.data"),
        Fact("Memory", format_size(memory), memory, "profile.memory"),
        Fact("Clients", f"{profile.clients:,}", profile.clients, "profile.clients"),
        Fact("Settings", settings_of(sweep)),
        Fact("Runs of each engine at each step", str(asked.runs), asked.runs, "runs"),
        Fact("Seconds measured", f"{asked.seconds:g}", asked.seconds, "seconds"),
        Fact("First seed", str(asked.seed), asked.seed, "seed"),
    ]
    facts = [one for one in facts if one.title.lower() != asked.axis.name]
    last = next((trial for point in reversed(sweep.points) for trial in point.trials), None)
    if last is None:
        return facts
    scale = "full size" if last.scale == 1 else format_factor(last.scale)
    return [
        *facts,
        Fact("Scale of the last step", scale, last.scale, "scale", last.id),
        Fact("Core", last.core_version),
        Fact("Host", last.host),
        Fact("Last run begun", f"{last.started[:19]} UTC"),
    ]
