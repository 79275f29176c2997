"""Rules of thumb: settings that an experienced administrator would try first, given the machine and
the data. Each engine's are in its description.

They are seeds of the search and nothing more: each is measured like any other proposal before it is
recommended.
"""

from __future__ import annotations

from collections.abc import Callable

from advisor import engines
from advisor.engines import Engine
from advisor.engines.description import Machine, Rule
from advisor.knobs import Setting, Settings
from advisor.profile import Profile


def machine(profile: Profile) -> Machine:
    """What the rules look at, from a profile."""
    return Machine(profile.memory_bytes, profile.hardware.cpu_cores, profile.data_bytes)


LargestCache = Callable[[Settings], int | None]
"""The cache that fills the memory beside all else in the settings, if any does."""


def rules(engine: Engine, given: Machine) -> tuple[Rule, ...]:
    """The rules of an engine, the most promising first. None sets the cache: see
    `with_full_cache`."""
    return engines.of(engine).rules(given)


def with_full_cache(
    engine: Engine, settings: Settings, largest_cache: LargestCache
) -> dict[str, Setting] | None:
    """The settings with the cache grown or shrunk to fill the memory; None if even the smallest
    does not fit."""
    size = largest_cache(settings)
    return None if size is None else {**settings, engines.of(engine).cache_knob: size}
