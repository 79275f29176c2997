"""Which engine wins, and by how much, with what noise explains; or that the trials do not say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from advisor.goal import Goal
from advisor.hardware import Hardware
from advisor.knobs import Engine
from advisor.noise import LEVEL, Noise
from advisor.recommend import told, wording
from advisor.recommend.floors import enlarged
from advisor.recommend.known_errors import NOTHING_KNOWN, KnownErrors, Misses
from advisor.recommend.limits import Noises, keeps, may_keep
from advisor.search import VERDICT_RUNS
from advisor.search.ranking import WORTH, Candidate, loss
from advisor.trial import Clock, Trial
from advisor.workload import WorkloadKind

VERDICT_LEVEL = 0.005
"""Of an error where an engine or a file is called better in few runs: a study makes several such
comparisons, and users make many studies."""
EQUAL = 0.05
"""Engines that differ by less, whatever is uncertain about them, are equal."""

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
    """Relative difference that noise alone explains."""
    fewest_runs: int
    """Finished runs of that of the two which has fewer."""
    on_smaller: float | None = None
    """The gain on the next smaller copy; absent where both were not run on one."""
    enlarged: tuple[str, ...] = ()
    """Knobs that were larger in the runs than in the settings that are said to gain."""
    real_error: float | None = None
    """By how much such gains were usually off on real engines; absent where that is not known."""
    is_of_copy: bool = False
    """Whether the runs were of less data than what is asked about."""

    @property
    def within_noise(self) -> bool:
        return abs(self.gain) <= self.bound

    @property
    def scale_error(self) -> float:
        """By how much two sizes of the copy differ about the gain: what is known of how far either
        is from the full size."""
        return 0.0 if self.on_smaller is None else abs(self.gain - self.on_smaller)

    @property
    def error(self) -> float:
        """What noise, scale and the error on real engines may change of the gain together."""
        return self.bound + self.scale_error + (self.real_error or 0.0)

    @property
    def is_settled(self) -> bool:
        """Whether all that leaves the sign of the gain, which is that of the settings."""
        return not self.enlarged and abs(self.gain) > self.error

    @property
    def decides(self) -> bool:
        """Whether both were run often enough for a verdict."""
        return self.fewest_runs >= VERDICT_RUNS

    @property
    def is_told(self) -> bool:
        """Whether runs enough for a verdict show a gain that is worth something."""
        return self.decides and self.gain > max(self.bound, WORTH)

    def words(self, goal: Goal) -> str:
        """`+34% ops_per_s (noise ±6.0%, scale ±9.1%, real ±5.2%)`, or that it is within noise, or
        not settled at this scale or on a real engine."""
        errors = f"noise ±{wording.percent(self.bound)}"
        if self.on_smaller is not None:
            errors += f", scale ±{wording.percent(self.scale_error)}"
        elif self.is_of_copy:
            errors += ", scale unknown"
        if self.real_error is not None:
            errors += f", real ±{wording.percent(self.real_error)}"
        told = f"{wording.difference(goal, self.gain)} ({errors})"
        if self.within_noise:
            told = f"within noise: {told}"
        elif self.enlarged or abs(self.gain) <= self.bound + self.scale_error:
            ran = f", with more {', '.join(self.enlarged)} than is written" if self.enlarged else ""
            told = f"not settled at this scale: {told}{ran}"
        elif not self.is_settled:
            told = f"not settled on a real engine: {told}"
        return told if self.decides else f"{told}, from a single run"


def compare(
    goal: Goal,
    noise: Noise,
    one: Candidate,
    other: Candidate,
    smaller: Callable[[Candidate], Candidate | None] = lambda candidate: None,
    *,
    level: float = LEVEL,
    known: KnownErrors = NOTHING_KNOWN,
) -> Comparison | None:
    """`one` against `other`; `None` if either lacks the metric. `smaller` knows the same settings
    on the next smaller copy, `level` is that of the noise."""
    new, old = one.score(goal), other.score(goal)
    if new is None or old is None:
        return None
    gain = -loss(goal, old, new)
    by_spread = partial(noise.bound, len(one.judged), len(other.judged))
    below = [found.score(goal) if (found := smaller(c)) else None for c in (one, other)]
    return Comparison(
        gain,
        told.bound_of(goal, gain, one, other, level, by_spread),
        min(len(one.trials), len(other.trials)),
        None if below[0] is None or below[1] is None else -loss(goal, below[1], below[0]),
        enlarged(one, other),
        _real_error(new, old, known.of(one.engine, other.engine)),
        is_of_copy=any(trial.scale < 1.0 for trial in one.trials),
    )


def _real_error(new: float, old: float, misses: Misses) -> float | None:
    """By how much a ratio comes nearer to 1, as a part of what it is to, when it is off by as much
    as is usual."""
    if new <= 0.0 or old <= 0.0 or (factor := misses.factor(new / old)) is None:
        return None
    ratio = new / old
    return ratio * (1.0 - 1.0 / factor) if ratio > 1.0 else ratio * (factor - 1.0)


@dataclass(frozen=True)
class EngineVerdict:
    """The better engine, each at its best settings, or that the trials do not decide."""

    winner: Engine | None
    """Absent where the engines are equal, and where the trials do not decide."""
    comparison: Comparison | None
    """Absent if one of them has no settings that keep the goal's limits."""
    text: str
    is_open: bool = False
    """Whether the trials do not decide."""

    def of_own_engines(self) -> EngineVerdict:
        """The same where the runs charged no calls of products, which it then says; an open one
        claims nothing that would need it."""
        return self if self.is_open else replace(self, text=f"{self.text}. {OWN_ENGINES}")


