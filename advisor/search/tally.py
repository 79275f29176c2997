"""The trials of one rung by their settings, as they come. Who leads is known after each of them
without a look at all the others, of which a long study has thousands."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping
from functools import cached_property

from advisor.goal import Goal
from advisor.noise import Noise
from advisor.search.ranking import (
    Candidate,
    Standing,
    first_of,
    may_win,
    noise_of,
    ranked,
    standing,
)
from advisor.trial import Key, Trial


class Tally:
    """What `ranking` says of some trials, to which others are added."""

    def __init__(self, goal: Goal, trials: Iterable[Trial] = ()) -> None:
        self._goal = goal
        self.tried: set[Key] = set()
        self._found: dict[Key, Candidate] = {}
        self._places: dict[Key, int] = {}
        self._order: list[tuple[Standing, int, Candidate]] = []
        for trial in trials:
            self.add(trial)

    def add(self, trial: Trial) -> None:
        """Takes in one more trial; one that did not finish says nothing of its settings."""
        self.tried.add(trial.key)
        if not trial.finished:
            return
        before = self._found.get(trial.key)
        trials = (trial,) if before is None else (*before.trials, trial)
        now = Candidate(trial.engine, trial.settings, trials)
        self._found[trial.key] = now
        place = self._places.setdefault(trial.key, len(self._places))
        if not self._goal.others:
            self._reorder(place, before, now)
        for known in ("ranked", "feasible", "eligible", "noise", "best"):
            self.__dict__.pop(known, None)

    @property
    def candidates(self) -> Mapping[Key, Candidate]:
        """By settings, in the order in which these were first tried."""
        return self._found

    @cached_property
    def ranked(self) -> list[Candidate]:
        """As `ranking.ranked` has them."""
        if self._goal.others:
            return ranked(self._found.values(), self._goal)
        return [candidate for _, _, candidate in self._order]

    @cached_property
    def feasible(self) -> list[Candidate]:
        """Those that keep the limits, in their order."""
        if self._goal.others:
            return [one for one in self.ranked if one.feasible(self._goal)]
        return [one for (unmeasured, excess, *_), _, one in self._order if not unmeasured + excess]

    @cached_property
    def eligible(self) -> list[Candidate]:
        """As `ranking.eligible` has them."""
        return may_win(self.feasible, self._goal)

    @cached_property
    def noise(self) -> Noise:
        """Of the goal's metric, from the settings that were tried more than once."""
        repeated = (one for one in self._found.values() if len(one.trials) > 1)
        return noise_of(repeated, self._goal.metric)

    @cached_property
    def best(self) -> Candidate | None:
        """The best that may win."""
        return first_of(self.eligible, self._goal)

    def _reorder(self, place: int, before: Candidate | None, now: Candidate) -> None:
        if before is not None and before.score(self._goal) is not None:
            at = bisect.bisect_left(self._order, (standing(before, self._goal), place))
            del self._order[at]
        if now.score(self._goal) is not None:
            bisect.insort(self._order, (standing(now, self._goal), place, now))
