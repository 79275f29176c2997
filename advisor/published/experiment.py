"""What a published experiment is: runs at full size, the rows of its scorecard, and its claims.

All of it is data. Sizes are those of the post; `spec.py` shrinks them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from advisor.knobs import Engine, Setting
from advisor.published.observation import Observed
from advisor.published.tables import Figure
from advisor.spec import BinaryLogSpec

HOUR = 3600.0


@dataclass(frozen=True)
class Configuration:
    """An engine as the post set it up: its name there, and settings at full size. Settings that are
    absent have the engine's defaults."""

    name: str
    engine: Engine
    settings: Mapping[str, Setting]
    page_cache_bytes: int = 0
    """Memory that is left to the operating system's page cache."""

    def but(self, **settings: Setting) -> Configuration:
        """The same with other settings."""
        return replace(self, settings={**self.settings, **settings})


@dataclass(frozen=True)
class Phase:
    """How long a run goes, at full size: warm-up and measured seconds, or measured operations."""

    warmup_s: float = 0.0
    """At most: a warm-up ends when nothing changes any more, or at its bound on operations."""
    seconds: float | None = None
    operations: int | None = None


@dataclass(frozen=True)
class Run:
    """One run of an experiment."""

    name: str
    configuration: Configuration
    clients: int
    phase: Phase
    workload: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that differ from the experiment's."""
    fill_to: float | None = None
    """Share of the flash device that is full in all: what the database does not fill, other data
    does."""
    keeps_binary_log: bool = True
    """Whether it keeps that of the experiment."""


@dataclass(frozen=True)
class RowPlan:
    """One line of the scorecard: a published figure, or none, beside what the runs give."""

    metric: str
    simulated: Callable[[Observed], float | None]
    published: Figure | None = None


@dataclass(frozen=True)
class Experiment:
    """A published experiment."""

    name: str
    text: str
    sources: tuple[str, ...]
    """Identifiers in `sources.csv`."""
    hardware: str
    workload: Mapping[str, Any]
    units: int
    """Ids, rows, keys or warehouses at full size; a replay has a whole number of them."""
    sized_by: str | None
    """The parameter of the workload that says how many units there are; None for runs that start
    empty and are as long as their operations."""
    data_bytes: float
    """Logical bytes of the data at full size, before compression."""
    operations: float
    """About how many operations the longest run makes at full size. It decides how far the
    experiment is shrunk, and nothing else."""
    runs: tuple[Run, ...]
    rows: tuple[RowPlan, ...]
    claims: tuple[str, ...]
    shrinks: bool = True
    """False where the effect lies in an absolute size, so that only full size shows it."""
    seconds: float = 2.0
    """Seconds of a laptop's core that one run may take, about: the more, the larger the replay."""
    least_operations: int = 60_000
    """Of the warm-up, at most, and of the measured part of a timed run: fewer say little."""
    binary_log: BinaryLogSpec | None = None
    """Where it was on, at full size."""
    caveats: tuple[str, ...] = ()
    """What the simulation leaves out or had to assume."""


def label(metric: str, run: str, base: str | None = None) -> str:
    """The name of a row: a metric of a run, or its ratio to the same metric of another run."""
    return f"{metric} {run}" if base is None else f"{metric} {run} / {base}"


def measured(metric: str, run: str, published: Figure | None = None) -> RowPlan:
    """A metric of one run."""
    return RowPlan(label(metric, run), lambda seen: seen.of(metric, run), published)


def compared(metric: str, run: str, base: str, published: Figure | None = None) -> RowPlan:
    """A metric of one run over that of another."""

    def ratio(seen: Observed) -> float | None:
        above, below = seen.of(metric, run), seen.of(metric, base)
        return None if above is None or not below else above / below

    return RowPlan(label(metric, run, base), ratio, published)
