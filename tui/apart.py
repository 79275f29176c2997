"""What works for minutes, in a process of its own: the screen has this one's interpreter and memory
to itself while trials run.

The process is this file, started as a module. In: pickles on stdin, first the method of
`LibrarySession` with its results file, plan and kind of watcher, then wishes by name. Out: pickles
on stdout, `(TELL, name of the watcher's function, arguments)` as it goes and at last `(ANSWER,
value)`, `(CANCELLED, words)` or `(FAILED, words)`. Either end of a pipe that closes ends the
process.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from functools import partial
from threading import Lock, Thread, Timer
from typing import Any

from advisor.processes import die_with, stdout_alone, work
from tui.session import LibrarySession
from tui.views import Outcome, Plan, SweepPlan, SweepView, SweepWatcher, Watcher
from tui.working import plain_words

TELL, ANSWER, CANCELLED, FAILED, DEAD = "tell", "answer", "cancelled", "failed", "dead"
STOP, CANCEL = "stop", "cancel"
GRACE_S = 0.3
"""From the wish to end everything to the end of the process by force: whoever leaves the program
waits for it. What is stored is whole at every moment."""
NICENESS = 19
"""Of what is simulated, so that who waits for a screen goes before it. With trials on both of two
cores, 95% of the keys that sort a study's table were answered within 39 and 51 ms, at 10 within 47
and 60, and at 0 within 113. What is measured keeps its priority."""


class ApartSession(LibrarySession):
    """The library as the workbench sees it, whose studies and sweeps have processes of their own.

    These raise what they raise in this process: `Cancelled`, and `WorkError` with the words of
    anything else.
    """

    def tune(self, plan: Plan, watcher: Watcher) -> Outcome:
        """Run the study, until done or asked to stop. Told in the calling thread."""
        found: Outcome = self._apart("tune", plan, watcher)
        return found

    def sweep(self, plan: SweepPlan, watcher: SweepWatcher) -> SweepView:
        """Walk the axis, until done or asked to stop. Told in the calling thread."""
        found: SweepView = self._apart("sweep", plan, watcher)
        return found

    def _apart(self, method: str, plan: object, watcher: Watcher | SweepWatcher) -> Any:
        worker = _Worker()
        try:
            worker.send((method, self._results, plan, type(watcher)))
            watcher.attach(partial(worker.send, STOP), worker.cancel)
            return worker.answer(watcher)
        finally:
            worker.end()


class _Worker:
    """The process, as whoever started it sees it."""

    def __init__(self) -> None:
        """Starts it; it dies with the calling thread."""
        # In a group of its own no signal of the terminal reaches it.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tui.apart", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        self._sending = Lock()
        self._is_cancelled = False

    def send(self, what: object) -> None:
        """Sends a pickle; to one that is gone it is none of anybody's business."""
        assert self._process.stdin is not None
        with self._sending, suppress(OSError, ValueError):
            self._process.stdin.write(pickle.dumps(what))
            self._process.stdin.flush()

    def cancel(self) -> None:
        """Ends everything: as the process does it, or else by force. In any thread."""
        self._is_cancelled = True
        self.send(CANCEL)
        by_force = Timer(GRACE_S, self._process.kill)
        by_force.daemon = True
        by_force.start()

    def answer(self, watcher: Watcher | SweepWatcher) -> Any:
        """Passes on what the process tells, until its answer."""
        from advisor.core import Cancelled
        from advisor.errors import WorkError

        while True:
            kind, *told = self._next()
            if kind == TELL:
                name, arguments = told
                getattr(watcher, name)(*arguments)
            elif kind == ANSWER:
                return told[0]
            elif kind == FAILED:
                raise WorkError(told[0])
            elif kind == CANCELLED or self._is_cancelled:
                raise Cancelled("it was cancelled")
            else:
                raise WorkError(_death(self._process.wait()))

    def end(self) -> None:
        """Ends the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()

    def _next(self) -> tuple[Any, ...]:
        """What the process tells next; `DEAD` where it ended."""
        assert self._process.stdout is not None
        try:
            told: tuple[Any, ...] = pickle.load(self._process.stdout)
        except (EOFError, pickle.UnpicklingError):
            return (DEAD,)
        return told


def _death(code: int) -> str:
    """How the process ended that left no answer."""
    if code < 0:
        return f"its process died of {signal.Signals(-code).name}; is there memory?"
    return f"its process ended with code {code}"


def main(parent: int) -> None:
    """In the process: does the work, and tells the process that started it."""
    die_with(parent)
    out = stdout_alone()
    sending = Lock()

    def send(*what: object) -> None:
        # Whole before the first byte goes: what cannot be sent spoils nothing that can.
        told = pickle.dumps(what)
        with sending:
            out.write(told)
            out.flush()

    try:
        method, results, plan, kind = pickle.load(sys.stdin.buffer)
        if _clock(plan) == "simulated":
            os.nice(NICENESS)
        tells = {one.name: partial(_tell, send, one.name) for one in fields(kind)}
        watcher = kind(**tells | {"attach": _attach})
        send(ANSWER, getattr(LibrarySession(results), method)(plan, watcher))
    except BrokenPipeError:
        raise
    except Exception as error:
        from advisor.core import Cancelled

        send(CANCELLED if isinstance(error, Cancelled) else FAILED, plain_words(error))


def _clock(plan: Plan | SweepPlan) -> str:
    clock: str = plan.clock if isinstance(plan, Plan) else plan.details.clock
    return clock


def _tell(send: Callable[..., None], name: str, *arguments: object) -> None:
    send(TELL, name, arguments)


def _attach(stop: Callable[[], None], cancel: Callable[[], None]) -> None:
    """From now on wishes are heard, those sent before included."""

    def hear() -> None:
        acts = {STOP: stop, CANCEL: cancel}
        with suppress(EOFError, OSError):
            while True:
                acts[pickle.load(sys.stdin.buffer)]()
        # Whoever started the process is gone.
        os._exit(1)

    Thread(target=hear, name="wishes", daemon=True).start()


if __name__ == "__main__":
    work(main)
