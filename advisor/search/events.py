"""What a study tells its watcher while it runs. Events are values: a screen may keep, drop or
replay them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from advisor.knobs import Engine, Settings
from advisor.trial import Role, Trial

Ending = Literal["complete", "out of time", "cancelled"]


@dataclass(frozen=True)
class TrialStarted:
    """A trial is about to run."""

    number: int
    """Its place in the study, from 1."""
    planned: int | None
    """Trials that the study will have at its end, if trials bound it: those of the bound, and those
    so far that were not run because their settings do not fit."""
    engine: Engine
    role: Role
    settings: Settings
    seed: int


@dataclass(frozen=True)
class IntervalSeen:
    """The running trial measured one interval; the fields are those of the core's report."""

    number: int
    engine: Engine
    interval: Mapping[str, Any]


@dataclass(frozen=True)
class TrialFinished:
    """A trial ended, well or not, and is stored."""

    trial: Trial
    score: float | None
    """The metric that the goal optimizes; absent if the trial did not measure it."""
    feasible: bool
    """Whether the trial finished and keeps the goal's constraints."""


@dataclass(frozen=True)
class BestChanged:
    """A trial became the best of its study."""

    trial: Trial
    score: float
    previous_score: float | None


@dataclass(frozen=True)
class StudyFinished:
    """No further trial follows in this phase of the study."""

    ending: Ending
    trials: int
    best: Trial | None


Event = TrialStarted | IntervalSeen | TrialFinished | BestChanged | StudyFinished
Watcher = Callable[[Event], None]
