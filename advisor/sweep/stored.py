"""What a sweep was asked, as it is stored, and a sweep put together again from its stored
points."""

from __future__ import annotations

from typing import Any

from advisor.errors import InputError
from advisor.profile import Profile
from advisor.store import Store, SweepRecord
from advisor.sweep.answer import Point, Sweep
from advisor.sweep.asked import Asked
from advisor.sweep.axis import Axis

DELETED = "its runs were deleted"


def record(asked: Asked) -> SweepRecord:
    """What was asked, as it is stored."""
    profile, across = asked.profile, asked.across
    document = {
        "profile": profile.model_dump(mode="json", by_alias=True, exclude_none=True),
        "values": list(asked.axis.values),
        "of": asked.axis.engine,
        "engines": list(asked.engines),
        "current": {engine: dict(settings) for engine, settings in asked.current.items()},
        "seconds": asked.seconds,
        "runs": asked.runs,
        "scale": asked.scale,
        "retune": asked.retune,
    }
    if across is not None:
        document["across"] = {"values": list(across.values), "of": across.engine}
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


def _asked(found: SweepRecord, document: Any) -> Asked:
    second = document.get("across")
    return Asked(
        name=found.name,
        profile=Profile.model_validate(document["profile"]),
        axis=Axis(found.axis, tuple(document["values"]), document["of"]),
        engines=tuple(document["engines"]),
        current=document["current"],
        clock=found.clock,  # type: ignore[arg-type]
        seed=found.seed,
        seconds=document["seconds"],
        runs=document["runs"],
        scale=document["scale"],
        retune=document["retune"],
        across=Axis(found.across, tuple(second["values"]), second["of"])
        if found.across is not None
        else None,
    )
