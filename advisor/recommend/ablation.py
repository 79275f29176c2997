"""Which changes buy something: revert them, alone or together, and see what it costs.

The less important half of the changes is reverted together first, because most of what a search
changed does nothing and one run can show that for all of them; a group that matters is halved. The
others are reverted one by one, the most important first. What the bounds left unmeasured is
reverted together at the end. A reversal that costs no more than noise explains stays: the change
goes.

Every reversal is compared with the winner itself, never with the last accepted step, so that many
small losses cannot add up unseen. The procedure only asks a `Bench` for measurements; given stored
trials it repeats its own decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from advisor.goal import Goal, Limit
from advisor.knobs import Settings
from advisor.noise import Noise
from advisor.search.ranking import Candidate, loss

LOOKS = 2
"""Runs of one reversal at most: a second one only where the first leaves a doubt."""
DOUBT = 0.5
"""A cost above this part of the noise bound, and within the bound, is looked at again."""

Fate = Literal["kept", "dropped", "unmeasured", "unlawful"]
"""`unmeasured`: it was not reverted on its own, for want of runs. `unlawful`: the old value does
not go with the other settings and the memory."""


class Bench(Protocol):
    """Where reversals are measured."""

    def known(self, settings: Settings) -> Candidate | None:
        """What was measured of these settings already."""

    def measure(self, settings: Settings, *, spare: int) -> Candidate | None:
        """One more run of these settings; `None` if the bounds allow none beyond `spare` others, or
        it failed."""

    def lawful(self, settings: Settings) -> Settings | None:
        """The settings as the engine and the memory admit them: with a smaller cache where the
        memory asks for it; `None` if nothing helps."""


Unit = tuple[str, ...]
"""Changes that only make sense together: one is a lower bound of the other."""

SPARE_FOR_RESULT = 1
"""Runs kept for looking at the result once more."""
SPARE_FOR_REST = 2
"""The same, and one for all that stayed unmeasured."""


@dataclass(frozen=True)
class Finding:
    """What became of one change."""

    knob: str
    fate: Fate
    cost: float | None = None
    """What its reversal lost of the goal's metric, relatively; below 0 it gained."""
    bound: float | None = None
    """What noise explains of such a difference."""
    together: int = 1
    """How many changes were reverted in the run that decided."""
    broken: tuple[Limit, ...] = ()
    """Limits of the goal that its reversal breaks."""


@dataclass(frozen=True)
class Pruned:
    """The settings that remain, and one finding per change."""

    settings: Settings
    findings: tuple[Finding, ...]


def prune(
    winner: Candidate,
    base: Settings,
    order: Sequence[Unit],
    goal: Goal,
    noise: Noise,
    bench: Bench,
) -> Pruned:
    """Drops the changes of `winner` against `base` that buy nothing. `order` lists them, the most
    important first."""
    pruning = _Pruning(winner, base, goal, noise, bench)
    # The base was measured with the winner: if nothing is lost with it, no reversal need run.
    if not (order and bench.known(base) and pruning.revert(order)):
        middle = (len(order) + 1) // 2
        pruning.revert_by_halves(order[middle:])
        for unit in order[:middle]:
            pruning.revert_by_halves([unit])
        pruning.revert_unmeasured(order)
    return Pruned(
        pruning.settings, tuple(pruning.findings[knob] for unit in order for knob in unit)
    )


class _Pruning:
    """The settings as they shrink, and for each change what its last reversal found."""

    def __init__(
        self, winner: Candidate, base: Settings, goal: Goal, noise: Noise, bench: Bench
    ) -> None:
        self.settings: Settings = winner.settings
        self.findings: dict[str, Finding] = {}
        self._winner, self._base, self._goal = winner, base, goal
        self._noise, self._bench = noise, bench

    def revert_by_halves(self, units: Sequence[Unit]) -> None:
        """Reverts what can be reverted of these changes."""
        if not units or self.revert(units) or len(units) == 1:
            return
        middle = len(units) // 2
        self.revert_by_halves(units[middle:])
        self.revert_by_halves(units[:middle])

    def revert_unmeasured(self, units: Sequence[Unit]) -> None:
        """Reverts together what no run was left for."""
        rest = [unit for unit in units if self.findings[unit[0]].fate == "unmeasured"]
        if rest:
            self.revert(rest, spare=SPARE_FOR_RESULT)

    def revert(self, units: Sequence[Unit], spare: int = SPARE_FOR_REST) -> bool:
        """Reverts these changes together, if that costs nothing beyond noise."""
        knobs = [knob for unit in units for knob in unit]
        changed = {**self.settings, **{knob: self._base[knob] for knob in knobs}}
        reverted = self._bench.lawful(changed)
        seen = None if reverted is None else self._look(reverted, spare)
        if reverted is None or seen is None:
            # That a whole group cannot be reverted says nothing of its parts.
            alone = reverted is None and len(units) == 1
            self._note(knobs, Finding("", "unlawful" if alone else "unmeasured"))
            return False
        cost, bound = self._cost(seen), self._bound(seen)
        broken = self._goal.broken(seen.metrics()) if self._winner.feasible(self._goal) else ()
        if cost <= bound and not broken:
            self.settings = reverted
            self._note(knobs, Finding("", "dropped", cost, bound, len(knobs)))
            return True
        if len(units) == 1:
            self._note(knobs, Finding("", "kept", cost, bound, len(knobs), broken))
        else:
            self._note(knobs, Finding("", "unmeasured"))
        return False

    def _look(self, settings: Settings, spare: int) -> Candidate | None:
        seen = self._bench.known(settings) or self._bench.measure(settings, spare=spare)
        while seen is not None and len(seen.trials) < LOOKS and self._is_doubtful(seen):
            again = self._bench.measure(settings, spare=spare)
            if again is None:
                break
            seen = again
        return seen

    def _is_doubtful(self, seen: Candidate) -> bool:
        bound = self._bound(seen)
        return DOUBT * bound < self._cost(seen) <= bound

    def _cost(self, seen: Candidate) -> float:
        before, after = self._winner.score(self._goal), seen.score(self._goal)
        assert before is not None and after is not None, "candidates of a bench have a score"
        return loss(self._goal, before, after)

    def _bound(self, seen: Candidate) -> float:
        return self._noise.bound(len(self._winner.judged), len(seen.judged))

    def _note(self, knobs: Sequence[str], finding: Finding) -> None:
        self.findings |= {knob: replace(finding, knob=knob) for knob in knobs}
