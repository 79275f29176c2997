"""Settings between two: where who does best at the neighbours loses too much as asked, some of its
settings are those of what is recommended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from advisor.knobs import Settings
from advisor.robust.neighbours import Neighbour
from advisor.robust.outcome import Robustness
from advisor.robust.rivals import distinct, fits
from advisor.verify import Contender

STEPS = 4
"""Parts of the way: so many times, a part of the settings in which the two differ is changed. A
choice of ours: each step is run at every point."""


def between(found: Robustness) -> list[Contender]:
    """Contenders between the one with the best worst case and what is recommended, none that was
    tried. They run wherever the first of them does; none where somebody may be chosen as it is, or
    where the two are of two engines or one.
    """
    far, near = found.minimax.contender, found.recommended.contender
    if found.preferred or far == near or far.engine != near.engine:
        return []
    where = [point for at, point in enumerate(found.points) if found.minimax.at(at) is not None]
    names = _apart(far.settings, near.settings)
    made = [
        Contender(f"{far.name} with {', '.join(taken)} of {near.name}", far.engine, settings)
        for taken, settings in _mixed(names, far.settings, near.settings)
        if _fits_all(where, far, settings)
    ]
    known = [one.contender for one in found.tried]
    return distinct([*known, *made])[len(distinct(known)) :]


def _apart(far: Settings, near: Settings) -> list[str]:
    """The settings in which two differ, in the order of the catalogue: those of one matter are side
    by side there."""
    return [name for name, value in far.items() if near.get(name) != value]


def _mixed(
    names: Sequence[str], far: Settings, near: Settings
) -> Iterator[tuple[Sequence[str], Settings]]:  # fmt: skip
    """What is taken over, and what that makes: each part of the settings in which the two differ
    alone, and all but each part."""
    if len(names) < 2:
        return
    size = -(-len(names) // STEPS)
    parts = [names[at : at + size] for at in range(0, len(names), size)]
    rests = [[name for name in names if name not in part] for part in parts]
    for taken in parts + rests:
        yield taken, {**far, **{name: near[name] for name in taken}}


def _fits_all(points: Sequence[Neighbour], one: Contender, settings: Settings) -> bool:
    return all(fits(point, one.engine, settings) for point in points)
