"""Rules of thumb: whole configurations that experienced people write, as files under
`profiles/rules`, whose README explains the fields.

They are seeds of the search and contenders of a verification, and nothing more: each is measured
like any other proposal before it is recommended.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from advisor import engines, knobs
from advisor.data import data_path
from advisor.evaluate import largest_cache
from advisor.knobs import Engine, Knob, Setting, Settings
from advisor.memory import MIB
from advisor.profile import Profile
from advisor.search.squeeze import squeezed
from advisor.sizes import parse_size


@dataclass(frozen=True)
class Rule:
    """A configuration as its file states it, not yet fitted to a machine."""

    engine: Engine
    name: str
    """What people call it."""
    sources: tuple[str, ...]
    stated: Mapping[str, Any]
    """By knob, in the order of the file: plain values, and tables that name a share."""

    def settings(
        self, profile: Profile, stock: Settings, fixed: Collection[str] = ()
    ) -> dict[str, Setting] | None:
        """The rule for a profile's memory and cores, on the engine's defaults `stock`, but for the
        knobs that are `fixed`; None if it does not fit however far its sizes give way."""
        catalogue = knobs.catalogue(self.engine)
        made, left = dict(stock), None
        for name, stated in self.stated.items():
            if name in fixed:
                continue
            if isinstance(stated, dict) and "left" in stated:
                left = float(stated["left"])
            else:
                made[name] = _value(catalogue[name], stated, profile, made)
        if left is not None:
            made = self._with_what_is_left(made, left, profile)
        fitted = squeezed(profile, self.engine, made)
        # What is a multiple of a size follows it when that gave way.
        for name, stated in self.stated.items():
            if fitted is not None and name not in fixed and _is_multiple(stated):
                fitted[name] = _value(catalogue[name], stated, profile, fitted)
        return fitted

    def _with_what_is_left(
        self, settings: dict[str, Setting], share: float, profile: Profile
    ) -> dict[str, Setting]:
        room = largest_cache(profile, self.engine, settings)
        if room is None:
            return settings
        return {**settings, engines.of(self.engine).cache_knob: _whole(room * share)}


@cache
def rules(engine: Engine) -> tuple[Rule, ...]:
    """The rules of an engine, the most telling first."""
    found = []
    for path in sorted(data_path("profiles", "rules", engine).glob("*.toml")):
        with path.open("rb") as file:
            table = tomllib.load(file)
        rule = Rule(engine, table["title"], tuple(table["sources"]), table["settings"])
        found.append((table["order"], rule))
    return tuple(rule for _, rule in sorted(found, key=lambda one: one[0]))


def _value(knob: Knob, stated: Any, profile: Profile, so_far: Settings) -> Setting:
    """A stated value in the knob's own type, within its range. Raises `ValueError` for what the
    knob does not accept."""
    value = _amount(knob, stated, profile, so_far)
    if knob.search is not None and knob.search.data_share is not None:
        value = min(value, _whole(knob.search.within(None, profile.data_bytes).high))
    normal = knob.normal(value)
    if normal is None:
        raise ValueError(f"{knob.name}: {stated!r} is not {knob.accepted}")
    return normal


def _amount(knob: Knob, stated: Any, profile: Profile, so_far: Settings) -> Any:
    if isinstance(stated, list):
        return _amount(knob, _first_that_holds(stated, profile), profile, so_far)
    if not isinstance(stated, dict):
        return _plain(knob, stated)
    if "value" in stated:
        return _plain(knob, stated["value"])
    units = {
        "memory": profile.memory_bytes,
        "cores": profile.hardware.cpu_cores,
        "times": so_far.get(stated.get("of", "")),
    }
    amount = next(_plain(knob, stated[key]) * of for key, of in units.items() if key in stated)
    low, high = (stated.get(end) for end in ("least", "most"))
    amount = amount if low is None else max(amount, _plain(knob, low))
    amount = amount if high is None else min(amount, _plain(knob, high))
    return _whole(amount) if knob.type == "size" else int(amount)


def _is_multiple(stated: Any) -> bool:
    return isinstance(stated, dict) and "of" in stated


def _first_that_holds(stated: list[Any], profile: Profile) -> Any:
    return next(
        one
        for one in stated
        if "up_to" not in one or profile.memory_bytes <= parse_size(one["up_to"])
    )


def _plain(knob: Knob, stated: Any) -> Any:
    return parse_size(stated) if knob.type == "size" and isinstance(stated, str) else stated


def _whole(size: float) -> int:
    """Whole MiB, which a person would write; at least one."""
    return max(MIB, int(size) // MIB * MIB)
