"""From what the user said to what the library takes: a profile with the changes of the options, and settings.

An error names the option, not the field that it ends up in.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from advisor import knobs
from advisor.errors import InputError
from advisor.knobs import ENGINES, Engine, Setting
from advisor.profile import Profile, load
from advisor.trial import Clock

T = TypeVar("T")


def changed_profile(name: str, changes: Mapping[str, Any]) -> Profile:
    """The profile with each given field in place of its own; None leaves a field as it is."""
    profile = load(name)
    for field, value in changes.items():
        if value is not None:
            profile = blamed(f"--{field}", lambda: profile.with_changes(**{field: value}))
    return profile


def blamed(option: str, work: Callable[[], T]) -> T:
    """Do it, and let an `InputError` name this option as its place."""
    try:
        return work()
    except InputError as error:
        raise InputError(option, None, error.found, error.accepted) from error


def chosen_engines(engine: str | None, profile: Profile) -> tuple[Engine, ...]:
    """The engines that `--engine` asks for; the profile's own without it."""
    if engine is None:
        return profile.engines
    return ENGINES if engine == "both" else tuple(one for one in ENGINES if one == engine)


def clock_of(simulate: bool, hardware: str | None) -> Clock:
    """The clock that `--simulate` asks for. Other hardware can only be simulated."""
    if hardware is not None and not simulate:
        raise InputError(
            "--hardware", None, f"{hardware!r} without --simulate", "a measured run is on this machine"
        )
    return "simulated" if simulate else "measured"


def fixed_settings(
    assignments: Iterable[str], engines: tuple[Engine, ...]
) -> dict[Engine, dict[str, Setting]]:
    """`--set` by engine. A knob must belong to one of the engines at least."""
    fixed: dict[Engine, dict[str, Setting]] = {engine: {} for engine in engines}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        name = name.strip()
        if not equals or not name:
            raise InputError("--set", None, repr(assignment), "KNOB=VALUE")
        owners = [engine for engine in engines if name in knobs.catalogue(engine)]
        if not owners:
            raise InputError("--set", None, f"the knob {name!r}", _near(name, engines))
        for engine in owners:
            knob = knobs.catalogue(engine)[name]
            fixed[engine][name] = knobs.parse_value(knob, text, f"--set {name}")
    for engine, settings in fixed.items():
        knobs.check(engine, settings, "--set")
    return fixed


def _near(name: str, engines: tuple[Engine, ...]) -> str:
    from difflib import get_close_matches

    known = [knob for engine in engines for knob in knobs.catalogue(engine)]
    near = get_close_matches(name, known, n=3)
    return ", ".join(near) if near else f"a knob of {' or '.join(engines)}"


def existing_parent(option: str, path: Path) -> Path:
    """The path, once it is known that a file can be made there."""
    if path.is_dir():
        raise InputError(option, None, f"{path}, a folder", "the name of a file")
    return path
