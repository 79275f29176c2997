"""What one trial was and what it measured: the record that travels from `evaluate` to the store,
the search, the recommendation and the screens.

Settings are always in the user's full-size units and complete (defaults included). `metrics` uses
the vocabulary of the core's report; what was not measured is absent.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from advisor.knobs import Engine, Setting, Settings

Clock = Literal["measured", "simulated", "real"]
"""`simulated`: our engines in virtual time. `measured`: our engines on this machine. `real`: the
product itself on this machine."""

THIS_MACHINE = "this-machine"
"""The hardware of every measured and every real trial; `host` names it."""

Outcome = Literal["finished", "failed", "rejected"]
"""`failed`: the run ended with an error. `rejected`: the settings do not fit the memory; nothing
was run."""

Key = tuple[str, tuple[tuple[str, Setting], ...]]
"""Equal for runs of the same settings on the same engine."""

Role = Literal[
    "run",
    "default",
    "current",
    "earlier",
    "rule",
    "analytic",
    "search",
    "repeat",
    "ablation",
    "final",
    "verify",
    "sweep",
    "robust",
]
"""Why a trial was made: a single run, the engine's defaults, the user's settings, what an earlier
study found best, a rule of thumb, a proposal of the closed forms, one of the sampler, a second look
at settings already tried, what single changes buy, the answer beside what it is compared with, a
run of a verification, one at a step of a sweep, or one at a neighbour of what was asked."""

AGAIN: tuple[Role, ...] = ("repeat", "ablation", "final")
"""Runs of settings that were chosen before, which flatter nobody."""
PROPOSED: tuple[Role, ...] = ("analytic", "search")
"""Looks at settings that a search came upon by itself."""
ANSWERING: tuple[Role, ...] = ("ablation", "final")
"""Runs by which the answer is found and proven, after the search."""


@dataclass(frozen=True)
class Problem:
    """What a trial's settings were tried on, at full size."""

    workload: Mapping[str, Setting]
    """Its kind and all its parameters."""
    data_bytes: int
    memory_bytes: int
    clients: int


@dataclass(frozen=True)
class Trial:
    """One set of settings on one engine, tried once."""

    engine: Engine
    settings: Settings
    role: Role
    outcome: Outcome
    seed: int
    clock: Clock
    seconds: float
    """Length of the measured phase that was asked for."""
    scale: float
    """Data of the run / data of the profile; 1 is full size."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    by_operation: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    by_statement: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Latencies of the statements on a SQL server; empty on other engines."""
    bytes_by_purpose: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    intervals: tuple[Mapping[str, Any], ...] = ()
    steady: bool | None = None
    """Whether nothing changed any more when it was measured; absent if that was not judged."""
    notes: tuple[str, ...] = ()
    """What the reader must know to judge the numbers, such as a knob that hit its floor when
    scaled."""
    error: str | None = None
    budget_bytes: int | None = None
    """Memory that the settings need at full size, by the catalogue's formula."""
    workload: str = ""
    wall_seconds: float = 0.0
    """Time that the trial took, loading included."""
    started: str = ""
    """UTC without a zone, ISO 8601."""
    core_version: str = ""
    host: str = ""
    """The machine that the program ran on."""
    hardware: str = ""
    """The machine that the numbers are of: the simulated one, or `this-machine`."""
    product: str = ""
    """The product that ran and its version, such as `RocksDB 10.4.2`; empty for our own engines."""
    rule: str = ""
    """The rule of thumb or the earlier study that the settings are of, as `role` says, by its name;
    empty for others."""
    problem: Problem | None = None
    """Absent for trials from before it was kept."""
    number: int = 0
    """Place in its study, from 1; 0 until it is stored."""
    id: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def finished(self) -> bool:
        return self.outcome == "finished"

    @cached_property
    def key(self) -> Key:
        """The `settings_key` of its settings."""
        return settings_key(self.engine, self.settings)

    @cached_property
    def counted(self) -> Mapping[str, float]:
        """Its metrics as counters of a real engine have them: without what the file system writes
        on its own account."""
        written = self.metrics.get("write_kb_per_op", 0.0)
        own = self.metrics.get("file_system_kb_per_op", 0.0)
        if own <= 0 or written <= own:
            return self.metrics
        bytes_written = ("write_kb_per_op", "write_amp")
        of_files = {name: self.metrics[name] for name in bytes_written if name in self.metrics}
        rest = (written - own) / written
        return {**self.metrics, **{name: value * rest for name, value in of_files.items()}}

    @property
    def owed(self) -> float:
        """What paying for work left to the background would add to the time of the measured phase,
        as a part of it."""
        measured = sum(one.get("seconds", 0.0) for one in self._of_measured_phase())
        return self.metrics.get("debt_s", 0.0) / (measured or self.seconds)

    @property
    def operations(self) -> int:
        """Operations of the measured phase, as far as its intervals are kept."""
        return sum(one["operations"] for one in self._of_measured_phase())

    @property
    def why(self) -> str:
        """Why it was made, a rule of thumb or an earlier study with its name."""
        return f"{self.role}: {self.rule}" if self.rule else self.role

    def _of_measured_phase(self) -> Iterator[Mapping[str, Any]]:
        return (one for one in self.intervals if one["phase"] == "run")

    def numbered(self, number: int) -> Trial:
        """The same trial with its place in the study."""
        return replace(self, number=number)


def settings_key(engine: str, settings: Settings) -> Key:
    """Equal for trials of the same settings on the same engine: repetitions share it."""
    return engine, tuple(sorted(settings.items()))