def has_products(clock: Clock, machine: Hardware, workload: WorkloadKind) -> bool:
    """Whether runs of our engines were charged with what calls of products take. Only a simulated
    machine can speak for products."""
    spoken_for = machine.products if clock == "simulated" else ()
    lsm = "myrocks" if workload.has_tables else "rocksdb"
    return {lsm, "innodb"} <= set(spoken_for)


def engine_verdict(
    goal: Goal,
    noise: Noise,
    order: Sequence[Candidate],
    engines: Sequence[Engine],
    trials: Sequence[Trial],
    smaller: Callable[[Candidate], Candidate | None] = lambda candidate: None,
    known: KnownErrors = NOTHING_KNOWN,
    noises: Callable[[Engine], Noises] | None = None,
) -> EngineVerdict | None:
    """From the trials that decide and their ranked candidates, the chosen one first; `None` if the
    study looks at one engine. `smaller` knows the same settings on the next smaller copy, `noises`
    those of an engine in the metrics of the goal's limits; without them a limit is taken as
    exact."""
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
        return EngineVerdict(winner.engine, None, text)
    rival = next((c for c in order if c.engine == loser and c.feasible(goal)), None)
    if rival is None:
        own = [candidate for candidate in order if candidate.engine == loser]
        if noises is not None and goal.limits:
            kept = keeps(goal, noises(winner.engine), winner)
            if not kept or any(may_keep(goal, noises(loser), one) for one in own):
                told = f"noise may decide which of them keeps {limits}"
                return _undecided(f"{winner.engine} against {loser}: {told}")
        missed = f"reached {limits}" if limits else f"measured {goal.metric}"
        text = f"{winner.engine} wins: no settings of {loser} {missed}, in {runs[loser]} runs"
        return EngineVerdict(winner.engine, None, text)
    comparison = compare(goal, noise, winner, rival, smaller, level=VERDICT_LEVEL, known=known)
    return None if comparison is None else _compared(goal, winner, rival, comparison)


def _undecided(why: str, comparison: Comparison | None = None) -> EngineVerdict:
    text = f"no verdict between the engines: {why}"
    return EngineVerdict(None, comparison, text, is_open=True)


def _compared(
    goal: Goal, winner: Candidate, rival: Candidate, comparison: Comparison
) -> EngineVerdict:
    mine, theirs = winner.score(goal) or 0.0, rival.score(goal) or 0.0
    numbers = f"{wording.metric(goal.metric, mine)} against {wording.metric(goal.metric, theirs)}"
    told = f"{comparison.words(goal)}, {numbers}"
    if not comparison.decides:
        return _undecided(f"{winner.engine} against {rival.engine}: {told}", comparison)
    if comparison.within_noise:
        if abs(comparison.gain) + comparison.error <= EQUAL:
            text = f"{winner.engine} and {rival.engine} are equal, {told}"
            return EngineVerdict(None, comparison, text)
        close = f"too close to call: {winner.engine} against {rival.engine}, {told}"
        return _undecided(close, comparison)
    if comparison.gain < 0:
        # The winner was chosen before runs of its own showed it to be worse than it had looked.
        more = "more trials would tell"
        return _undecided(f"{winner.engine} against {rival.engine}: {told}; {more}", comparison)
    if not comparison.is_settled:
        return _undecided(f"{winner.engine} against {rival.engine}: {told}", comparison)
    text = f"{winner.engine} wins over {rival.engine}: {told}"
    return EngineVerdict(winner.engine, comparison, text)
