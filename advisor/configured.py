"""Settings that are no study's: those of a file, or a few knobs over the defaults, run on a profile
so that they can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from advisor import imports, knobs
from advisor.core import Core
from advisor.errors import InputError
from advisor.evaluate import Setup, scale_of_one
from advisor.files import exists, expanded
from advisor.knobs import Engine, Setting, Settings
from advisor.profile import Profile
from advisor.search import Candidate
from advisor.search.runner import Job, Runner
from advisor.store import Store
from advisor.trial import Clock, Trial

RUNS, MOST_RUNS = 3, 100
"""Runs of each, with the same seeds."""
SECONDS = 1.25
"""Length of the measured phase, as in a study of the usual bounds."""
ACCEPTED = "a my.cnf or OPTIONS file, or KNOB=VALUE,KNOB=VALUE of one engine"


@dataclass(frozen=True)
class On:
    """What configurations run on, and how: the same for all."""

    profile: Profile
    engines: tuple[Engine, ...]
    clock: Clock = "simulated"
    seconds: float = SECONDS
    runs: int = RUNS
    seed: int = 1
    scale: float | None = None


def is_configuration(name: str) -> bool:
    """Whether a name can only be that of a file, or of settings."""
    return "=" in name or (name != "" and exists(expanded(name)))


def run(name: str, on: On, store: Store, core: Core | None = None) -> Candidate:
    """Runs the settings that a name stands for and stores the runs as single ones; those that
    finished, or all if none did. Raises `InputError` for what is no configuration of one engine,
    and for what the profile or an engine does not accept."""
    engine, settings = told(name, on)
    profile = on.profile
    scale, times = scale_of_one(profile, on.clock, on.scale)
    setup = Setup(
        profile,
        scale,
        on.seconds,
        on.clock,
        times=times,
        core=core,
        to_the_end=on.scale is not None,
        direct_io=profile.holds_page_cache_out(on.clock),
    )
    jobs = [Job(engine, settings, "run", on.seed + number, 0) for number in range(on.runs)]
    made: list[Trial] = []
    for _, answer in Runner([setup]).answers(iter(jobs)):
        if answer.refusal is not None:
            raise answer.refusal
        made.append(store.add_trial(answer.trial))
    made.sort(key=lambda trial: trial.seed)
    finished = tuple(trial for trial in made if trial.finished)
    return Candidate(engine, settings, finished or tuple(made))


def told(name: str, on: On) -> tuple[Engine, Settings]:
    """The engine and the complete settings of a configuration. Raises `InputError` for what is
    none, and for runs that cannot be."""
    if not 1 <= on.runs <= MOST_RUNS:
        raise InputError("--runs", None, str(on.runs), f"1 to {MOST_RUNS}")
    path = expanded(name)
    if exists(path):
        found: Mapping[Engine, Mapping[str, Setting]] = imports.current_settings(
            path, imports.read(path), on.engines
        )
    else:
        found = _assigned(name, on.engines)
    if len(found) != 1:
        what = f"settings of {' and '.join(found)}" if found else "settings of no engine that runs"
        raise InputError("compare", name, what, ACCEPTED)
    ((engine, given),) = found.items()
    return engine, {**knobs.defaults(engine), **knobs.check(engine, given, name)}


def _assigned(text: str, engines: tuple[Engine, ...]) -> dict[Engine, dict[str, Setting]]:
    found: dict[Engine, dict[str, Setting]] = {}
    for assignment in text.split(","):
        name, _, value = (part.strip() for part in assignment.partition("="))
        owners = [engine for engine in engines if name in knobs.catalogue(engine)]
        if len(owners) != 1:
            raise InputError("compare", text, f"the knob {name!r}", ACCEPTED)
        (engine,) = owners
        knob = knobs.catalogue(engine)[name]
        found.setdefault(engine, {})[name] = knobs.parse_value(knob, value, text)
    return found
