"""The memory of a recommendation against what there is, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from advisor.imports.connections import Connections
from advisor.memory import Part
from advisor.profile import Profile
from advisor.sizes import format_size


class BudgetLine(NamedTuple):
    """What takes memory, how much, and what decides it."""

    name: str
    size: str
    decided_by: str


def budget_lines(profile: Profile, parts: Sequence[Part]) -> list[BudgetLine]:
    """The parts that take any, their sum, and what is left of the profile's memory."""
    lines = [
        BudgetLine(part.name, format_size(part.bytes), ", ".join(part.knobs) or _beside(part.name))
        for part in parts
        if part.bytes
    ]
    total = sum(part.bytes for part in parts)
    left = profile.memory_bytes - total
    kind = "left" if left >= 0 else "missing"
    return [
        *lines,
        BudgetLine("together", format_size(total), f"of {format_size(profile.memory_bytes)}"),
        BudgetLine(kind, format_size(abs(left)), ""),
    ]


def crowded(profile: Profile, parts: Sequence[Part], known: Connections | None) -> str:
    """A warning where all the connections that the server admits do not fit beside the rest; empty
    where they do."""
    if known is None:
        return ""
    rest = sum(part.bytes for part in parts if part.name != "connections")
    over = rest + known.bytes - profile.memory_bytes
    if over <= 0:
        return ""
    each, all_of_them = format_size(known.each_bytes), format_size(known.bytes)
    return (
        f"max_connections={known.count} of up to {each} each may take {all_of_them}, "
        f"{format_size(over)} more than there is beside the rest: lower it or their buffers"
    )


def _beside(name: str) -> str:
    return {"reserve": "for what the other lines do not know"}.get(name, "")
