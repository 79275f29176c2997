"""One line on stderr that changes while something runs. It is drawn on a terminal only."""

import shutil
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from tui import format as fmt

PHASES = {"load": "loading data", "warmup": "warming up", "run": "measuring"}


class LiveLine:
    """Write over the same line until the block ends; then the line is gone."""

    def __init__(self) -> None:
        self.is_visible = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.clear()

    def show(self, text: str) -> None:
        """Replace what the line says."""
        if self.is_visible:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r\x1b[K{text[:width]}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away, so that something lasting can be written."""
        if self.is_visible:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def interval_words(interval: Mapping[str, Any]) -> str:
    """A sample of a running trial: `measuring · 48,213 ops/s · p99 1.24 ms`."""
    phase = str(interval.get("phase", ""))
    words = [PHASES.get(phase, phase)]
    ops_per_s, p99_us = interval.get("ops_per_s"), interval.get("p99_us")
    if ops_per_s is not None:
        words.append(f"{fmt.count(ops_per_s)} ops/s")
    if p99_us is not None and phase != "load":
        words.append(f"p99 {fmt.latency(p99_us)}")
    return " · ".join(words)
