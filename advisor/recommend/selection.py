"""The smallest file that reaches the best settings: which of their changes buy something.

Each change is left out once, side by side. Those that are missed may be all that is needed; if the
settings with them alone are not as good as the best, changes do for one another, and by halving it
finds the fewest of the most important others that it takes. Where no run is left for that, the last
are made without the least of what was not missed. In the end each change that stayed is left out
once more, in the company that is left, and made alone; it stays only if that was told from noise
among as many comparisons as there were changes (Holm 1979), or if the settings without it are not
as good as the best.

Which of two settings is better is a duel (`advisor/recommend/duel.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from advisor.goal import Goal
from advisor.knobs import Setting, Settings
from advisor.recommend.duel import ENTRY, Bench, Duels
from advisor.recommend.evidence import Finding
from advisor.recommend.limits import farther
from advisor.recommend.verdict import Comparison
from advisor.search.ranking import WORTH

CHANCE = 0.05
"""Of an error in any of the lines together."""
GATE = 0.001
"""Of an error when the best settings are taken for better than the base: several looks are made at
the best of many."""

Unit = tuple[str, ...]
"""Changes that only make sense together: one is a lower bound of the other."""


@dataclass(frozen=True)
class Untold:
    """The best settings where nothing of them stayed, since runs ended before what they gain was
    told from noise."""

    settings: Settings
    gain: Comparison
    """Over the base, so far."""


@dataclass(frozen=True)
class Selected:
    """The settings that remain, and one finding per change."""

    settings: Settings
    findings: tuple[Finding, ...]
    is_proven: bool = False
    """Whether the best settings were told from the base, in as many runs as that took."""
    untold: Untold | None = None
    """Absent too where neither the best nor the base was run."""


def select(
    best: Settings,
    base: Settings,
    order: Sequence[Unit],
    goal: Goal,
    bench: Bench,
    spare: tuple[int, int] = (0, 0),
    proof: Bench | None = None,
    start: Settings | None = None,
) -> Selected:
    """The changes of `best` against `base` that buy something. `order` lists them, the most
    important first. That the best is better than the base at all is seen on `proof`, if that is
    another bench. `spare` runs are left for others, by the changes and by the proof. `start` is
    what there is without the changes, where the base does not fit the memory."""
    selection = _Selection(best, base, order, goal, bench, spare[0], start)
    if order:
        selection.carry_out(None if proof is None else Duels(goal, proof, spare[1]))
    return selection.result()


def restore(
    best: Settings,
    base: Settings,
    order: Sequence[Unit],
    goal: Goal,
    bench: Bench,
    seen: Sequence[Finding],
    spare: int = 0,
    start: Settings | None = None,
) -> Selected:
    """The fewest changes of `best` against `base`, which is known to be worse, that reach it, those
    first of which most was seen elsewhere; all where no run is left to tell. What comes back is
    `needed`. `start` is as for `select`."""
    selection = _Selection(best, base, order, goal, bench, spare, start)
    selection.bring_back({one.knob: one for one in seen})
    return selection.result()


class _Selection:
    """The changes that are in so far, those that were tried in vain, and what was seen of each."""

    def __init__(
        self,
        best: Settings,
        base: Settings,
        order: Sequence[Unit],
        goal: Goal,
        bench: Bench,
        spare: int,
        start: Settings | None = None,
    ) -> None:
        self._best, self._base, self._order = best, base, list(order)
        self._goal, self._bench = goal, bench
        self._duels = Duels(goal, bench, spare)
        # What does not fit the memory cannot be run: the base may be one with a smaller cache.
        self._start = bench.lawful(base if start is None else start)
        self._kept: list[Unit] = []
        self._findings: dict[Unit, Finding] = {}
        self._is_proven = False
        self._untold: Untold | None = None

    def carry_out(self, elsewhere: Duels | None) -> None:
        """Selects if it is seen, on the same bench or `elsewhere`, that the best is better than the
        base."""
        if self._start is not None:
            proof = elsewhere or self._duels
            is_better = proof.is_better(self._best, self._start, GATE)
            edge = proof.edge(self._best, self._start)
            self._is_proven = edge is not None and edge.chance_of_looks <= GATE
            if not is_better:
                if edge is not None and edge.gain > WORTH and proof.is_out_of_runs:
                    gain = Comparison(edge.gain, edge.bound, edge.runs)
                    self._untold = Untold(self._best, gain)
                return
        self._screen()
        missed = [unit for unit in self._order if self._is_missed(unit)]
        if self._reaches(missed):
            self._kept = missed
        elif self._duels.is_out_of_runs and not self._has_run(missed):
            self._kept = self._without_least(missed)
        else:
            self._kept = self._with_fewest(missed)
        self._prove()
        self._make_alone()

    def bring_back(self, seen: Mapping[str, Finding]) -> None:
        self._findings = {unit: seen[unit[0]] for unit in self._order if unit[0] in seen}
        self._kept = self._with_fewest([])
        for unit in self._kept:
            self._note(unit, fate="needed")

    def result(self) -> Selected:
        settings = self._settings(self._kept) or self._best
        left_out = [unit for unit in self._order if unit not in self._kept]
        rest = self._duels.edge(settings, self._best) if left_out else None
        found = []
        for unit in self._order:
            finding = self._findings.get(unit, Finding("", "unmeasured"))
            if unit in left_out:
                finding = replace(finding, fate="dropped", together=len(left_out), rest=rest)
            found += [replace(finding, knob=knob) for knob in unit]
        return Selected(settings, tuple(found), self._is_proven, self._untold)

    def _screen(self) -> None:
        """Leaves out each change once, in the company of all others; the least important first,
        since that of which nothing is known stays."""
        rests = [(unit, self._settings(self._others([unit]))) for unit in self._order]
        self._duels.look(*(rest for _, rest in rests[::-1] if rest is not None))
        for unit, rest in rests:
            known = None if rest is None else self._bench.known(rest)
            if rest is None or known is None:
                self._note(unit, fate="unlawful" if rest is None else "unmeasured")
            else:
                company = self._duels.edge(self._best, rest)
                self._note(
                    unit,
                    fate="kept",
                    company=company,
                    screened=company,
                    without=known.score(self._goal),
                )

    def _is_missed(self, unit: Unit) -> bool:
        """Whether something was lost when it alone was left out, or nobody knows."""
        return self._duels.looks_worse(self._settings(self._others([unit])), self._best)

    def _without_least(self, missed: Sequence[Unit]) -> list[Unit]:
        """All but those that were not missed and of which least was seen, which by what was seen of
        each buy less together than a line is worth, or all but half of these, or all but those
        without which a run did the same; all, where a look at each of these, side by side, shows
        that they are worse, or none can be had beyond the runs that are left for others."""
        others = sorted((unit for unit in self._order if unit not in missed), key=self._seen)
        idle = [unit for unit in others if self._is_idle(unit)]
        least: list[Unit] = []
        lost = 0.0
        for unit in others:
            lost += max(0.0, self._seen(unit))
            if lost > WORTH:
                break
            least.append(unit)
        going = dict.fromkeys(tuple(g) for g in (least, least[: len(least) // 2], idle) if g)
        kept = [self._others(gone) for gone in sorted(going, key=len, reverse=True)]
        made = [(units, self._settings(units)) for units in kept]
        due = [one for _, one in made if one is not None and self._bench.known(one) is None]
        if due:
            self._bench.measure(due, spare=0)
        as_good = (units for units, one in made if not self._duels.looks_worse(one, self._best))
        return next(as_good, list(self._order))

    def _with_fewest(self, missed: Sequence[Unit]) -> list[Unit]:
        """Those that were missed, and the fewest of the others beside which the settings are as
        good as the best, those first without which less was seen: of some, one does for the other,
        and they are only missed together."""
        others = sorted(self._others(missed), key=self._seen, reverse=True)
        few, many = 0, len(others)
        while many - few > 1 and not self._duels.is_out_of_runs:
            middle = (few + many) // 2
            if self._reaches(self._ordered(missed, others[:middle])):
                many = middle
            else:
                few = middle
        self._kept = self._ordered(missed, others[:many])
        if not self._duels.is_out_of_runs:
            self._take_away(others[:many][::-1])
        return self._kept

    def _seen(self, unit: Unit) -> float:
        """What was lost when it alone was left out, as far as anybody has seen."""
        found = self._findings.get(unit)
        return 0.0 if found is None or found.company is None else found.company.gain

    def _is_idle(self, unit: Unit) -> bool:
        found = self._findings.get(unit)
        return found is not None and found.company is not None and found.company.is_none

    def _others(self, units: Sequence[Unit]) -> list[Unit]:
        return [unit for unit in self._order if unit not in units]

    def _ordered(self, *groups: Sequence[Unit]) -> list[Unit]:
        return [unit for unit in self._order if any(unit in group for group in groups)]

    def _take_away(self, units: Sequence[Unit]) -> None:
        """Takes these changes away together or, where something is lost with them, by halves."""
        left = [unit for unit in self._kept if unit not in units]
        if self._reaches(left):
            self._kept = left
        elif len(units) > 1 and not self._duels.is_out_of_runs:
            middle = (len(units) + 1) // 2
            self._take_away(units[:middle])
            self._take_away(units[middle:])

    def _prove(self) -> None:
        """Leaves out each change in company, and drops the least sure one as long as it is not told
        from noise and the best settings are not better without it."""
        while self._kept:
            # Without the last one they were run before it came.
            self._duels.look(*filter(None, map(self._without, [self._kept[-1], *self._kept[:-1]])))
            if not self._drop_doubtful():
                break
        for unit in self._unproven():
            if self._findings[unit].company is not None:
                self._note(unit, fate="weak")

    def _drop_doubtful(self) -> bool:
        """Drops one change that may go, the least sure first; whether there was one. Who is told
        from noise in its company would have to be told again in another."""
        whole = self._settings(self._kept)

        def seen(unit: Unit) -> float:
            rest = self._without(unit)
            edge = self._duels.edge(whole, rest) if whole is not None and rest is not None else None
            return edge.gain if edge else 0.0

        for unit in sorted(self._kept, key=seen):
            self._leave_out(unit)
            if self._is_doubtful(unit) and self._may_go(unit):
                self._kept.remove(unit)
                return True
        doubtful = [unit for unit in self._unproven() if self._may_go(unit)]
        if doubtful:
            self._kept.remove(doubtful[0])
        return bool(doubtful)

    def _is_doubtful(self, unit: Unit) -> bool:
        """Whether it would not be told from noise even if it were the least sure of all."""
        found = self._findings[unit]
        if found.broken or found.company is None:
            return False
        level = CHANCE / (len(self._order) - len(self._kept) + 1)
        return found.company.chance_of_looks > level or found.company.gain <= WORTH

    def _leave_out(self, unit: Unit) -> None:
        whole = self._settings(self._kept)
        rest = self._without(unit)
        if whole is None or rest is None:
            self._note(unit, fate="unlawful")
            return
        self._duels.is_better(whole, rest, CHANCE / len(self._order))
        one, other = self._bench.known(whole), self._bench.known(rest)
        if one is None or other is None:
            # What the screening told of it, in the company of all, is more than nothing.
            found = self._findings.get(unit)
            if found is None or found.company is None or not found.company.is_told:
                self._note(unit, fate="unmeasured", company=None)
            return
        noises = self._bench.noises()
        self._note(
            unit,
            fate="kept",
            company=self._duels.edge(whole, rest),
            without=other.score(self._goal),
            broken=farther(self._goal, noises, other, one),
        )

    def _unproven(self) -> list[Unit]:
        """What Holm's procedure does not tell from noise, the least sure first. Changes that were
        dropped count among the comparisons."""
        chances = {
            unit: 0.0 if found.broken else found.company.chance_of_looks if found.company else 1.0
            for unit in self._kept
            if (found := self._findings[unit]).fate != "unlawful"
        }
        ordered = sorted(chances, key=lambda unit: chances[unit])
        for place, unit in enumerate(ordered):
            found = self._findings[unit]
            worth = found.broken or (found.company is not None and found.company.gain > WORTH)
            if chances[unit] > CHANCE / (len(self._order) - place) or not worth:
                return ordered[place:][::-1]
        return []

    def _may_go(self, unit: Unit) -> bool:
        """Whether the best settings are not better without it, or are better even with it."""
        rest = [other for other in self._kept if other != unit]
        is_seen = self._findings[unit].company is not None
        return is_seen and (
            self._reaches(rest) or (not self._reaches(self._kept) and self._has_run(self._kept))
        )

    def _make_alone(self) -> None:
        """Makes each change that stayed alone, on the base."""
        if self._start is None:
            return
        lawful = {unit: self._settings([unit]) for unit in self._kept}
        alone = {unit: settings for unit, settings in lawful.items() if settings is not None}
        self._duels.look(*alone.values())
        for unit, settings in alone.items():
            if self._bench.known(settings) is not None:
                self._note(unit, alone=self._duels.edge(settings, self._start))

    def _reaches(self, units: Sequence[Unit]) -> bool:
        """Whether the settings with these changes are as good as the best."""
        settings = self._settings(units)
        return settings is not None and (
            settings == self._best or not self._duels.is_better(self._best, settings, ENTRY)
        )

    def _has_run(self, units: Sequence[Unit]) -> bool:
        return self._duels.has_run(self._settings(units))

    def _without(self, unit: Unit) -> Settings | None:
        """The settings that stayed but for one change."""
        return self._settings([other for other in self._kept if other != unit])

    def _settings(self, units: Sequence[Unit]) -> Settings | None:
        """The base with these changes, as the engine and the memory admit them."""
        if not units:
            return self._start
        changes: dict[str, Setting] = {knob: self._best[knob] for unit in units for knob in unit}
        if len(units) == len(self._order):
            return self._best
        return self._bench.lawful({**self._base, **changes})

    def _note(self, unit: Unit, **seen: object) -> None:
        known = self._findings.get(unit, Finding("", "unmeasured"))
        self._findings[unit] = replace(known, **seen)  # type: ignore[arg-type]
