"""The Pareto front of a study with several objectives: settings of which none is better in all of
them, for each engine and over all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from advisor.errors import InputError
from advisor.goal import Goal
from advisor.knobs import Engine, Settings
from advisor.noise import Noise
from advisor.search.dominance import Scales, nearest, non_dominated
from advisor.search.ranking import Candidate, noise_of


@dataclass(frozen=True)
class Member:
    """Settings that nothing tried beats in all objectives."""

    number: int
    """From 1: those of the front over all engines, the best in the first objective first, then
    those that are only on the front of their engine."""
    candidate: Candidate
    overall: bool
    """Whether no settings of another engine beat it either."""
    distance: float
    """From the best of each objective, 1 being the range of the front over all engines in one."""

    @property
    def engine(self) -> Engine:
        return self.candidate.engine

    @property
    def settings(self) -> Settings:
        return self.candidate.settings

    @property
    def metrics(self) -> Mapping[str, float]:
        """Medians of its trials."""
        return self.candidate.metrics()


@dataclass(frozen=True)
class Front:
    """What may be chosen from, of settings that keep the goal's limits."""

    goal: Goal
    """With all its objectives."""
    members: tuple[Member, ...]
    noises: Mapping[str, Noise]
    """Of each objective, of one run."""

    @classmethod
    def of(cls, eligible: Sequence[Candidate], goal: Goal) -> Front:
        """Of candidates that keep the limits, with the noise that their repetitions tell."""
        noises = {name: noise_of(eligible, name) for name in goal.objectives}
        overall = _front(eligible, goal)
        if not overall:
            return cls(goal, (), noises)
        scales = Scales.of([goal.point(one.metrics()) for one in overall])
        whole = {id(one) for one in overall}
        own = [
            one
            for engine in dict.fromkeys(one.engine for one in eligible)
            for one in _front([one for one in eligible if one.engine == engine], goal)
            if id(one) not in whole
        ]
        members = (
            Member(number, one, id(one) in whole, scales.from_ideal(goal.point(one.metrics())))
            for number, one in enumerate([*overall, *own], start=1)
        )
        return cls(goal, tuple(members), noises)

    def recommended(self, engine: Engine | None = None) -> Member | None:
        """The member of the front over all engines, or of that of one, which is nearest to the best
        of each objective on the scales of that front (`nearest`); None where nothing keeps the
        limits."""
        found = [one for one in self.members if one.overall]
        if engine is not None:
            own = [one for one in self.members if one.engine == engine]
            points = [self.goal.point(one.metrics) for one in own]
            found = [own[place] for place in non_dominated(points)]
        if not found:
            return None
        return found[nearest([self.goal.point(one.metrics) for one in found])]

    def member(self, number: int) -> Member:
        """The member of a number. Raises `InputError` if there is none."""
        for one in self.members:
            if one.number == number:
                return one
        last = len(self.members)
        accepted = f"a number from 1 to {last}" if last else "a study that has a front"
        raise InputError("--front", None, str(number), accepted)


def _front(candidates: Sequence[Candidate], goal: Goal) -> list[Candidate]:
    points = [goal.point(one.metrics()) for one in candidates]
    return [candidates[place] for place in non_dominated(points)]
