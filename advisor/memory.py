"""What settings need of a machine's memory, part by part, at full size.

Each part names the knobs that decide it, so that a refusal can say what to lower.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from advisor import engines
from advisor.engines import Engine
from advisor.engines.description import Load as Load
from advisor.engines.description import Part as Part
from advisor.knobs import Settings, catalogue, check, defaults

MIB = 1 << 20

RESERVE_SHARE = 1 / 16
"""Part of all others that is left free: a real process took up to 7% more than the parts say."""

RESERVE = "reserve"
"""The part for what the others do not know: fragmented memory, dictionaries, threads of others."""


def memory_parts(engine: Engine, settings: Mapping[str, Any], load: Load) -> list[Part]:
    """Memory that the settings need at full size, by what needs it. Absent knobs take their
    defaults. The first part is the cache, the last one the reserve."""
    return accepted_parts(engine, defaults(engine) | check(engine, settings), load)


def accepted_parts(engine: Engine, complete: Settings, load: Load) -> list[Part]:
    """The same for settings that are complete and known to be accepted, in a tenth of the time."""
    parts = engines.of(engine).memory_parts(complete, load)
    reserve = sum(part.bytes for part in parts) * RESERVE_SHARE
    return [*parts, Part(RESERVE, (), int(reserve))]


def memory_bytes(engine: Engine, settings: Mapping[str, Any], load: Load) -> int:
    """Memory that the settings need at full size: the sum of `memory_parts`."""
    return sum(part.bytes for part in memory_parts(engine, settings, load))


def largest_cache(
    engine: Engine, settings: Mapping[str, Any], load: Load, *, budget: int
) -> int | None:
    """The cache of the engine that fills the budget beside all else in the settings, in whole MiB;
    None if none fits.
    """
    _, *others, reserve = memory_parts(engine, settings, load)
    assert reserve.name == RESERVE
    rest = budget / (1 + RESERVE_SHARE) - sum(part.bytes for part in others)
    known = engines.of(engine)
    size = int(rest / known.cache_overhead) // MIB * MIB
    knob = catalogue(engine)[known.cache_knob]
    return None if size < (knob.low or 0) else min(size, int(knob.high or size))
