"""Why settings do not fit a profile's memory: what takes how much, and what would make them fit."""

from __future__ import annotations

from dataclasses import dataclass

from advisor import engines, knobs
from advisor.knobs import Engine, Setting, Settings
from advisor.memory import MIB, Part, memory_parts
from advisor.profile import Profile
from advisor.sizes import format_size, size_to_type


@dataclass(frozen=True)
class Remedy:
    """What makes settings fit: so much memory, or a knob at another value, where one alone does."""

    memory: str
    knob: str | None = None
    value: str = ""


def needed_parts(profile: Profile, engine: Engine, settings: Settings) -> list[Part]:
    """Memory that the settings need for the profile's data at full size, part by part."""
    return memory_parts(engine, settings, profile.memory_load)


def shortage(profile: Profile, engine: Engine, settings: Settings) -> str:
    """What settings that do not fit need, part by part, the largest first."""
    needs = sorted(needed_parts(profile, engine, settings), key=lambda part: -part.bytes)
    told = [f"{_named(part)} {format_size(part.bytes)}" for part in needs if part.bytes]
    need = format_size(sum(part.bytes for part in needs))
    has = format_size(profile.memory_bytes)
    return f"needs {need} of memory, the profile has {has}: {', '.join(told)}"


def remedy(profile: Profile, engine: Engine, settings: Settings) -> Remedy:
    """What would make settings fit that do not."""
    memory = size_to_type(_need(profile, engine, settings))
    for name in engines.of(engine).shrinkable:
        value = _fitting(profile, engine, settings, name)
        if value is not None:
            return Remedy(memory, name, f"{value // MIB}MiB")
    return Remedy(memory)


def _need(profile: Profile, engine: Engine, settings: Settings) -> int:
    return sum(part.bytes for part in needed_parts(profile, engine, settings))


def _named(part: Part) -> str:
    return f"{part.name} ({', '.join(part.knobs)})" if part.knobs else part.name


def _fitting(profile: Profile, engine: Engine, settings: Settings, name: str) -> int | None:
    """The largest size of a knob, in whole MiB, that lets the settings fit."""
    knob, given = knobs.catalogue(engine)[name], settings[name]
    assert isinstance(given, int), f"{name} is a size"

    def fits(mib: int) -> bool:
        tried: dict[str, Setting] = {**settings, name: mib * MIB}
        return _need(profile, engine, tried) <= profile.memory_bytes

    low, high = max(1, -(-int(knob.low or 0) // MIB)), given // MIB
    if low > high or not fits(low):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low * MIB
