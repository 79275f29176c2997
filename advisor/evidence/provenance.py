"""What it takes to get the same numbers again, line by line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from advisor.evaluate import spec_of
from advisor.evidence.evidence import Evidence
from advisor.recommend import wording
from advisor.sizes import format_factor, format_size


@dataclass(frozen=True)
class Fact:
    """A line of the provenance."""

    title: str
    text: str
    value: object = None
    """The stored one; None for words."""
    source: Mapping[str, str] = field(default_factory=dict)
    """Where the value is: a column `name` of a `table`, or of the question, `formula`."""


def asked(found: Evidence) -> list[Fact]:
    """What the study was asked."""
    r, profile = found.advice, found.advice.profile
    workload, machine = profile.workload, profile.hardware

    def stated(title: str, text: str, value: object, name: str) -> Fact:
        return Fact(title, text, value, {"formula": "profile", "name": name})

    data, memory, whole = profile.data_bytes, profile.memory_bytes, machine.memory_bytes
    units = f"{profile.units:,}"
    return [
        Fact("Profile", profile.name),
        Fact("Workload", workload.kind),
        stated("Data", format_size(data), data, "data_bytes"),
        stated(workload.info.sized_by.capitalize(), units, profile.units, "units"),
        stated("Memory", format_size(memory), memory, "memory_bytes"),
        stated("Clients", f"{profile.clients:,}", profile.clients, "clients"),
        Fact("Goal", str(profile.goal)),
        *([Fact("Judged by", str(r.goal))] if r.front is not None else []),
        Fact("Hardware", machine.name),
        stated("Its cores", str(machine.cpu_cores), machine.cpu_cores, "hardware.cpu_cores"),
        stated("Its memory", format_size(whole), whole, "hardware.memory_bytes"),
    ]


def made(found: Evidence) -> list[Fact]:
    """With what it was answered: the size that decided, the seed, the program and its host."""
    r, record = found.advice, found.record
    facts = []
    for last in found.final.trials[-1:]:
        of_last = {"table": "trial", "trial": last.id}
        scale = "full size" if r.scale == 1 else format_factor(r.scale)
        facts += [
            Fact("Scale that decided", scale, last.scale, {**of_last, "name": "scale"}),
            Fact(
                "Seconds measured",
                f"{last.seconds:.3g}",
                last.seconds,
                {**of_last, "name": "seconds"},
            ),
        ]
    noise = "assumed: nothing was repeated" if r.noise.degrees == 0 else "from repeated runs"
    facts.append(
        Fact(
            "Noise of one run",
            f"±{wording.percent(r.noise.relative_sd)} (one standard deviation, {noise})",
        )
    )
    facts.append(Fact("Core", _all(trial.core_version for trial in r.trials)))
    facts.append(Fact("Host", _all(trial.host for trial in r.trials)))
    if record is not None:
        source = {"table": "study", "key": r.study, "name": "seed"}
        facts.insert(0, Fact("Seed", str(record.seed), record.seed, source))
        facts.append(Fact("Begun", f"{record.created[:19].replace('T', ' ')} UTC"))
    return facts


def questions(found: Evidence) -> list[tuple[str, str]]:
    """What was asked as it is stored, and the spec of the last run, scaled as the core took it: a
    title and JSON of each. A spec is that of a simulated run; others name folders that are gone."""
    record = found.record
    if record is None:
        return []
    told = [("The question as it is stored", _json(record.identity))]
    for last in found.final.trials[-1:]:
        if last.clock == "simulated" and last.finished:
            spec = spec_of(found.advice.profile, last, record.identity["seconds"])
            told.append(("The spec of the last run of these settings, scaled", _json(spec)))
    return told


def _json(document: object) -> str:
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False)


def _all(names: Iterable[str]) -> str:
    return ", ".join(sorted({name for name in names if name})) or "unknown"
