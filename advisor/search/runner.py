"""Makes the trials of a study: on the rung that is asked for, and side by side where the clock is
virtual, in threads or on a cluster."""

from __future__ import annotations

import os
import statistics
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from advisor.evaluate import Refused, Setup, evaluate
from advisor.knobs import Engine, Settings
from advisor.search.sampler import Proposal
from advisor.search.side_by_side import in_order
from advisor.spec import Interval
from advisor.trial import Key, Role, Trial, settings_key

UNDER_WAY = 4
"""Simulated trials that are under way at once, at least: on two to so many cores a study is the
same wherever it runs. On a single one they follow one another."""


PATIENCE = 5.0
"""A simulated trial may take this many times as long as usual on its rung: settings that make this
machine compute for that long are no settings that anybody wants, and took a third of a study."""
SHORTEST_PATIENCE_S = 10.0
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
        trial of the lowest rung takes longer than `longest_s`."""
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
        self, jobs: Iterator[Job], announce: Callable[[Job], None] = lambda job: None
    ) -> Iterator[tuple[Job, Answer]]:
        """Every job with its trial, in the order in which they are asked for; a job is asked for
        when there is room. `announce` is told which is the next to be answered.

        Raises what `evaluate` does; what is under way then, or when nobody takes answers any more,
        is dropped.
        """
        cores = _cores()
        if self._setups[0].clock != "simulated" or (cores == 1 and self._afar is None):
            for job in jobs:
                announce(job)
                yield job, self.run(job)
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

            depth = max(UNDER_WAY, self._afar.workers if self._afar else cores)
            try:
                for job, answer in in_order(
                    jobs, begin, depth, waits_for=heading, abandon=dropped.set
                ):
                    self._under_way[_key(job)] -= 1
                    yield job, self._timed(job, answer)
            finally:
                self._under_way.clear()

    def run(self, job: Job) -> Answer:
        """Makes one trial here and now. Raises what `evaluate` does."""
        self._head = job
        return self._timed(job, self._evaluated(job, lambda: False))

    def _timed(self, job: Job, answer: Answer) -> Answer:
        """The answer, whose time tells what is usual on its rung."""
        if answer.trial.finished:
            self._wall_seconds[job.rung].append(answer.trial.wall_seconds)
        return answer

    def _patience(self, job: Job) -> float | None:
        """Seconds that a trial may take; no limit under a clock that is the wall's, or before it is
        known what is usual."""
        seen = self._wall_seconds[job.rung]
        if self._setups[0].clock != "simulated" or len(seen) < USUAL_TRIALS:
            return None
        usual = max(SHORTEST_PATIENCE_S, PATIENCE * statistics.median(seen))
        if not job.rung and self._longest_s is not None:
            usual = min(usual, self._longest_s)
        return job.times * usual

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
