"""Makes the trials of a study: on the rung that is asked for, and side by side where the clock is
virtual, in threads or on a cluster."""

from __future__ import annotations

import os
import statistics
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
)
from dataclasses import dataclass, replace

from advisor import core as bridge
from advisor.errors import TunebenchError, WorkError
from advisor.evaluate import Refused, Setup, begun, evaluate
from advisor.knobs import Engine, Settings
from advisor.search.sampler import Proposal
from advisor.search.side_by_side import as_they_are, in_order
from advisor.spec import Interval
from advisor.trial import Key, Role, Trial, settings_key

UNDER_WAY = 4
"""Simulated trials that are under way at once, at least: on two cores a study is the same as on two
workers elsewhere. On a single core they follow one another."""
AHEAD = 2
"""Trials under way for each core: none waits for the one that is the next to be answered."""

PATIENCE = 5.0
"""A simulated trial may take this many times as long as usual on its rung: settings that make this
machine compute for that long are no settings that anybody wants, and took a third of a study."""
SHORTEST_PATIENCE_S = 10.0
"""Of a study that minutes bound. What a busy machine does in them differs anyway."""
LEAST_PATIENCE = 2.0
"""So many times as long as usual it may take however few the minutes are."""
FIRST_PATIENCE_S = 60.0
"""Before it is known what is usual: on a busy machine that may be anything."""
REPEATABLE_PATIENCE_S = 60.0
"""Of any other, whose answer no other load of this machine may change."""
USUAL_TRIALS = 5
"""Trials that tell what is usual."""


@dataclass(frozen=True)
class Job:
    """A trial to be made."""

    engine: Engine
    settings: Settings
    role: Role
    seed: int
    rung: int
    proposal: Proposal | None = None
    """What the sampler is to be told of it."""
    rule: str = ""
    """As a trial keeps it."""
    times: float = 1.0
    """How much longer it lasts than is usual on its rung."""
    number: int = 0
    """Of the trial that is made of it."""


@dataclass(frozen=True)
class Answer:
    """A trial that was made."""

    trial: Trial
    refusal: Refused | None = None
    """Of the core, if that is why it failed."""


@dataclass(frozen=True)
class Afar:
    """Processes elsewhere that make trials: those of a cluster."""

    executor: Executor
    workers: int


