"""When a study asks the closed forms, and what it takes from them.

Of several objectives they are asked for each alone: the ends of a front are what they know best.
They are asked once an engine has trials enough to hold them against, and again whenever these are
four times as many: they are better corrected then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from advisor.analytic import LEAST_TRIALS, FirstTier
from advisor.goal import Goal
from advisor.knobs import Settings
from advisor.profile import Profile
from advisor.search.space import Space
from advisor.trial import ANSWERING, Trial

PROPOSALS = 6
"""That are tried each time."""
MORE = 4
"""Trials at which the forms are asked again / trials at which they were asked."""


class Forecast:
    """The closed forms of one engine in a study."""

    def __init__(
        self, profile: Profile, space: Space, seed: int, *, direct_io: bool = False
    ) -> None:
        tier = FirstTier.of(profile, space.engine, direct_io=direct_io)
        self._tiers = [] if tier is None else [replace(tier, goal=one) for one in _alone(tier.goal)]
        self._space = space
        self._seed = seed
        self._due = LEAST_TRIALS
        self._waiting: list[Settings] = []

    def next(self, looks: Sequence[Trial]) -> Settings | None:
        """Settings to try after these trials of the lowest rung; None where the forms have nothing
        to say, or nothing new."""
        own = [
            one
            for one in looks
            if one.engine == self._space.engine and one.finished and one.role not in ANSWERING
        ]
        if self._tiers and len(own) >= self._due:
            self._due = MORE * len(own)
            self._waiting = []
            for tier in self._tiers:
                found = tier.propose(
                    {axis.name: axis.values for axis in self._space.axes},
                    own,
                    count=math.ceil(PROPOSALS / len(self._tiers)),
                    seed=self._seed,
                    lawful=self._is_lawful,
                )
                self._waiting += [one for one in found.settings if one not in self._waiting]
        return self._waiting.pop(0) if self._waiting else None

    def _is_lawful(self, given: Settings) -> bool:
        return self._space.raised(given) == given and self._space.memory_excess(given) <= 0


def _alone(goal: Goal) -> list[Goal]:
    """A goal for each objective, within the same limits."""
    return [Goal(name, goal.limits) for name in goal.objectives]
