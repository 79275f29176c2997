"""Settings that no scaled trial can exercise, set by rule: they never claim to be measured."""

from __future__ import annotations

from dataclasses import dataclass

from advisor import engines
from advisor.evaluate import fits_memory, largest_cache
from advisor.knobs import Engine, Setting, Settings
from advisor.profile import Profile

MIB = 1 << 20
SMALL_SHARE = 0.02
"""Part of the cache that may go without a change of what was measured."""


@dataclass(frozen=True)
class Ruled:
    """A value that follows from a rule, and the rule."""

    knob: str
    value: Setting
    reason: str


def leftover(profile: Profile, engine: Engine, settings: Settings) -> tuple[Ruled, ...]:
    """Rules for what the measured settings leave open. Where the memory is full, the cache makes
    room as long as that does not change what was measured of it."""
    known = engines.of(engine)
    if (open_one := known.unexercised) is None:
        return ()
    share = profile.memory_bytes // open_one.share // MIB * MIB
    wanted = min(max(share, open_one.smallest), open_one.largest)
    if _size(settings, open_one.knob) >= wanted:
        return ()
    ruled = Ruled(open_one.knob, wanted, open_one.reason)
    larger = {**settings, open_one.knob: wanted}
    if fits_memory(profile, engine, larger):
        return (ruled,)
    room = largest_cache(profile, engine, larger)
    if room is None or room < _size(settings, known.cache_knob) * (1 - SMALL_SHARE):
        return ()
    return (ruled, Ruled(known.cache_knob, room, open_one.room_reason))


def _size(settings: Settings, name: str) -> int:
    value = settings[name]
    assert isinstance(value, int), f"{name} is a size"
    return value
