"""Runs of the core in processes of their own: what a real engine does to its process, an abort or
memory that it keeps, does not reach this one.

The process ends with the thread that started it, whatever ends that.
"""

from __future__ import annotations

import json
import math
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from advisor.core import Core
from advisor.spec import Interval, Report, Spec

CHILD = Path(__file__).with_name("child.py")
GRACE_S = 0.2
"""From the wish to end a run to the end of its process by force: to close a database and remove its
files takes seconds, and whoever started the run removes its folder anyway."""
_LAST_LINES = 3
"""Of what a process that died said, that are told."""
_LAST_BYTES = 2000


class ProcessCore:
    """The core as `advisor.core.Core` describes it, every run in a process of its own."""

    def __init__(self, core: Core) -> None:
        self.VERSION = core.VERSION
        self.SpecError = core.SpecError
        self.RunError = core.RunError
        self.RunCancelled = core.RunCancelled
        self.work_kinds = core.work_kinds
        self.probe_turning = core.probe_turning

    def Run(self, spec: Spec) -> ProcessRun:
        """One run; what the core refuses shows in its report."""
        return ProcessRun(self, spec)


class ProcessRun:
    """One run in a process. It is watched and ended in the thread that starts it."""

    def __init__(self, core: ProcessCore, spec: Spec) -> None:
        self._core, self._spec = core, spec
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        """What the process writes to stderr."""
        self._death = ""
        self._unread = b""
        self._intervals: list[Interval] = []
        self._last: dict[str, Any] = {}
        self._is_cancelled = False
        self._killed_at = math.inf
        self._is_over = False

    def start(self) -> None:
        """Starts the process and returns at once."""
        try:
            self._said = tempfile.TemporaryFile()  # noqa: SIM115
            # In a group of its own no Ctrl-C of the terminal reaches it.
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(CHILD), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                process_group=0,
            )
        except OSError as error:
            raise self._core.RunError(f"no process for the real engine: {error}", False) from error
        # One that is dead already is told by its stdout.
        with suppress(BrokenPipeError):
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(self._spec).encode() + b"\n")
            self._process.stdin.flush()

    def poll(self) -> list[Interval]:
        """Intervals that ended since the last poll."""
        new, self._intervals = self._intervals, []
        return new

    def cancel(self) -> None:
        """Asks the run to end; a moment later its process is killed. Its report raises
        `RunCancelled`."""
        if not self._is_cancelled:
            self._is_cancelled = True
            self._killed_at = time.monotonic() + GRACE_S
            _close(self._started.stdin)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits until the run ends or `timeout_s` passes, and says whether it ended."""
        until = math.inf if timeout_s is None else time.monotonic() + timeout_s
        while not self._is_over:
            self._read(min(until, self._killed_at) - time.monotonic())
            now = time.monotonic()
            if now >= self._killed_at:
                self._started.kill()
                self._killed_at = math.inf
            if now >= until and not self._is_over:
                return False
        return True

    @property
    def finished(self) -> bool:
        """Whether the run ended, well or not."""
        return self._is_over

    def report(self) -> Report:
        """The report; raises `SpecError`, `RunError` and `RunCancelled` as the core does, and
        `RunError` for a process that died."""
        report: Report | None = self._last.get("report")
        if report is not None:
            return report
        if "error" in self._last:
            kind: type[Exception] = getattr(self._core, self._last["error"])
            raise kind(*self._last["args"])
        if self._is_cancelled:
            raise self._core.RunCancelled("cancelled")
        raise self._core.RunError(self._death, False)

    @property
    def _started(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "the run was started"
        return self._process

    def _read(self, seconds: float) -> None:
        """Takes what the process tells within so many seconds."""
        stdout = self._started.stdout
        assert stdout is not None
        poll = select.poll()
        poll.register(stdout, select.POLLIN)
        if not poll.poll(None if seconds == math.inf else max(0.0, seconds) * 1000):
            return
        read = os.read(stdout.fileno(), 1 << 16)
        if not read:
            self._end()
            return
        *lines, self._unread = (self._unread + read).split(b"\n")
        for line in lines:
            told = json.loads(line)
            if "interval" in told:
                self._intervals.append(told["interval"])
            else:
                self._last = told

    def _end(self) -> None:
        process, said = self._started, self._said
        assert said is not None
        process.wait()
        with said:
            self._death = _death(process.returncode, said)
        _close(process.stdin)
        _close(process.stdout)
        self._is_over = True


def _death(code: int, said: IO[bytes]) -> str:
    """How a process ended that left no report."""
    how = f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
    size = said.seek(0, os.SEEK_END)
    said.seek(max(0, size - _LAST_BYTES))
    lines = [line.strip() for line in said.read().decode(errors="replace").splitlines()]
    words = "; ".join([line for line in lines if line][-_LAST_LINES:])
    return f"the process of the real engine {how}{': ' if words else ''}{words}"


def _close(pipe: IO[bytes] | None) -> None:
    # What was not taken any more stays unwritten.
    if pipe is not None:
        with suppress(BrokenPipeError):
            pipe.close()
