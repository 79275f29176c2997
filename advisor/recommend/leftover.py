"""Settings that no scaled trial can exercise, set by rule: they never claim to be measured."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.evaluate import largest_cache, needed_memory
from advisor.knobs import CACHE_KNOB, Engine, Setting, Settings
from advisor.profile import Profile

MIB = 1 << 20
LOG_BUFFER = "innodb_log_buffer_size"
LOG_BUFFER_SHARE = 128
REASON = "1/128 of the memory, 64 MiB at most: for large transactions, which no trial makes"
ROOM_REASON = "less than the trials had by 2% at most, to make room for innodb_log_buffer_size"
SMALL_SHARE = 0.02
SMALLEST_LOG_BUFFER, LARGEST_LOG_BUFFER = 16 * MIB, 64 * MIB


@dataclass(frozen=True)
class Ruled:
    """A value that follows from a rule, and the rule."""

    knob: str
    value: Setting
    reason: str


def leftover(profile: Profile, engine: Engine, settings: Settings) -> tuple[Ruled, ...]:
    """Rules for what the measured settings leave open. Where the memory is full, the cache makes
    room as long as that does not change what was measured of it."""
    if engine != "btree":
        return ()
    share = profile.memory_bytes // LOG_BUFFER_SHARE // MIB * MIB
    wanted = min(max(share, SMALLEST_LOG_BUFFER), LARGEST_LOG_BUFFER)
    if _size(settings, LOG_BUFFER) >= wanted:
        return ()
    larger = {**settings, LOG_BUFFER: wanted}
    if needed_memory(profile, engine, larger) <= profile.memory_bytes:
        return (Ruled(LOG_BUFFER, wanted, REASON),)
    cache, room = CACHE_KNOB[engine], largest_cache(profile, engine, larger)
    if room is None or room < _size(settings, cache) * (1 - SMALL_SHARE):
        return ()
    return (Ruled(LOG_BUFFER, wanted, REASON), Ruled(cache, room, ROOM_REASON))


def _size(settings: Settings, name: str) -> int:
    value = settings[name]
    assert isinstance(value, int), f"{name} is a size"
    return value
