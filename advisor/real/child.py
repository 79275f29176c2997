"""One run of a real engine in the process that this file is started as; `process` starts it.

In: the spec as a line of JSON on stdin. The end of stdin ends the run, and so does the end of the
thread that started this process. Out: lines of JSON on stdout, `{"interval": ...}` as they come,
and at last `{"report": ...}` or `{"error": name, "args": [...]}` with an exception of the core.

It is started as a file, so that only the core is imported: the rooms around it take four times as
long.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from threading import Thread
from typing import Any, BinaryIO

from advisor import _core
from advisor.processes import die_with, stdout_alone, work

POLL_SECONDS = 0.05
_RESET_PEAK = "5"
"""What sets the kernel's record of the most resident memory back (proc(5), `clear_refs`)."""


def main(parent: int) -> None:
    """Carries out the run; `parent` is the process that started this one."""
    die_with(parent)
    out = stdout_alone()
    spec = json.loads(sys.stdin.buffer.readline() or "null")
    if spec is None:
        return
    before = _memory("VmRSS")
    try:
        _tell(out, report=_carry_out(spec, out, before))
    except (_core.SpecError, _core.RunError, _core.RunCancelled) as error:
        _tell(out, error=type(error).__name__, args=error.args)


def _carry_out(spec: dict[str, Any], out: BinaryIO, before: int | None) -> dict[str, Any]:
    run = _core.Run(spec)
    Thread(target=_cancel_at_the_end_of_stdin, args=(run,), daemon=True).start()
    run.start()
    phase, ended = "", False
    while not ended:
        ended = run.wait(POLL_SECONDS)
        for interval in run.poll():
            if interval["phase"] == "run" != phase:
                _forget_peak()
            phase = interval["phase"]
            _tell(out, interval=interval)
    report = run.report()
    peak = _memory("VmHWM")
    if before is not None and peak is not None:
        # A server is a process of its own, whose memory the core tells.
        report["metrics"].setdefault("process_memory_bytes", max(0, peak - before))
    return report


def _cancel_at_the_end_of_stdin(run: _core.Run) -> None:
    sys.stdin.buffer.read()
    run.cancel()


def _tell(out: BinaryIO, **what: object) -> None:
    out.write(json.dumps(what).encode() + b"\n")
    out.flush()


def _memory(name: str) -> int | None:
    """Bytes of this process, by the kernel; None where it does not say."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:  # noqa: PTH123
            lines = dict(line.split(":", 1) for line in file)
        return int(lines[name].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None


def _forget_peak() -> None:
    """From now on the peak is that of the measured phase; where the kernel refuses, of the run."""
    with suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as file:  # noqa: PTH123
        file.write(_RESET_PEAK)


if __name__ == "__main__":
    work(main)
