"""Settings that no scaled trial can exercise, set by rule: they never claim to be measured."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.evaluate import needed_memory
from advisor.knobs import Engine, Setting, Settings
from advisor.profile import Profile

MIB = 1 << 20
LOG_BUFFER = "innodb_log_buffer_size"
LOG_BUFFER_SHARE = 128
REASON = "1/128 of the memory, 64 MiB at most: for large transactions, which no trial makes"
SMALLEST_LOG_BUFFER, LARGEST_LOG_BUFFER = 16 * MIB, 64 * MIB


@dataclass(frozen=True)
class Ruled:
    """A value that follows from a rule, and the rule."""

    knob: str
    value: Setting
    reason: str


def leftover(profile: Profile, engine: Engine, settings: Settings) -> tuple[Ruled, ...]:
    """Rules for what the measured settings leave open, as far as the memory beside them allows."""
    if engine != "btree":
        return ()
    share = profile.memory_bytes // LOG_BUFFER_SHARE // MIB * MIB
    wanted = min(max(share, SMALLEST_LOG_BUFFER), LARGEST_LOG_BUFFER)
    now = settings[LOG_BUFFER]
    larger = {**settings, LOG_BUFFER: wanted}
    fits = needed_memory(profile, engine, larger) <= profile.memory_bytes
    if not isinstance(now, int) or now >= wanted or not fits:
        return ()
    return (Ruled(LOG_BUFFER, wanted, REASON),)
