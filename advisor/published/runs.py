"""Carrying out many runs: each distinct spec once, two at a time in processes of their own.

A run's result depends on its spec alone, so neither the order nor the number of processes changes
what comes out. What the terminal sends to all processes is the business of this one: the others
never hear an interrupt, and end with this one however it ends.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from multiprocessing import resource_tracker
from typing import Protocol

from advisor.core import Cancelled
from advisor.errors import InputError, WorkError
from advisor.spec import Report, Spec

WORKERS = 2
LIMIT_CPU_S = 120.0
"""A run that takes more CPU time than this is given up: its rows stay empty, and its note says why.
Wall time would give up other runs on a busy machine than on an idle one."""
ASKED_EVERY_S = 0.1
ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
INTERRUPTED = "interrupted"


def never() -> bool:
    """Nobody interrupts."""
    return False


class Carry(Protocol):
    """Carries out one run: `advisor.core.run`, or a fake of it."""

    def __call__(self, spec: Spec, *, cancelled: Callable[[], bool]) -> Report: ...


@dataclass(frozen=True)
class Failure:
    """Why a run has no report."""

    reason: str


Outcome = Report | Failure


class Runs:
    """Outcomes by spec, kept so that experiments share the runs that they have in common. Once
    `interrupted` says so, no run goes on: what is not done by then is a failure."""

    def __init__(
        self,
        run: Carry,
        pool: Executor | None = None,
        interrupted: Callable[[], bool] = never,
    ) -> None:
        self._run = run
        self._pool = pool
        self._interrupted = interrupted
        self._done: dict[str, Outcome] = {}

    @property
    def are_over(self) -> bool:
        """Whether no further run is made."""
        return self._interrupted()

    def known(self, spec: Spec) -> Outcome | None:
        """The outcome of a spec, if it is there."""
        return self._done.get(_key(spec))

    def outcomes(self, specs: Sequence[Spec], each: Callable[[], None]) -> list[Outcome]:
        """The outcome of every spec, in order. `each` is called as each of them is there."""
        wanted = [_key(spec) for spec in specs]
        new = {key: spec for key, spec in zip(wanted, specs, strict=True) if key not in self._done}
        for _ in range(len(wanted) - len(new)):
            each()
        for key, outcome in self._carry_out(new):
            self._done[key] = outcome
            each()
        return [self._done.get(key, Failure(INTERRUPTED)) for key in wanted]

    def _carry_out(self, specs: dict[str, Spec]) -> Iterator[tuple[str, Outcome]]:
        if self._pool is None:
            for key, spec in specs.items():
                if self._interrupted():
                    return
                yield key, attempt(self._run, spec)
            return
        with _deaf():
            keys: dict[Future[Outcome], str] = {
                self._pool.submit(attempt, self._run, spec): key for key, spec in specs.items()
            }
        pending = set(keys)
        while pending and not self._interrupted():
            ended, pending = wait(pending, ASKED_EVERY_S, FIRST_COMPLETED)
            for future in ended:
                yield keys[future], _result(future)


@contextmanager
def in_processes(
    run: Carry, workers: int = WORKERS, interrupted: Callable[[], bool] = never
) -> Iterator[Runs]:
    """Runs in this many processes, which end with the block; with one, in this process. `run` must
    be a function of a module when there are more."""
    if workers <= 1:
        yield Runs(run, None, interrupted)
        return
    context = multiprocessing.get_context("spawn")
    _start_tracker()
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent)
    try:
        yield Runs(run, pool, interrupted)
    finally:
        # Without workers the pool's own thread ends at once. It is waited for: one that still
        # closes its pipe when the interpreter ends makes that print an error.
        for worker in set(multiprocessing.active_children()) - others:
            worker.kill()
        pool.shutdown(wait=True, cancel_futures=True)


def _start_tracker() -> None:
    """Starts the process in which `multiprocessing` keeps what others leave. It is given the file
    of `sys.stderr`, and a full-screen program has put something there that is no file. It tidies up
    behind a program that was left in the middle of a replay, and is told not to say so on the
    terminal, which is somebody else's by then."""
    usual = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore::UserWarning:multiprocessing.resource_tracker"
    try:
        with redirect_stderr(sys.__stderr__):
            resource_tracker.ensure_running()
    finally:
        if usual is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = usual


@contextmanager
def _deaf() -> Iterator[None]:
    """Processes that are started in the block hear none of the signals that end this one, not even
    while they start. One that comes meanwhile reaches this process after the block, with the
    processes whole."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """In a worker: wait beside its work for the end of the parent, which may have been killed. It
    can be terminated by itself."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    parent = multiprocessing.parent_process()
    assert parent is not None, "a worker has a parent"

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, name="parent", daemon=True).start()


def _result(future: Future[Outcome]) -> Outcome:
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise WorkError("a process that carries out runs was killed; is there memory?") from error


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
