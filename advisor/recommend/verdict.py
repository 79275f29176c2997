"""Which engine wins, and by how much, with what noise explains; or that the trials do not say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from advisor.goal import Goal
from advisor.knobs import Engine
from advisor.noise import Noise
from advisor.recommend import wording
from advisor.search import VERDICT_RUNS
from advisor.search.ranking import Candidate, loss
from advisor.trial import Trial

OWN_ENGINES = (
    "Both are this program's own engines, without what a call of RocksDB, MyRocks or InnoDB takes "
    "beyond theirs, so a server may decide otherwise"
)


@dataclass(frozen=True)
class Comparison:
    """How one candidate compares with another in the goal's metric."""

    gain: float
    """Relative to the other; above 0 is better."""
    bound: float
    """Relative difference that noise alone explains with 95% confidence."""
    fewest_runs: int
    """Finished runs of that of the two which has fewer."""

    @property
    def within_noise(self) -> bool:
        return abs(self.gain) <= self.bound

    @property
    def decides(self) -> bool:
        """Whether both were run often enough for a verdict."""
        return self.fewest_runs >= VERDICT_RUNS

    def words(self, goal: Goal) -> str:
        """`+34% ops_per_s (noise ±6.0%)`, or that it is within noise."""
        told = f"{wording.difference(goal, self.gain)} (noise ±{wording.percent(self.bound)})"
        told = f"within noise: {told}" if self.within_noise else told
        return told if self.decides else f"{told}, from a single run"


def compare(goal: Goal, noise: Noise, one: Candidate, other: Candidate) -> Comparison | None:
    """`one` against `other`; `None` if either lacks the metric."""
    new, old = one.score(goal), other.score(goal)
    if new is None or old is None:
        return None
    bound = noise.bound(len(one.judged), len(other.judged))
    return Comparison(-loss(goal, old, new), bound, min(len(one.trials), len(other.trials)))


@dataclass(frozen=True)
class EngineVerdict:
    """The better engine, each at its best settings, or that the trials do not decide."""

    winner: Engine | None
    """Absent where the trials do not decide."""
    loser: Engine | None
    comparison: Comparison | None
    """Absent if one of them has no settings that keep the goal's limits."""
    text: str

    def of_own_engines(self) -> EngineVerdict:
        """The same where the runs charged no calls of products, which it then says; an open one
        claims nothing that would need it."""
        return replace(self, text=f"{self.text}. {OWN_ENGINES}") if self.winner else self


def engine_verdict(
    goal: Goal,
    noise: Noise,
    order: Sequence[Candidate],
    engines: Sequence[Engine],
    trials: Sequence[Trial],
) -> EngineVerdict | None:
    """From all trials of a study and its ranked candidates, the chosen one first; `None` if it
    looks at one engine."""
    if len(engines) < 2 or not order:
        return None
    winner = order[0]
    loser = next(engine for engine in engines if engine != winner.engine)
    runs = Counter(trial.engine for trial in trials if trial.finished)
    if min(runs[engine] for engine in engines) < VERDICT_RUNS:
        finished = " and ".join(f"{runs[engine]} of {engine}" for engine in engines)
        return _undecided(f"finished runs: {finished}; {VERDICT_RUNS} of each are needed")
    limits = ", ".join(str(limit) for limit in goal.limits)
    if not winner.feasible(goal):
        text = f"no engine reached {limits}; {winner.engine} came nearest"
        return EngineVerdict(winner.engine, loser, None, text)
    rival = next((c for c in order if c.engine == loser and c.feasible(goal)), None)
    if rival is None:
        missed = f"reached {limits}" if limits else f"measured {goal.metric}"
        text = f"{winner.engine} wins: none of {runs[loser]} runs of {loser} {missed}"
        return EngineVerdict(winner.engine, loser, None, text)
    comparison = compare(goal, noise, winner, rival)
    return None if comparison is None else _compared(goal, winner, rival, comparison)


def _undecided(why: str, comparison: Comparison | None = None) -> EngineVerdict:
    return EngineVerdict(None, None, comparison, f"no verdict between the engines: {why}")


def _compared(
    goal: Goal, winner: Candidate, rival: Candidate, comparison: Comparison
) -> EngineVerdict:
    mine, theirs = winner.score(goal) or 0.0, rival.score(goal) or 0.0
    numbers = f"{wording.metric(goal.metric, mine)} against {wording.metric(goal.metric, theirs)}"
    told = f"{comparison.words(goal)}, {numbers}"
    if not comparison.decides:
        return _undecided(f"{winner.engine} against {rival.engine}: {told}", comparison)
    if comparison.within_noise:
        text = f"{winner.engine} and {rival.engine} are equal, {told}"
    elif comparison.gain < 0:
        # The winner was chosen before runs of its own showed it to be worse than it had looked.
        more = "more trials would tell"
        return _undecided(f"{winner.engine} against {rival.engine}: {told}; {more}", comparison)
    else:
        text = f"{winner.engine} wins over {rival.engine}: {told}"
    return EngineVerdict(winner.engine, rival.engine, comparison, text)
