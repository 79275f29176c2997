"""What counts as a change: a number that hardly differs from the current one does not.

A search proposes the cache that fills the memory, or a round value beside the user's odd one. No
trial can tell those apart; one that seems to would credit a hair of difference with its noise, or
with what another change bought.
"""

from __future__ import annotations

from collections.abc import Callable

from advisor.knobs import Setting, Settings

NEAR = 0.05
"""Assumption: below this relative difference two numbers are one setting. Sizes are searched in
steps of a third and more, and what a size buys grows about with its logarithm."""


def is_near(value: Setting, current: Setting) -> bool:
    """Whether both are numbers that differ by less than `NEAR` of the current one."""
    if isinstance(value, bool | str) or isinstance(current, bool | str):
        return False
    return abs(value - current) < NEAR * abs(current)


def settled(
    settings: Settings, current: Settings, is_lawful: Callable[[Settings], bool]
) -> Settings:
    """The settings with every number that is near the current one set to it, where the others and
    the memory allow that."""
    for name, value in current.items():
        if settings[name] == value or not is_near(settings[name], value):
            continue
        changed = {**settings, name: value}
        if is_lawful(changed):
            settings = changed
    return settings
