"""How the program ends: signals become exit codes, and threads get the rest of a second to end.

A thread that is inside a library when Python's interpreter goes away takes the process down with an
abort. So the end waits for all threads, and if one cannot be told to end (it imports a library, or
waits for a disk) the process leaves without that: what was stored is whole at every moment, and
what else it leaves the next start removes.
"""

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
EXIT_CODES = {signal.SIGHUP: 129, signal.SIGINT: INTERRUPTED, signal.SIGTERM: 143}
"""128 and the signal's number, as a shell reports a process that a signal ended."""
GRACE_S = 2.0
PATIENCE_S = 0.5
"""From the wish to leave to the end of the waiting: what follows is to be over within a second."""


def on_signals(numbers: Iterable[signal.Signals], act: Callable[[int], object]) -> None:
    """From now on these signals call `act` with their exit code, in the main thread. One that the
    process was started to ignore, as `nohup` does, stays ignored."""

    def handle(number: int, _frame: FrameType | None) -> None:
        act(EXIT_CODES[signal.Signals(number)])

    for number in numbers:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handle)


@contextmanager
def on_interrupt(
    first: Callable[[], object], further: Callable[[], object] | None = None
) -> Iterator[None]:
    """Inside the block the first Ctrl-C calls `first`. Further ones call `further`, or interrupt as
    ever."""
    presses = count()

    def pressed(number: int, frame: FrameType | None) -> None:
        if next(presses) == 0:
            first()
        elif further is not None:
            further()
        else:
            signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGINT, pressed)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Exit:
    """Ends a command by an exception, so that a run stops its threads and removes its files. Asked
    again while that goes on, it lets it go on."""

    def __init__(self) -> None:
        self._asked_at: float | None = None

    def __call__(self, code: int) -> None:
        now = time.monotonic()
        if self._asked_at is None or now - self._asked_at > GRACE_S:
            self._asked_at = now
            sys.exit(code)


def force(code: int, after_s: float, before: Callable[[], None]) -> None:
    """Ends the process with this code in any case, if it is still there after so many seconds:
    whoever writes to a terminal that is stuck, or gone, waits for ever."""

    def act() -> None:
        before()
        os._exit(code)

    timer = threading.Timer(after_s, act)
    timer.daemon = True
    timer.start()


def end(code: int, asked_at: float) -> NoReturn:
    """Ends the process, which was asked to at `asked_at` of the monotonic clock."""
    for thread in _others():
        thread.join(max(0.0, asked_at + PATIENCE_S - time.monotonic()))
    if _others():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    # Looking for cycles among a hundred thousand objects that die with the process takes longer
    # than all the rest.
    gc.freeze()
    sys.exit(code)


def _others() -> list[threading.Thread]:
    """The threads that the interpreter would wait for."""
    here = threading.current_thread()
    return [one for one in threading.enumerate() if one is not here and not one.daemon]
