"""Which looks have to be looked at once more before their settings may lead: those that were not
yet steady, and those that one seed alone speaks for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from advisor.goal import Goal
from advisor.noise import ASSUMED_RELATIVE_SD
from advisor.search.dominance import Point, covers
from advisor.search.ranking import Candidate, ranked, stands
from advisor.search.tally import Tally
from advisor.trial import Trial

LONGER = 4.0
"""How many times longer settings are measured that would lead although they were not yet steady.
Assumption: a warm-up that grows as much is longer than all of the first look."""

CONFIRMATIONS = 2
"""Looks with other seeds, at most, at simulated settings that would lead."""
ALIKE = ASSUMED_RELATIVE_SD
"""Looks that differ by less, relatively, need no third one."""

Doubt = Literal["unsettled", "chance"]
"""Why a look does not stand yet: it was not yet steady, or its seed may have flattered it."""


@dataclass(frozen=True)
class Doubts:
    """What the looks so far say of one more."""

    goal: Goal
    looks: Tally

    def of(self, trial: Trial, times: float) -> Doubt | None:
        """Of a look that lasted so many times as long as is usual; None where it stands."""
        if self._would_lead_unsettled(trial, times):
            return "unsettled"
        return "chance" if self._would_lead_by_chance(trial) else None

    def all_looks(self, trial: Trial) -> Candidate | None:
        """All looks at the settings of a trial that finished."""
        return self.looks.candidates.get(trial.key)

    def _would_lead_unsettled(self, trial: Trial, times: float) -> bool:
        """Whether a look that was not yet steady is better than the best that was: its settings
        lead only once a longer trial has seen as much."""
        if trial.steady is not False or not trial.finished or times > 1:
            return False
        found = Candidate(trial.engine, trial.settings, (trial,))
        if not found.feasible(self.goal):
            return False
        leaders = [one for one in self.looks.eligible if stands(one, self.goal)]
        return not self._is_covered(self.goal.point(found.metrics()), leaders)

    def _would_lead_by_chance(self, trial: Trial) -> bool:
        """Whether a look is better than the best that was looked at again, or than all others while
        none was; and was itself not looked at again, or not alike. With one seed for all looks a
        search finds what that seed's data flatters. Of several objectives once, at what no
        other beats in all."""
        if trial.clock != "simulated" or not trial.finished:
            return False
        found = self.all_looks(trial)
        if found is None or not found.feasible(self.goal):
            return False
        if found.repeats >= CONFIRMATIONS or (found.repeats and self._is_alike(found)):
            return False
        others = [one for one in self.looks.eligible if one is not found]
        rivals = [one for one in others if one.repeats] or others
        if self.goal.others:
            point = self.goal.point(found.metrics())
            return not found.repeats and not self._is_covered(point, rivals)
        return not rivals or ranked([found, rivals[0]], self.goal)[0] is found

    def _is_covered(self, point: Point, others: Iterable[Candidate]) -> bool:
        return any(covers(self.goal.point(one.metrics()), point) for one in others)

    def _is_alike(self, found: Candidate) -> bool:
        spread = found.spread(self.goal.metric)
        return spread is not None and spread.high - spread.low <= ALIKE * abs(spread.median)
