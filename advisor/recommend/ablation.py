"""Which changes buy something: revert them, alone or together, and see what it costs.

The less important half of the changes is reverted together first, because most of what a search
changed does nothing and one run can show that for all of them. The others are reverted one by one,
the most important first; then a first half that mattered is halved again. What the bounds left
unmeasured is reverted together at the end. A reversal that costs no more than noise explains stays:
the change goes.

Every reversal is compared with the winner itself, never with the last accepted step, so that many
small losses cannot add up unseen. Limits go before the goal's metric: a reversal that goes beyond
one, or farther beyond one that nothing keeps, is not made; one that comes nearer is, and the next
are compared with it. The procedure only asks a `Bench` for measurements; given stored trials it
repeats its own decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from advisor.goal import Goal, Limit
from advisor.knobs import Settings
from advisor.recommend.limits import Noises, farther
from advisor.search.ranking import Candidate, loss

LOOKS = 2
"""Runs of one reversal at most: a second one only where the first leaves a doubt."""
DOUBT = (0.5, 2.0)
"""A cost between these multiples of the noise bound is looked at again."""
WORTH = 0.02
"""A change that buys less of the goal's metric than this is not worth a line, however sure it
is."""

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
"""Runs kept for the file as it stands, or else for looking at the result once more."""
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
    score: float | None = None
    """The goal's metric without it."""
    broken: tuple[Limit, ...] = ()
    """Limits of the goal that its reversal breaks, or goes farther beyond."""
    nearer: tuple[Limit, ...] = ()
    """Limits that nothing keeps and its reversal comes nearer to."""


@dataclass(frozen=True)
class Pruned:
    """The settings that remain, and one finding per change."""

    settings: Settings
    findings: tuple[Finding, ...]


def as_decided(candidate: Candidate) -> Candidate:
    """The candidate as the ablation judges it: without the runs that were made after its decision,
    which would make the same trials tell another story when they are read again."""
    before = [trial for trial in candidate.trials if trial.role != "ablation"]
    looks = [trial for trial in candidate.trials if trial.role == "ablation"][:LOOKS]
    return replace(candidate, trials=(*before, *looks))


def prune(
    winner: Candidate,
    base: Settings,
    order: Sequence[Unit],
    goal: Goal,
    noises: Noises,
    bench: Bench,
) -> Pruned:
    """Drops the changes of `winner` against `base` that buy nothing. `order` lists them, the most
    important first."""
    pruning = _Pruning(winner, base, goal, noises, bench)
    # The base was measured with the winner: if nothing is lost with it, no reversal need run.
    if not (order and bench.known(base) and pruning.revert(order)):
        middle = (len(order) + 1) // 2
        lesser = order[middle:]
        dropped = bool(lesser) and pruning.revert(lesser)
        for unit in order[:middle]:
            pruning.revert([unit])
        if not dropped:
            pruning.revert_parts(lesser)
        pruning.revert_unlawful(order)
        pruning.revert_unmeasured(order)
        pruning.revert_if_useless(order)
    return Pruned(
        pruning.settings, tuple(pruning.findings[knob] for unit in order for knob in unit)
    )


