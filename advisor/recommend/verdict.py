"""Which engine wins, and by how much, with what noise explains."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.goal import Goal
from advisor.knobs import Engine
from advisor.noise import Noise
from advisor.recommend import wording
from advisor.search.ranking import Candidate, loss


@dataclass(frozen=True)
class Comparison:
    """How one candidate compares with another in the goal's metric."""

    gain: float
    """Relative to the other; above 0 is better."""
    bound: float
    """Relative difference that noise alone explains with 95% confidence."""

    @property
    def within_noise(self) -> bool:
        return abs(self.gain) <= self.bound

    def words(self, goal: Goal) -> str:
        """`+34% ops_per_s (noise ±6.0%)`, or that it is within noise."""
        told = wording.difference(goal, self.gain)
        noise = wording.percent(self.bound)
        return (
            f"within noise: {told} (noise ±{noise})"
            if self.within_noise
            else f"{told} (noise ±{noise})"
        )


def compare(goal: Goal, noise: Noise, one: Candidate, other: Candidate) -> Comparison | None:
    """`one` against `other`; `None` if either lacks the metric."""
    new, old = one.score(goal), other.score(goal)
    if new is None or old is None:
        return None
    return Comparison(-loss(goal, old, new), noise.bound(len(one.judged), len(other.judged)))


@dataclass(frozen=True)
class EngineVerdict:
    """The better engine, each at its best settings."""

    winner: Engine
    loser: Engine
    comparison: Comparison | None
    """Absent if the loser has no settings that keep the goal's limits."""
    text: str


def engine_verdict(
    goal: Goal, noise: Noise, order: list[Candidate], engines: tuple[Engine, ...]
) -> EngineVerdict | None:
    """From the ranked candidates of a study; `None` if it looked at one engine, or nothing was
    measured."""
    if len(engines) < 2 or not order:
        return None
    winner = order[0]
    loser = next(engine for engine in engines if engine != winner.engine)
    rival = next((c for c in order if c.engine == loser and c.feasible(goal)), None)
    if rival is None or not winner.feasible(goal):
        limits = ", ".join(str(limit) for limit in goal.limits) or "a finished trial"
        text = f"{winner.engine} wins: no settings of {loser} reached {limits}"
        if not winner.feasible(goal):
            text = f"no engine reached {limits}; {winner.engine} came nearest"
        return EngineVerdict(winner.engine, loser, None, text)
    comparison = compare(goal, noise, winner, rival)
    if comparison is None:
        return None
    return EngineVerdict(winner.engine, loser, comparison, _words(goal, winner, rival, comparison))


def _words(goal: Goal, winner: Candidate, rival: Candidate, comparison: Comparison) -> str:
    mine, theirs = winner.score(goal) or 0.0, rival.score(goal) or 0.0
    numbers = f"{wording.metric(goal.metric, mine)} against {wording.metric(goal.metric, theirs)}"
    told = f"{comparison.words(goal)}, {numbers}"
    if comparison.within_noise:
        return f"{winner.engine} and {rival.engine} are equal, {told}"
    return f"{winner.engine} wins over {rival.engine}: {told}"
