"""What the functions of this room share: a profile with changes, engines, a clock, current
settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from advisor import imports, knobs
from advisor.errors import InputError
from advisor.files import expanded
from advisor.knobs import ENGINES, Engine, Setting
from advisor.profile import Profile, load
from advisor.trial import Clock

Current = str | Path | Mapping[str, Any]
"""A my.cnf or OPTIONS file, or settings by knob; the knob's name says whose they are."""


def asked_profile(profile: str | Path | Profile, **changes: object) -> Profile:
    """A shipped profile by name, one from a file, or one that is there, with changes; None changes
    nothing. Raises `InputError`."""
    chosen = profile if isinstance(profile, Profile) else load(profile)
    given = {name: value for name, value in changes.items() if value is not None}
    return chosen.with_changes("advisor", **given) if given else chosen


def asked_engines(engine: str | None, profile: Profile) -> tuple[Engine, ...]:
    """One engine, both, or those of the profile. Raises `InputError`."""
    if engine is None:
        return profile.engines
    chosen = ENGINES if engine == "both" else tuple(one for one in ENGINES if one == engine)
    if not chosen:
        raise InputError("engine", None, repr(engine), f"{', '.join(ENGINES)} or both")
    return chosen


def asked_clock(clock: str | None, profile: Profile) -> Clock:
    """Where nobody says, simulated unless the profile's hardware is this machine and not all of it
    was measured. Raises `InputError`."""
    if clock not in (None, "simulated", "measured"):
        raise InputError("clock", None, repr(clock), "simulated or measured")
    if clock == "measured" or (clock is None and not profile.hardware.is_known):
        return "measured"
    if profile.hardware.unfit:
        accepted = "hardware by name, or `tunebench doctor --calibrate` first"
        raise InputError("hardware", None, profile.hardware.unfit, accepted)
    return "simulated"


def asked_settings(
    current: Current | None, engines: tuple[Engine, ...]
) -> dict[Engine, dict[str, Setting]]:
    """The user's settings by engine. Raises `InputError`."""
    if current is None:
        return {}
    if not isinstance(current, Mapping):
        path = expanded(str(current))
        return imports.current_settings(path, imports.read(path), engines)
    found: dict[Engine, dict[str, Setting]] = {}
    for name, value in current.items():
        owners = [engine for engine in engines if name in knobs.catalogue(engine)]
        if not owners:
            accepted = f"a knob of {' or '.join(engines)}"
            raise InputError("current", None, f"the knob {name!r}", accepted)
        for engine in owners:
            knob = knobs.catalogue(engine)[name]
            is_text = isinstance(value, str)
            found.setdefault(engine, {})[name] = (
                knobs.parse_value(knob, value, "current") if is_text else value
            )
    for engine, settings in found.items():
        knobs.check(engine, settings, "current")
    return found


def source_of(current: Current | None) -> Path | None:
    """The file of the current settings, if they are in one."""
    if current is None or isinstance(current, Mapping):
        return None
    return expanded(str(current)).resolve()
