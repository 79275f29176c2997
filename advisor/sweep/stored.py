"""A sweep put together again from its stored points."""

from __future__ import annotations

from typing import Any

from advisor.errors import InputError
from advisor.profile import Profile
from advisor.store import Store, SweepRecord
from advisor.sweep.axis import Axis
from advisor.sweep.sweep import Asked, Point, Sweep

DELETED = "its runs were deleted"


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
        )
        for one, trials in store.sweep_points(name)
    )
    return Sweep(asked, points, len(points) == len(asked.axis.values) * len(asked.engines))


def _asked(found: SweepRecord, document: Any) -> Asked:
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
    )
