"""How the data of a simulated trial is loaded: with the trial's settings where they show in what a
load leaves, with those of a loader where they do not.

Trials with one seed that differ in other settings alone then start from the same data, which the
core loads once. Repeats with fresh seeds load their own: how many runs and files a load leaves is a
matter of luck, and reads live in it for as long as nothing is written. The engine closes behind the
load and opens with the trial's settings, as a server does that is given a new file.
"""

from __future__ import annotations

from advisor import engines, knobs
from advisor.knobs import Engine, Settings
from advisor.memory import largest_cache, memory_parts
from advisor.profile import Profile
from advisor.scale import LoadedBefore


def loaded_before(profile: Profile, engine: Engine, settings: Settings) -> LoadedBefore:
    """The load for a trial of complete settings."""
    known, defaults = engines.of(engine), knobs.defaults(engine)
    loading = {
        name: defaults[name] if name in known.traceless else value
        for name, value in settings.items()
    }
    cache = largest_cache(engine, loading, profile.memory_load, budget=profile.memory_bytes)
    if cache is not None:
        loading[known.cache_knob] = cache
    needed = sum(part.bytes for part in memory_parts(engine, loading, profile.memory_load))
    return LoadedBefore(loading, profile.memory_bytes - needed)
