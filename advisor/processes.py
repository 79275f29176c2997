"""What a process does first that another one started to work for it. Nothing heavy is imported
here: starting one costs what its imports cost."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from typing import BinaryIO, NoReturn

_PR_SET_PDEATHSIG = 1


def work(main: Callable[[int], None]) -> NoReturn:
    """Does `main` with the number of the process that started this one, its argument, and ends: at
    once, so that neither the interpreter's end, a library's nor a thread can spoil what was
    told."""
    try:
        main(int(sys.argv[1]))
    except BrokenPipeError:
        os._exit(1)
    os._exit(0)


def die_with(parent: int) -> None:
    """From now on this process ends with the thread that started it, whatever ends that, where the
    kernel can do so (prctl(2)); `parent` is the process of the thread."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def stdout_alone() -> BinaryIO:
    """The only way to what was stdout: what a library prints goes to stderr."""
    alone = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(alone, "wb")
