"""The workbench as a process on a pseudo-terminal: it quits at once and gives the terminal back."""

import os
import pty
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.terminal.conftest import environment

PATIENCE_S = 30
PROGRAM = """
from tests.terminal.fake_session import FakeSession
from tui.app import Workbench
import sys
app = Workbench(FakeSession())
app.run()
sys.exit(app.return_code or 0)
"""


@dataclass
class OnTerminal:
    """A process whose terminal is ours."""

    process: subprocess.Popen[bytes]
    keys: int
    terminal: int
    seen: bytearray = field(default_factory=bytearray)

    def read_until(self, text: str) -> None:
        """Collect what is drawn until it holds this text."""
        while text.encode() not in self.seen:
            ready, _, _ = select.select([self.keys], [], [], PATIENCE_S)
            assert ready, f"{text!r} was not drawn"
            self.seen += os.read(self.keys, 65536)

    def wait(self) -> int:
        """The exit code; the terminal is drained meanwhile, as a full one would block."""
        for _ in range(PATIENCE_S * 20):
            ready, _, _ = select.select([self.keys], [], [], 0.05)
            if ready:
                self.seen += os.read(self.keys, 65536)
            elif self.process.poll() is not None:
                break
        return self.process.wait(PATIENCE_S)

    def is_cooked(self) -> bool:
        """Whether the terminal echoes and edits lines, as a shell needs it."""
        local = termios.tcgetattr(self.terminal)[3]
        return bool(local & termios.ECHO) and bool(local & termios.ICANON)


@pytest.fixture
def workbench_process() -> Iterator[OnTerminal]:
    keys, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (34, 120))
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=environment(TERM="xterm-256color", PYTHONPATH=os.pathsep.join(sys.path)),
        start_new_session=True,
    )
    try:
        yield OnTerminal(process, keys, terminal)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(keys)
        os.close(terminal)


def test_quitting_in_the_middle_of_a_trial_gives_the_terminal_back(
    workbench_process: OnTerminal,
) -> None:
    workbench_process.read_until("linkbench, 1 billion ids")
    os.write(workbench_process.keys, b"\x13")
    workbench_process.read_until("measuring")
    os.write(workbench_process.keys, b"\x11")
    assert workbench_process.wait() == 0
    assert workbench_process.is_cooked()


def test_a_termination_signal_gives_the_terminal_back(workbench_process: OnTerminal) -> None:
    workbench_process.read_until("linkbench, 1 billion ids")
    assert not workbench_process.is_cooked()
    workbench_process.process.send_signal(signal.SIGTERM)
    assert workbench_process.wait() == 143
    assert workbench_process.is_cooked()


def test_a_closed_pipe_ends_a_listing_without_a_traceback(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "tui", "profiles"],
        stdout=writer,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
        check=False,
    )
    os.close(writer)
    assert "Traceback" not in done.stderr
