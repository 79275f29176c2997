"""Carrying out many runs: each distinct spec once, two at a time in processes of their own.

A run's result depends on its spec alone, so neither the order nor the number of processes changes
what comes out.
"""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from advisor.core import Cancelled, Report, Spec
from advisor.errors import InputError, WorkError

WORKERS = 2
LIMIT_CPU_S = 120.0
"""A run that takes more CPU time than this is given up: its rows stay empty, and its note says why.
Wall time would give up other runs on a busy machine than on an idle one."""


class Carry(Protocol):
    """Carries out one run: `advisor.core.run`, or a fake of it."""

    def __call__(self, spec: Spec, *, cancelled: Callable[[], bool]) -> Report: ...


@dataclass(frozen=True)
class Failure:
    """Why a run has no report."""

    reason: str


Outcome = Report | Failure


class Runs:
    """Outcomes by spec, kept so that experiments share the runs that they have in common."""

    def __init__(self, run: Carry, pool: Executor | None = None) -> None:
        self._run = run
        self._pool = pool
        self._done: dict[str, Outcome] = {}

    def outcomes(self, specs: Sequence[Spec], each: Callable[[], None]) -> list[Outcome]:
        """The outcome of every spec, in order. `each` is called as each of them is there."""
        wanted = [_key(spec) for spec in specs]
        new = {key: spec for key, spec in zip(wanted, specs, strict=True) if key not in self._done}
        for _ in range(len(wanted) - len(new)):
            each()
        for key, outcome in self._carry_out(new):
            self._done[key] = outcome
            each()
        return [self._done[key] for key in wanted]

    def _carry_out(self, specs: dict[str, Spec]) -> Iterator[tuple[str, Outcome]]:
        if self._pool is None:
            for key, spec in specs.items():
                yield key, attempt(self._run, spec)
            return
        keys: dict[Future[Outcome], str] = {
            self._pool.submit(attempt, self._run, spec): key for key, spec in specs.items()
        }
        pending = set(keys)
        while pending:
            ended, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in ended:
                yield keys[future], future.result()


@contextmanager
def in_processes(run: Carry, workers: int = WORKERS) -> Iterator[Runs]:
    """Runs in this many processes; with one, in this process. `run` must be a function of a module
    when there are more."""
    if workers <= 1:
        yield Runs(run)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context)
    try:
        yield Runs(run, pool)
    finally:
        pool.shutdown(cancel_futures=True)


def attempt(run: Carry, spec: Spec) -> Outcome:
    """One run, and what it failed with if it did. The disk that may be full is a simulated one."""
    limit_s = time.process_time() + LIMIT_CPU_S
    try:
        return run(spec, cancelled=lambda: time.process_time() > limit_s)
    except Cancelled:
        return Failure(f"given up after {LIMIT_CPU_S:g} s of CPU time")
    except (InputError, WorkError) as error:
        return Failure(str(error))


def _key(spec: Spec) -> str:
    return json.dumps(spec, sort_keys=True)