class _Pruning:
    """The settings as they shrink, and for each change what its last reversal found."""

    def __init__(
        self, winner: Candidate, base: Settings, goal: Goal, noises: Noises, bench: Bench
    ) -> None:
        self.settings: Settings = winner.settings
        # Before the memory shrank a cache: what shrank it may go later, and the cache comes back.
        self._wanted: Settings = winner.settings
        self.findings: dict[str, Finding] = {}
        self._reference, self._base, self._goal = winner, base, goal
        self._noises, self._bench = noises, bench

    def revert_parts(self, units: Sequence[Unit]) -> None:
        """Reverts what can be reverted of changes that cannot all be reverted together."""
        if len(units) < 2:
            return
        middle = len(units) // 2
        for part in (units[middle:], units[:middle]):
            if not self.revert(part):
                self.revert_parts(part)

    def revert_unmeasured(self, units: Sequence[Unit]) -> None:
        """Reverts together what no run was left for."""
        rest = [unit for unit in units if self.findings[unit[0]].fate == "unmeasured"]
        if rest:
            self.revert(rest, spare=SPARE_FOR_RESULT)

    def revert_unlawful(self, units: Sequence[Unit]) -> None:
        """Tries once more what did not go with changes that have gone since."""
        for unit in units:
            if self.findings[unit[0]].fate == "unlawful":
                self.revert([unit])

    def revert_if_useless(self, units: Sequence[Unit]) -> None:
        """Goes back to the base if what is left of the changes is no better than it."""
        left = [knob for unit in units for knob in unit if self.settings[knob] != self._base[knob]]
        result, base = self._bench.known(self.settings), self._bench.known(self._base)
        if not left or result is None or base is None:
            return
        self._reference = as_decided(result)
        finding = self._judged(as_decided(base), len(left))
        if self._is_free(finding):
            self.settings = self._base
            self._note(left, finding)

    def revert(self, units: Sequence[Unit], spare: int = SPARE_FOR_REST) -> bool:
        """Reverts these changes together, if that costs nothing beyond noise."""
        knobs = [knob for unit in units for knob in unit]
        wanted = {**self._wanted, **{knob: self._base[knob] for knob in knobs}}
        reverted = self._bench.lawful(wanted)
        seen = None if reverted is None else self._look(reverted, spare)
        if reverted is None or seen is None:
            # That a whole group cannot be reverted says nothing of its parts.
            alone = reverted is None and len(units) == 1
            self._note(knobs, Finding("", "unlawful" if alone else "unmeasured"))
            return False
        finding = self._judged(seen, len(knobs))
        if self._is_free(finding):
            self.settings, self._wanted = reverted, wanted
            if finding.nearer:
                self._reference = seen
            self._note(knobs, finding)
            return True
        if len(units) == 1:
            self._note(knobs, replace(finding, fate="kept"))
        else:
            self._note(knobs, Finding("", "unmeasured"))
        return False

    def _judged(self, seen: Candidate, together: int) -> Finding:
        """What a reversal does, as the finding that it has if it stays."""
        beyond = farther(self._goal, self._noises, seen, self._reference)
        nearer = () if beyond else farther(self._goal, self._noises, self._reference, seen)
        return Finding(
            "",
            "dropped",
            self._cost(seen),
            self._bound(seen),
            together,
            seen.score(self._goal),
            beyond,
            nearer,
        )

    @staticmethod
    def _is_free(finding: Finding) -> bool:
        assert finding.cost is not None and finding.bound is not None, "it was measured"
        cheap = finding.cost <= max(finding.bound, WORTH)
        return not finding.broken and (cheap or bool(finding.nearer))

    def _look(self, settings: Settings, spare: int) -> Candidate | None:
        seen = self._bench.known(settings) or self._bench.measure(settings, spare=spare)
        while seen is not None and len(seen.trials) < LOOKS and self._is_doubtful(seen):
            again = self._bench.measure(settings, spare=spare)
            if again is None:
                break
            seen = again
        return None if seen is None else as_decided(seen)

    def _is_doubtful(self, seen: Candidate) -> bool:
        low, high = DOUBT
        return low < self._cost(seen) / self._bound(seen) < high

    def _cost(self, seen: Candidate) -> float:
        before, after = self._reference.score(self._goal), seen.score(self._goal)
        assert before is not None and after is not None, "candidates of a bench have a score"
        return loss(self._goal, before, after)

    def _bound(self, seen: Candidate) -> float:
        noise = self._noises[self._goal.metric]
        return noise.bound(len(self._reference.judged), len(seen.judged))

    def _note(self, knobs: Sequence[str], finding: Finding) -> None:
        self.findings |= {knob: replace(finding, knob=knob) for knob in knobs}
