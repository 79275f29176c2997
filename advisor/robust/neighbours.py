"""The neighbours of a profile: what it might come to be without anybody asking again."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.profile import Profile
from advisor.robust.mixes import mixes

NOMINAL = "as asked"
DATA, MEMORY, CLIENTS = 2, 0.5, 4
"""Choices of ours."""


@dataclass(frozen=True)
class Neighbour:
    """A profile near another, or that itself."""

    name: str
    profile: Profile
    divergence: float | None = None
    """Of its mix; absent where the mix is what was asked."""


def neighbours(profile: Profile, radius: float) -> tuple[list[Neighbour], str]:
    """What was asked, then its neighbours; and why none of them has another mix, if none has."""
    found = [
        Neighbour(NOMINAL, profile),
        Neighbour(
            f"memory x {MEMORY:g}",
            profile.with_changes(memory=round(profile.memory_bytes * MEMORY)),
        ),
        Neighbour(f"data x {DATA}", profile.with_changes(data=profile.data_bytes * DATA)),
        Neighbour(f"clients x {CLIENTS}", profile.with_changes(clients=profile.clients * CLIENTS)),
    ]
    mixed, why_none = mixes(profile.workload, radius)
    asked = profile.goal.operations
    told = [one for one in mixed if asked <= set(one.workload.operations)]
    if mixed and not told:
        why_none = f"no mix that is near has {', '.join(sorted(asked))}, of which the goal speaks"
    found += [
        Neighbour(one.name, profile.with_changes(workload=one.workload), one.divergence)
        for one in told
    ]
    return found, why_none


def longer(point: Profile, asked: Profile) -> float:
    """How many times longer a run lasts there, so that no client makes fewer operations than as
    asked: among fewer of each, chance tells more."""
    return max(1.0, point.clients / asked.clients)
