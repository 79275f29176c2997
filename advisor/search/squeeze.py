"""Settings that need more memory than there is, with their sizes made smaller until they fit."""

from __future__ import annotations

from advisor import engines, knobs
from advisor.evaluate import fits_memory, largest_cache
from advisor.knobs import Engine, Setting, Settings
from advisor.memory import MIB
from advisor.profile import Profile

LEAST_PART = 1 / 4
"""Of its size in proportion to the others, below which a cache gives way no further alone."""


def squeezed(profile: Profile, engine: Engine, settings: Settings) -> dict[str, Setting] | None:
    """The settings where they fit the profile's memory, else the nearest that do.

    The cache gives way first. Where that would leave it less than a quarter of what the others
    keep, these are halved together, so that sizes stay in proportion. None if nothing helps.
    """
    if fits_memory(profile, engine, settings):
        return dict(settings)
    known = engines.of(engine)
    wanted, part = _size(settings, known.cache_knob), 1.0
    others = [name for name in known.shrinkable if name != known.cache_knob]
    made = dict(settings)
    while True:
        room = largest_cache(profile, engine, made)
        if room is not None and room >= wanted * part * LEAST_PART:
            return {**made, known.cache_knob: min(room, wanted)}
        part /= 2
        smaller = {name: _halved(engine, name, made) for name in others}
        if all(made[name] == size for name, size in smaller.items()):
            return None if room is None else {**made, known.cache_knob: min(room, wanted)}
        made |= smaller


def with_full_cache(
    profile: Profile, engine: Engine, settings: Settings
) -> dict[str, Setting] | None:
    """The settings with the cache grown or shrunk to fill the memory; None if even the smallest
    does not fit."""
    size = largest_cache(profile, engine, settings)
    return None if size is None else {**settings, engines.of(engine).cache_knob: size}


def _halved(engine: Engine, name: str, settings: Settings) -> int:
    """Half the size, in whole MiB and no less than the engine or one MiB admits."""
    size, low = _size(settings, name), int(knobs.catalogue(engine)[name].low or 0)
    return min(size, max(low, MIB, size // 2 // MIB * MIB))


def _size(settings: Settings, name: str) -> int:
    value = settings[name]
    assert isinstance(value, int), f"{name} is a size"
    return value
