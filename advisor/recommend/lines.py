"""Which changes of settings are looked at, and where: in short runs where there is a rung for them,
the most important first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from advisor import engines, knobs
from advisor.goal import Goal
from advisor.knobs import Engine, Settings
from advisor.recommend.bench import FinalRuns, StudyBench
from advisor.recommend.duel import Bench
from advisor.recommend.evidence import Finding
from advisor.recommend.selection import Selected, Unit, restore, select
from advisor.search import VERDICT_RUNS, Study
from advisor.search.ranking import candidates, loss, ranked
from advisor.search.rules import rules
from advisor.trial import ANSWERING

RESERVE_OF_RESULT = 3
"""Kept for the final runs of another result, when all others have had theirs."""


@dataclass(frozen=True)
class Lines:
    """Where single changes are looked at: in short runs where there is a rung for them."""

    study: Study
    goal: Goal
    engine: Engine
    bench: StudyBench
    spare: int
    proof_spare: int
    may_run: bool

    def select(self, best: Settings, base: Settings, proof: Bench) -> Selected:
        """The changes that buy something, if `proof` shows that they do together."""
        bench = self.bench
        if self.study.rung_below:
            bench = StudyBench(self.study, self.goal, self.engine, may_run=self.may_run, looks=True)
        units, spare = self._units(best, base), (self.spare, self.proof_spare)
        return select(best, base, units, self.goal, bench, spare, proof, self._start)

    def select_proven(self, best: Settings, base: Settings, *, alone: bool = False) -> Selected:
        """The changes that buy something, of settings of which final runs showed that they do
        together. With `alone` runs are kept for the final ones of the file and of the result only:
        what they are compared with has had its own."""
        rest = replace(self, spare=min(self.spare, 2 * VERDICT_RUNS)) if alone else self
        return rest.select(best, base, FinalRuns(self.bench, self.goal))

    def restore(self, best: Settings, base: Settings, seen: Sequence[Finding]) -> Selected:
        """The fewest changes that reach the best in runs of the kind that decides."""
        units, spare = self._units(best, base), min(self.spare, RESERVE_OF_RESULT)
        return restore(best, base, units, self.goal, self.bench, seen, spare, self._start)

    @property
    def _start(self) -> Settings:
        return self.study.question.compared(self.engine)

    def _units(self, best: Settings, base: Settings) -> list[Unit]:
        return _by_importance(self.study, self.goal, self.engine, best, base)


def _by_importance(
    study: Study, goal: Goal, engine: Engine, best: Settings, base: Settings
) -> list[Unit]:
    """The changes, the most important first; a knob goes with the changed one that bounds it.

    First is what nothing good lacks: the best of all settings that lack the change loses most
    against the best of all. Of those alike the cache goes first, and then what has most share in
    reaching good scores and is set by most rules of thumb: with few trials the shares are rough.
    """
    share = study.importance(engine)
    catalogue = knobs.catalogue(engine)
    units: dict[str, list[str]] = {}
    for name in catalogue:
        if best[name] == base[name]:
            continue
        root, above = name, catalogue[name].at_least
        while above is not None and best[above] != base[above]:
            root, above = above, catalogue[above].at_least
        units.setdefault(root, []).append(name)
    known = rules(engine)
    seen = [t for t in study.looks if t.engine == engine and t.role not in ANSWERING]
    order = ranked(candidates(seen), goal)

    def usual(name: str) -> float:
        return sum(name in rule.stated for rule in known) / max(1, len(known))

    def missed(names: Sequence[str]) -> float:
        lacking = (one for one in order if all(one.settings[name] == base[name] for name in names))
        found = next(lacking, None)
        if found is None or found.feasible(goal) != order[0].feasible(goal):
            return 1.0
        return loss(goal, order[0].metrics()[goal.metric], found.metrics()[goal.metric])

    def weight(root: str) -> tuple[float, bool, float]:
        heaviest = max(share.get(name, 0.0) + usual(name) for name in units[root])
        return missed(units[root]), root == engines.of(engine).cache_knob, heaviest

    return [tuple(units[root]) for root in sorted(units, key=weight, reverse=True)]
