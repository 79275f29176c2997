"""Random settings of a space."""

from __future__ import annotations

import random

from advisor.knobs import Settings
from advisor.search.space import Space


def draws(space: Space, count: int, seed: int) -> list[Settings]:
    """Random settings that fit the memory."""
    draw, found = random.Random(seed), []
    while len(found) < count:
        places = {axis.name: draw.randrange(len(axis.values)) for axis in space.axes}
        settings = space.decode(places)
        if space.memory_excess(settings) <= 0:
            found.append(settings)
    return found
