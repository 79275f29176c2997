"""What the results file holds besides trials, as it is put in and read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from advisor.trial import Trial


@dataclass(frozen=True)
class StudyRecord:
    """What a study is; `identity` holds what may not differ when it is resumed."""

    name: str
    workload: str
    goal: str
    engines: tuple[str, ...]
    clock: str
    seed: int
    identity: Mapping[str, Any]
    core_version: str = ""
    host: str = ""
    created: str = ""
    """UTC, ISO 8601; filled in when it is stored."""


@dataclass(frozen=True)
class StudySummary:
    """One line of the list of studies."""

    name: str
    created: str
    workload: str
    goal: str
    engines: tuple[str, ...]
    clock: str
    trials: int
    last_trial: str | None
    verified: str | None = None
    """The product that its advice ran on last; absent if none finished a run."""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class VerifiedRun:
    """A run of a contender of a verification."""

    place: int
    """Of the contender; the first, with which all are compared, has 0."""
    contender: str
    round: int
    """From 1; 0 is what was predicted."""
    trial: Trial


@dataclass(frozen=True)
class RobustPoint:
    """What was asked, or a neighbour of it, at which all candidates of a session ran."""

    name: str
    divergence: float | None
    """Of its mix; absent where the mix is what was asked."""
    profile: Mapping[str, Any]


@dataclass(frozen=True)
class RobustRun:
    """A run of a candidate at a point of its session."""

    place: int
    candidate: str
    point: int
    again: bool
    """Whether it was made after the choice."""
    trial: Trial


@dataclass(frozen=True)
class RobustSession:
    """What a session was asked and how it ended."""

    session: str
    radius: float
    no_mix: str
    ending: str


@dataclass(frozen=True)
class Table:
    """The answer to a query."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
