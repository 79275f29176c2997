"""What a sweep was asked, as it is stored, and a sweep put together again from its stored points:
to be looked at, or to go on."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from advisor.errors import InputError
from advisor.knobs import Engine
from advisor.profile import Profile
from advisor.search.question import difference
from advisor.store import Store, SweepRecord
from advisor.sweep.answer import Point, Sweep
from advisor.sweep.asked import Asked, Place
from advisor.sweep.axis import Axis
from advisor.trial import Clock

DELETED = "its runs were deleted"


def record(asked: Asked) -> SweepRecord:
    """What was asked, as it is stored."""
    profile, across = asked.profile, asked.across
    document = {
        "profile": profile.document(),
        "values": list(asked.axis.values),
        "of": asked.axis.engine,
        **_choices(asked.axis),
        "engines": list(asked.engines),
        "current": {engine: dict(settings) for engine, settings in asked.current.items()},
        "seconds": asked.seconds,
        "runs": asked.runs,
        "scale": asked.scale,
        "retune": asked.retune,
    }
    if across is not None:
        document["across"] = {
            "values": list(across.values),
            "of": across.engine,
            **_choices(across),
        }
    return SweepRecord(
        asked.name,
        asked.axis.name,
        str(profile.goal),
        asked.clock,
        asked.seed,
        document,
        across=across.name if across is not None else None,
    )


def stored(name: str, store: Store) -> Sweep:
    """The sweep of this name. Raises `InputError` if there is none, or none that says what was
    asked."""
    found = store.sweep(name)
    if found is None:
        known = ", ".join(one.name for one in store.sweeps()[:5])
        raise InputError(store.path, None, f"no sweep {name!r}", known or "a sweep that is stored")
    if not found.asked:
        kept = "the view swept, which has its medians"
        raise InputError(store.path, name, "a sweep that does not say what was asked", kept)
    asked = _asked(found, found.asked)
    points = tuple(
        Point(
            one.value,
            one.engine,  # type: ignore[arg-type]
            one.settings,
            trials,
            one.error if trials or one.error else DELETED,
            one.across,
        )
        for one, trials in store.sweep_points(name)
    )
    return Sweep(asked, points, len(points) == asked.planned)


def sweeps_of(profile: Profile, clock: Clock, store: Store) -> list[Sweep]:
    """The stored sweeps whose question is this profile moved along their axes, under the same
    clock: the newest over each axis."""
    newest: dict[str, Sweep] = {}
    for found in store.sweeps():
        if found.asked and found.clock == clock:
            asked = _asked(found, found.asked)
            if asked.over not in newest and _is_of(asked, profile):
                newest[asked.over] = stored(found.name, store)
    return list(newest.values())


def _is_of(asked: Asked, profile: Profile) -> bool:
    place = asked.places[0]
    if asked.profile.workload.kind != profile.workload.kind:
        return False
    return replace(asked, profile=profile).profile_at(place) == asked.profile_at(place)


def so_far(asked: Asked, store: Store) -> dict[tuple[Place, Engine], Point]:
    """The points that are stored of what is asked; a sweep of a new name is stored without any.
    Raises `InputError` where the stored sweep of this name was asked something else."""
    found, now = store.sweep(asked.name), record(asked)
    if found is None:
        store.add_sweep(now)
        return {}
    where = f"sweep {asked.name}"
    for part, then, wanted in _parts(found, now):
        if then != wanted:
            told, accepted = difference(then, wanted)
            raise InputError(where, part, told, f"{accepted} as stored, or a new name")
    points = stored(asked.name, store).points
    hosts = {trial.host for point in points for trial in point.trials}
    if asked.clock == "measured" and hosts - {platform.node()}:
        # Wall-clock numbers of two machines are no sweep.
        raise InputError(where, "host", platform.node(), f"{', '.join(hosts)}, or a new name")
    return {(point.place, point.engine): point for point in points}


def _parts(then: SweepRecord, now: SweepRecord) -> Iterator[tuple[str, object, object]]:
    for part in ("axis", "goal", "clock", "seed"):
        yield part, getattr(then, part), getattr(now, part)
    yield "second axis", then.across, now.across
    asked, stored_asked = json.loads(json.dumps(now.asked)), then.asked
    if "profile" in stored_asked:
        stored_asked = {**stored_asked, "profile": Profile.renewed(stored_asked["profile"])}
    for part in sorted({*stored_asked, *asked}):
        yield part, stored_asked.get(part), asked.get(part)


def _asked(found: SweepRecord, document: Any) -> Asked:
    second = document.get("across")
    return Asked(
        name=found.name,
        profile=Profile.model_validate(document["profile"]),
        axis=_axis(found.axis, document),
        engines=tuple(document["engines"]),
        current=document["current"],
        clock=found.clock,  # type: ignore[arg-type]
        seed=found.seed,
        seconds=document["seconds"],
        runs=document["runs"],
        scale=document["scale"],
        retune=document["retune"],
        across=_axis(found.across, second) if found.across is not None else None,
    )


def _axis(name: str, document: Any) -> Axis:
    choices = tuple(document.get("choices", ()))
    return Axis(name, tuple(document["values"]), document["of"], choices)


def _choices(axis: Axis) -> dict[str, Any]:
    return {"choices": list(axis.choices)} if axis.choices else {}
