"""Which of two settings is better: both are run until that is clear, or never will be.

An early look must be clearer than a late one, and all looks together err as seldom as one would.
Limits go before the goal's metric: who is farther beyond one is not better. Who asks only needs a
`Bench`; given stored trials it comes to the same decisions.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Protocol

from advisor.goal import Goal
from advisor.knobs import Settings
from advisor.noise import ASSUMED_RELATIVE_SD, Noise
from advisor.recommend import told
from advisor.recommend.evidence import Effect
from advisor.recommend.limits import Noises, farther
from advisor.search.ranking import WORTH, Candidate, loss

LOOKS = 10
"""Runs of settings at most: with 3% of noise a difference of 8% is six standard errors by then."""
ENTRY = 0.01
"""Of an error when a change is taken in, or settings are taken for worse than others."""
SCREEN = 0.1
"""Of taking a change for needed at the first look; those that hide in noise are found together."""
SURE = 2.0
"""Standard errors that a difference is given when it is asked whether more runs could show it."""


class Bench(Protocol):
    """Where settings are measured."""

    def known(self, settings: Settings) -> Candidate | None:
        """What was measured of these settings already."""

    def measure(self, wanted: Sequence[Settings], *, spare: int) -> None:
        """One more run of each of these settings, as far as the bounds allow any beyond `spare`
        others; a run may fail."""

    @property
    def is_exhausted(self) -> bool:
        """Whether the last runs that were asked for were more than the bounds allow."""

    def noises(self) -> Noises:
        """What is known of noise by now."""

    def lawful(self, settings: Settings) -> Settings | None:
        """The settings as the engine and the memory admit them: with a smaller cache where the
        memory asks for it; `None` if nothing helps."""


class Duels:
    """Settings against one another, by one goal and on one bench, of whose runs `spare` are left
    for others."""

    def __init__(self, goal: Goal, bench: Bench, spare: int) -> None:
        self._goal, self._bench, self._spare = goal, bench, spare
        self._failed: list[Settings] = []
        self.is_out_of_runs = False
        """Whether any run was asked for that the bounds do not allow."""

    def has_run(self, settings: Settings | None) -> bool:
        """Whether anything was measured of them."""
        return settings is not None and self._bench.known(settings) is not None

    def look(self, *wanted: Settings) -> None:
        """Runs those of the settings that were never run."""
        self._measure([one for one in wanted if self._bench.known(one) is None])

    def edge(self, one: Settings, other: Settings) -> Effect | None:
        """What one gains over the other, relatively to it."""
        first, second = self._bench.known(one), self._bench.known(other)
        if first is None or second is None:
            return None
        gain = 0.0
        if not first.does_the_same(second):
            gain = -loss(self._goal, self._level(second), self._level(first))
        noise = self._bench.noises()[self._goal.metric]
        return told.effect(self._goal, gain, noise, first, second, LOOKS)

    def looks_worse(self, one: Settings | None, other: Settings) -> bool:
        """Whether settings are worse than others at a first look, or nobody knows."""
        if one is None:
            return True
        first, second = self._bench.known(one), self._bench.known(other)
        edge = self.edge(other, one)
        if first is None or second is None or edge is None:
            return True
        noises = self._bench.noises()
        if farther(self._goal, noises, second, first):
            return False
        is_seen = edge.gain > WORTH and edge.chance <= SCREEN
        return is_seen or bool(farther(self._goal, noises, first, second))

    def is_better(self, one: Settings, other: Settings, chance: float) -> bool:
        """Whether settings are better than others, run until that is clear but for this chance of
        an error; taken for better where one of them has no run and can have none."""
        self.look(one, other)
        while True:
            first, second = self._bench.known(one), self._bench.known(other)
            if first is None or second is None:
                return True
            noises = self._bench.noises()
            if farther(self._goal, noises, first, second):
                return False
            if farther(self._goal, noises, second, first):
                return True
            edge = self.edge(one, other)
            assert edge is not None, "both were run"
            if edge.chance_of_looks <= chance:
                return edge.gain > WORTH
            if self._is_hopeless(first, second, edge, chance):
                return False
            if not self._run_fewer(one, other):
                # Of few runs noise is hardly known: what is assumed of any machine stands in.
                runs = (len(first.judged), len(second.judged))
                assumed = Noise(ASSUMED_RELATIVE_SD, 0).bound_of_means(*runs)
                is_clear = edge.chance <= ENTRY or edge.gain > assumed
                return is_clear and edge.gain > WORTH

    def _is_hopeless(
        self, first: Candidate, second: Candidate, edge: Effect, chance: float
    ) -> bool:
        """Whether even all the runs that there may be would hardly show a difference."""
        runs = (len(first.judged), len(second.judged))
        if min(runs) >= LOOKS or edge.is_none:
            return True
        noise = self._bench.noises()[self._goal.metric]
        hoped = edge.gain + SURE * noise.error(*runs)
        later = noise.with_more(2 * LOOKS - sum(min(number, LOOKS) for number in runs))
        at_end = max(runs[0], LOOKS), max(runs[1], LOOKS)
        return hoped < WORTH or later.chance_of_looks(hoped, *at_end, LOOKS) > chance

    def _level(self, candidate: Candidate) -> float:
        """The mean of the goal's metric: noise is that of means."""
        return statistics.fmean(candidate.values(self._goal.metric))

    def _run_fewer(self, one: Settings, other: Settings) -> bool:
        """Runs that of the two which has fewer runs once more, both where they have as many;
        whether a run was made."""
        runs = {
            len(seen.judged): given for given in (one, other) if (seen := self._bench.known(given))
        }
        before = self._runs_of(one, other)
        self._measure([one, other] if len(runs) == 1 else [runs[min(runs)]])
        return self._runs_of(one, other) > before

    def _measure(self, wanted: Sequence[Settings]) -> None:
        """One more run of each of these, side by side, but of what failed."""
        due = [
            one
            for place, one in enumerate(wanted)
            if one not in wanted[:place] and one not in self._failed
        ]
        if not due:
            return
        before = {i: self._runs_of(one) for i, one in enumerate(due)}
        self._bench.measure(due, spare=self._spare)
        self.is_out_of_runs |= self._bench.is_exhausted
        self._failed += [one for i, one in enumerate(due) if self._runs_of(one) == before[i]]

    def _runs_of(self, *wanted: Settings) -> int:
        known = (self._bench.known(one) for one in wanted)
        return sum(len(one.trials) for one in known if one is not None)
