"""What earlier studies of like questions found best: early looks of a new one.

A study is alike as far as its data over memory, clients, mix of operations and the device's random
reads are: each the smaller over the larger, the mix the part of the operations that both make, and
all of them multiplied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any

from pydantic import ValidationError

from advisor.analytic.demand import demand
from advisor.analytic.machine import random_read_us
from advisor.errors import InputError
from advisor.goal import Goal
from advisor.knobs import Engine, Settings
from advisor.profile import Profile
from advisor.search.ranking import Candidate, best
from advisor.store import Store, StudyRecord
from advisor.trial import ANSWERING, Clock, Trial, settings_key

LEAST_ALIKE = 0.5
"""A choice of ours: a question that differs by a factor of two is asked, one that differs more has
another answer."""
MOST = 3
"""Earlier studies that an engine is told of: they take the looks of rules and proposals."""


@dataclass(frozen=True)
class Earlier:
    """The best settings of an earlier study."""

    engine: Engine
    settings: Settings
    """As they were there, complete."""
    memory_bytes: int
    """That they were found in."""
    study: str
    likeness: float
    """Of its question: 1 is the same, down to `LEAST_ALIKE`."""
    days: int
    """Since that study was made, when the new one was."""

    @property
    def told(self) -> str:
        """Where they are from."""
        return f"{self.study}, {_age(self.days)}, {self.likeness:.0%} alike"

    def stored(self) -> dict[str, Any]:
        """As a study keeps it."""
        return asdict(self) | {"settings": dict(self.settings)}

    @classmethod
    def recalled(cls, stored: Mapping[str, Any]) -> Earlier:
        """What `stored` gave."""
        return cls(**stored)


def earlier(
    profile: Profile, engines: Sequence[Engine], clock: Clock, store: Store
) -> tuple[Earlier, ...]:
    """What a store's studies under the same clock know of a profile, for each engine the most alike
    first, no settings twice."""
    found = []
    for record in store.studies_of(profile.workload.kind):
        if record.clock != clock:
            continue
        try:
            known = Profile.model_validate(record.identity["profile"])
        except (ValidationError, InputError):
            continue  # of a version that took other profiles
        alike = likeness(known, profile)
        if alike >= LEAST_ALIKE:
            found.append((alike, record, known))
    # Of studies that are equally alike the newest first, as the store lists them.
    found.sort(key=lambda one: -one[0])
    # Each study is read once for all engines.
    trials_of = cache(partial(store.trials, intervals=False))
    chosen: list[Earlier] = []
    for engine in engines:
        chosen += _of_engine(engine, profile.goal, found, trials_of)
    return tuple(chosen)


def likeness(one: Profile, other: Profile) -> float:
    """How alike two questions of the same kind of workload are, from 0 to 1."""
    return (
        _part(one.data_bytes / one.memory_bytes, other.data_bytes / other.memory_bytes)
        * _part(one.clients, other.clients)
        * _part(random_read_us(one.hardware.device), random_read_us(other.hardware.device))
        * _common(one, other)
    )


def _of_engine(
    engine: Engine,
    goal: Goal,
    alike: Iterable[tuple[float, StudyRecord, Profile]],
    trials_of: Callable[[str], list[Trial]],
) -> list[Earlier]:
    chosen: dict[object, Earlier] = {}
    for likeness, record, known in alike:
        if len(chosen) == MOST:
            break
        if engine not in record.engines:
            continue
        winner = _best(engine, goal, trials_of(record.name))
        if winner is None:
            continue
        found = Earlier(
            engine,
            winner.settings,
            known.memory_bytes,
            record.name,
            likeness,
            _days_since(record.created),
        )
        chosen.setdefault(settings_key(engine, found.settings), found)
    return list(chosen.values())


def _best(engine: Engine, goal: Goal, trials: Sequence[Trial]) -> Candidate | None:
    """The best settings by this goal on the largest copy that any of the engine ran on."""
    own = [one for one in trials if one.engine == engine and one.role not in ANSWERING]
    for scale in sorted({one.scale for one in own}, reverse=True):
        if (found := best((one for one in own if one.scale == scale), goal)) is not None:
            return found
    return None


def _common(one: Profile, other: Profile) -> float:
    """The part of the operations that both mixes make: 1 where the parameters are the same."""
    if one.workload == other.workload:
        return 1.0
    mine, theirs = _shares(one), _shares(other)
    return sum(min(share, theirs.get(name, 0.0)) for name, share in mine.items())


def _shares(profile: Profile) -> dict[str, float]:
    """Reads, scans and writes of rows; empty for a workload of which they are not known."""
    asked = demand(profile)
    if asked is None:
        return {}
    counts = {
        "reads": sum(space.gets + space.absent_gets for space in asked.spaces),
        "scans": sum(space.seeks for space in asked.spaces),
        "writes": asked.writes,
    }
    total = sum(counts.values())
    return {name: count / total for name, count in counts.items()} if total else {}


def _part(one: float, other: float) -> float:
    return min(one, other) / max(one, other)


def _days_since(created: str) -> int:
    then = datetime.fromisoformat(created).replace(tzinfo=UTC)
    return max(0, (datetime.now(UTC) - then).days)


def _age(days: int) -> str:
    if days == 0:
        return "of today"
    return "a day old" if days == 1 else f"{days} days old"
