"""A process whose terminal is ours: what it draws is read, keys are typed, and the settings of the
terminal are compared."""

import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

PATIENCE_S = 60


@dataclass
class OnTerminal:
    """The process, and both ends of its terminal."""

    process: subprocess.Popen[bytes]
    keys: int
    terminal: int
    settings: list[object]
    seen: bytearray = field(default_factory=bytearray)

    def read_until(self, text: str) -> None:
        """Collect what is drawn until it holds this text."""
        while text.encode() not in self.seen:
            assert self._read(PATIENCE_S), f"{text!r} was not drawn"

    def read_for(self, seconds: float) -> None:
        """Collect what is drawn, as a full terminal would block."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._read(left)

    def press(self, keys: bytes) -> None:
        """Type."""
        os.write(self.keys, keys)

    def wait(self) -> int:
        """The exit code."""
        end = time.monotonic() + PATIENCE_S
        while self._read(0.02) or (self.process.poll() is None and time.monotonic() < end):
            pass
        return self.process.wait(1)

    def hang_up(self) -> None:
        """Close the terminal, as the end of a connection does."""
        os.close(self.keys)
        self.keys = -1

    def is_as_before(self) -> bool:
        """Whether the terminal has the settings that it had before the process."""
        return termios.tcgetattr(self.terminal) == self.settings

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self.keys], [], [], seconds)
        if ready:
            self.seen += os.read(self.keys, 65536)
        return bool(ready)


@contextmanager
def on_terminal(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[OnTerminal]:
    """Inside the block the command runs on a terminal of 120 by 34."""
    keys, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (34, 120))
    settings = termios.tcgetattr(terminal)
    process = subprocess.Popen(
        command,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**environment, "TERM": "xterm-256color"},
        start_new_session=True,
    )
    there = OnTerminal(process, keys, terminal, settings)
    try:
        yield there
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        if there.keys >= 0:
            there.hang_up()
        os.close(terminal)
