"""Which settings are looked at again, and climb: the best, their rivals, and what all of them are
compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from advisor.goal import Goal
from advisor.knobs import Engine, Settings
from advisor.search.allocate import CLOSE
from advisor.search.ranking import (
    VERDICT_RUNS,
    WORTH,
    Candidate,
    first_of,
    loss,
    may_win,
)
from advisor.search.tally import Tally
from advisor.trial import Key, settings_key

CONTENDERS = 3
"""Settings of the leading engine, or of the one that is exported, that are repeated besides the
baselines."""
CLIMBERS = 3
"""Settings of each engine that climb: what a small copy finds best is among its first few more
often than it is the first."""

OF_A_FRONT = 6
"""In place of either where there are several objectives: so many members of a front show its
course, which its first alone does not."""


@dataclass(frozen=True)
class Contender:
    """Settings that may be run again."""

    engine: Engine
    settings: Settings
    runs: int
    """How often they were repeated on the rung, those under way included."""


@dataclass(frozen=True)
class Field:
    """What has been tried on one rung, and what is under way there."""

    engines: Sequence[Engine]
    goal: Goal
    baselines: Callable[[Engine], Sequence[Settings]]
    """What settings of an engine are compared with."""
    tally: Tally
    wanted: Engine | None
    """Whose file the user asked for: its best are looked at as the leader's are."""
    under_way: Callable[[Key], int]

    def climbers(self, order: Sequence[Candidate]) -> list[Contender]:
        """What was found on the lowest rung, ranked there, and was never run on this one, the most
        telling first."""
        chosen = list(order[:1])
        orders = {name: [one for one in order if one.engine == name] for name in self.engines}
        by_engine = list(orders.values())
        chosen += [own[0] for own in by_engine if own]
        # What experienced people would take is compared where it counts.
        known = [[one for one in own if any(t.rule for t in one.trials)] for own in by_engine]
        rules = [own[0] for own in known if own]
        # So is what each engine has without a change: what a small copy found may lose to it here.
        bases = [base for own in by_engine for base in _known(own, self.baselines)[:1]]
        leading = self._may_lead(order)
        chosen += [one for one in [*rules, *bases] if one.engine in leading[:1]]
        chosen += [*bases, *(one for one in rules if one.engine in leading)]
        if self.goal.others:
            chosen += _leading(self._exported(order), self.baselines, OF_A_FRONT)
        else:
            chosen += _in_turns(
                [_leading(orders[engine], self.baselines, CLIMBERS) for engine in leading]
            )
        chosen += rules + [one for own in by_engine for one in own[:CLIMBERS]]
        return self._unique([one for one in chosen if one.key not in self.tally.tried])

    def open_verdict(self) -> list[Contender]:
        """The best of each engine, as long as it was not run often enough to compare engines."""
        if len(self.engines) < 2:
            return []
        firsts = [self._best_of(engine) for engine in self.engines]
        known = [one for one in firsts if one is not None]
        short = [c for c in known if len(c.trials) + self.under_way(c.key) < VERDICT_RUNS]
        return self._unique(short)

    def contenders(self) -> list[Contender]:
        """What is worth another look: the best, and of what it is compared with and its rivals
        those that are not told apart from it. Nothing, once another look could not tell more than
        what is worth telling."""
        order = self.tally.ranked
        if not order:
            return []
        most = OF_A_FRONT if self.goal.others else CONTENDERS
        exported = self._exported(order)
        chosen = _leading(exported, self.baselines, most)
        chosen += [one for one in order if one.engine != exported[0].engine][:1]
        leader = exported[0]
        # Of limits and fronts nothing is told for good: a margin to one grows with each look at it.
        if not (self.goal.limits or self.goal.others):
            chosen = [one for one in chosen if one is leader or not self._is_told(leader, one)]
            if chosen == [leader] and leader.repeats >= VERDICT_RUNS:
                return []
        return self._unique(chosen)

    def _is_told(self, leader: Candidate, one: Candidate) -> bool:
        """Whether it is clear who is better, or that it hardly matters."""
        if one.repeats < VERDICT_RUNS:
            return False
        metric, noise = self.goal.metric, self.tally.noise
        bound = noise.bound(len(leader.judged), len(one.judged))
        gap = loss(self.goal, leader.metrics()[metric], one.metrics()[metric])
        return noise.degrees > 0 and (bound <= WORTH or gap > bound)

    def _exported(self, order: Sequence[Candidate]) -> Sequence[Candidate]:
        """The order of the engine that is exported, if it is known which: else of all."""
        return [one for one in order if one.engine == self.wanted] or order

    def _may_lead(self, order: Sequence[Candidate]) -> list[Engine]:
        """The engine that is exported, or else that which leads an order and those of which the
        best is close behind: on another rung they may lead."""
        exported = self._exported(order)
        if self.wanted or self.goal.others or not exported:
            return [one.engine for one in exported[:1]]
        metric, best = self.goal.metric, exported[0]
        firsts = list({one.engine: one for one in reversed(exported)}.values())

        def is_close(one: Candidate) -> bool:
            behind = loss(self.goal, best.metrics()[metric], one.metrics()[metric])
            return one.feasible(self.goal) and behind <= CLOSE

        close = [one.engine for one in firsts if one is not best and is_close(one)]
        return [best.engine, *close]

    def _best_of(self, engine: Engine) -> Candidate | None:
        own = [one for one in self.tally.ranked if one.engine == engine]
        return first_of(
            may_win([one for one in own if one.feasible(self.goal)], self.goal), self.goal
        )

    def _unique(self, chosen: Sequence[Candidate]) -> list[Contender]:
        return [
            Contender(one.engine, one.settings, self._repeats(key) + self.under_way(key))
            for key, one in {one.key: one for one in chosen}.items()
        ]

    def _repeats(self, key: Key) -> int:
        """Repetitions on this rung; those of another have met the same seeds there."""
        known = self.tally.candidates.get(key)
        return known.repeats if known else 0


def _leading(
    order: Sequence[Candidate], baselines: Callable[[Engine], Sequence[Settings]], most: int
) -> list[Candidate]:
    """The first of an order, the baselines of its engine, and those that follow it."""
    if not order:
        return []
    return [order[0], *_known(order, baselines), *order[1:most]]


def _known(
    order: Sequence[Candidate], baselines: Callable[[Engine], Sequence[Settings]]
) -> list[Candidate]:
    """The baselines of the engine that leads an order, as far as they are in it."""
    wanted = [
        settings_key(one.engine, given) for one in order[:1] for given in baselines(one.engine)
    ]
    return [one for key in wanted for one in order if one.key == key]


def _in_turns(orders: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """The first of each, then the second of each, and so on."""
    return [one for row in zip_longest(*orders) for one in row if one is not None]