class Runner:
    """Runs jobs. `answers` and `run` are called in one thread; `cancel` in any."""

    def __init__(
        self,
        setups: Sequence[Setup],
        on_interval: Callable[[Job, Interval], None] = lambda job, interval: None,
        afar: Afar | None = None,
        longest_s: float | None = None,
    ) -> None:
        """One setup for each rung. `on_interval` is told of the trial that is the next to be
        answered alone, by whichever thread runs it, and of none that runs `afar`. No simulated
        trial of the lowest rung takes longer than `longest_s`, which a study has that minutes
        bound, but where this is usual."""
        self._setups = setups
        self._longest_s = longest_s
        self._on_interval = on_interval
        self._afar = afar
        self._head: Job | None = None
        self._under_way: Counter[tuple[Key, int]] = Counter()
        self._cancelling = threading.Event()
        self._wall_seconds: dict[int, list[float]] = defaultdict(list)

    @property
    def running(self) -> int:
        """Trials under way."""
        return self._under_way.total()

    def running_of(self, engine: Engine) -> int:
        """Trials of one engine under way."""
        return sum(n for ((own, _), _), n in self._under_way.items() if own == engine)

    def under_way(self, key: Key, rung: int) -> int:
        """How many trials of the settings with this `settings_key` are under way on a rung."""
        return self._under_way[key, rung]

    def cancel(self) -> None:
        """Ends all trials now, and those to come."""
        self._cancelling.set()

    def answers(
        self,
        jobs: Iterator[Job],
        announce: Callable[[Job], None] = lambda job: None,
        take_in: Callable[[Sequence[tuple[Job, Answer]]], Sequence[Answer]] = as_they_are,
    ) -> Generator[tuple[Job, Answer], None, None]:
        """Every job with its trial, in the order in which they are asked for; a job is asked for
        when there is room. `announce` is told which is the next to be answered, and `take_in` of
        all that have ended, at once, by the thread that takes the answers.

        Raises what `evaluate` does, and `WorkError` where the workers are lost; what is under way
        then, or when nobody takes answers any more, is dropped.
        """
        cores = _cores()
        if self._setups[0].clock != "simulated" or (cores == 1 and self._afar is None):
            for job in jobs:
                announce(job)
                yield job, take_in([(job, self.run(job))])[0]
            return
        dropped = threading.Event()

        def heading(job: Job) -> None:
            self._head = job
            announce(job)

        # The core leaves the interpreter to others while it runs.
        with ThreadPoolExecutor(cores, thread_name_prefix="trial") as threads:

            def begin(job: Job) -> Future[Answer]:
                self._under_way[_key(job)] += 1
                if self._afar is not None:
                    return self._begin_afar(job, self._afar.executor)
                return threads.submit(self._evaluated, job, dropped.is_set)

            depth = max(UNDER_WAY, AHEAD * self._at_once())
            try:
                for job, answer in in_order(
                    jobs,
                    begin,
                    depth,
                    waits_for=heading,
                    take_in=take_in,
                    recover=self._lost,
                    abandon=dropped.set,
                ):
                    self._under_way[_key(job)] -= 1
                    yield job, answer
            finally:
                self._under_way.clear()

    def run(self, job: Job) -> Answer:
        """Makes one trial here and now. Raises what `evaluate` does."""
        self._head = job
        return self._evaluated(job, lambda: False)

    def would_take_s(self, rung: int, runs: int = 1) -> float:
        """In about how many seconds so many more trials of a rung will have ended, behind those
        that are under way; 0 where it is not known what is usual."""
        usual = self._usual_s(rung, least=1)
        if usual is None:
            return 0.0
        return max(usual, (self._ahead_s() + runs * usual) / self._at_once())

    def would_begin_s(self, rung: int) -> float:
        """In about how many seconds one more would begin."""
        usual = self._usual_s(rung, least=1)
        return 0.0 if usual is None else self.would_take_s(rung) - usual

    def _ahead_s(self) -> float:
        """Seconds that the trials under way usually take, one after the other."""
        return sum(n * (self._usual_s(rung, 1) or 0.0) for (_, rung), n in self._under_way.items())

    def _at_once(self) -> int:
        return self._afar.workers if self._afar else _cores()

    def learn_time(self, rung: int, trial: Trial) -> None:
        """What a trial of a rung took tells what is usual there."""
        usual = self._setups[rung].seconds * self._setups[rung].times
        if trial.finished and usual:
            self._wall_seconds[rung].append(trial.wall_seconds * usual / trial.seconds)

    def _patience(self, job: Job) -> float | None:
        """Seconds that a trial may take; no limit under a clock that is the wall's, or where only
        trials bound a study of which it is not known yet what is usual."""
        if self._setups[0].clock != "simulated":
            return None
        usual = self._usual_s(job.rung)
        if self._longest_s is None:
            known = None if usual is None else max(REPEATABLE_PATIENCE_S, PATIENCE * usual)
            return None if known is None else job.times * known
        if usual is None:
            return job.times * FIRST_PATIENCE_S
        most = job.times * max(SHORTEST_PATIENCE_S, PATIENCE * usual)
        if job.rung:
            return most
        return min(most, max(self._longest_s, job.times * LEAST_PATIENCE * usual))

    def _usual_s(self, rung: int, least: int = USUAL_TRIALS) -> float | None:
        """Seconds that a trial of a rung usually takes: as those before it took, if they are so
        many, or as much longer than one of the lowest as it works."""
        for known in dict.fromkeys((rung, 0)):
            seen = self._wall_seconds[known]
            if len(seen) >= least:
                work = self._setups[rung].times / self._setups[known].times
                return statistics.median(seen) * work
        return None

    def _evaluated(self, job: Job, is_dropped: Callable[[], bool]) -> Answer:
        def seen(interval: Interval) -> None:
            if self._head is job:
                self._on_interval(job, interval)

        return _made(
            self._setups[job.rung],
            job,
            self._patience(job),
            seen,
            lambda: self._cancelling.is_set() or is_dropped(),
        )

    def _begin_afar(self, job: Job, executor: Executor) -> Future[Answer]:
        # A process elsewhere has a core of its own, and need not know the sampler.
        setup = replace(self._setups[job.rung], core=None)
        return executor.submit(_made, setup, replace(job, proposal=None), self._patience(job))

    def _lost(self, job: Job, error: BaseException) -> Answer:
        """The failed trial of a worker that was lost; raises what is no fault of the trial."""
        if self._afar is None or isinstance(error, TunebenchError):
            raise error
        if isinstance(error, BrokenExecutor | CancelledError | OSError):
            raise WorkError(f"the workers were lost: {_words(error)}") from error
        setup = self._setups[job.rung]
        setup = replace(setup, times=setup.times * job.times)
        core = setup.core or bridge.load()
        trial = begun(setup, job.engine, job.settings, seed=job.seed, role=job.role, core=core)
        return Answer(replace(trial, outcome="failed", error=_words(error), rule=job.rule))


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _made(
    setup: Setup,
    job: Job,
    most_wall_seconds: float | None,
    on_interval: Callable[[Interval], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Answer:
    try:
        trial = evaluate(
            replace(setup, times=setup.times * job.times),
            job.engine,
            job.settings,
            seed=job.seed,
            role=job.role,
            on_interval=on_interval,
            cancelled=cancelled,
            most_wall_seconds=most_wall_seconds,
        )
    except Refused as refused:
        return Answer(replace(refused.trial, rule=job.rule), refused)
    return Answer(replace(trial, rule=job.rule))


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _key(job: Job) -> tuple[Key, int]:
    return settings_key(job.engine, job.settings), job.rung
