"""The workbench as a process on a pseudo-terminal: it quits at once and gives the terminal back."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.pseudo_terminal import PATIENCE_S, OnTerminal, on_terminal
from tests.terminal.conftest import environment
from tui import leaving

PROGRAM = """
import fcntl, termios
from tests.terminal.fake_session import FakeSession
from tui.app import run_workbench
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
run_workbench(FakeSession())
"""


@pytest.fixture
def workbench_process() -> Iterator[OnTerminal]:
    variables = environment(PYTHONPATH=os.pathsep.join(sys.path))
    with on_terminal([sys.executable, "-c", PROGRAM], variables) as process:
        yield process


def test_quitting_in_the_middle_of_a_trial_gives_the_terminal_back(
    workbench_process: OnTerminal,
) -> None:
    workbench_process.read_until("linkbench, 1 billion ids")
    workbench_process.press(b"\x13")
    workbench_process.read_until("measuring")
    workbench_process.press(b"\x11")
    assert workbench_process.wait() == 0
    assert workbench_process.is_as_before()


@pytest.mark.parametrize("name", leaving.EXIT_CODES)
def test_a_signal_gives_the_terminal_back(
    workbench_process: OnTerminal, name: signal.Signals
) -> None:
    workbench_process.read_until("linkbench, 1 billion ids")
    assert not workbench_process.is_as_before()
    workbench_process.process.send_signal(name)
    assert workbench_process.wait() == 128 + name
    assert workbench_process.is_as_before()


def test_a_signal_ends_a_workbench_whose_terminal_is_stuck(workbench_process: OnTerminal) -> None:
    workbench_process.read_until("linkbench, 1 billion ids")
    # Nobody reads: what is drawn fills the terminal, and whoever draws waits.
    for _ in range(200):
        workbench_process.press(b"\x1bOQ")
    workbench_process.process.send_signal(signal.SIGTERM)
    assert workbench_process.process.wait(PATIENCE_S) == 143
    assert workbench_process.is_as_before()


@pytest.mark.parametrize("study", [b"", b"\x13"], ids=["idle", "in a study"])
def test_a_terminal_that_is_closed_ends_the_workbench(
    workbench_process: OnTerminal, study: bytes
) -> None:
    workbench_process.read_until("linkbench, 1 billion ids")
    if study:
        workbench_process.press(study)
        workbench_process.read_until("measuring")
    workbench_process.hang_up()
    assert workbench_process.process.wait(PATIENCE_S) == 129


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


TERMINATED_IN_A_RUN = """
import os, signal
from advisor import core
from tests.support.fake_core import FakeCore
from tui.cli import main
fake = FakeCore(fail=lambda spec: os.kill(os.getpid(), signal.SIGTERM))
core.load = lambda: fake
main()
"""


def test_a_terminated_run_removes_its_files(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TERMINATED_IN_A_RUN, "run", "linkbench", "--engine", "lsm"],
        capture_output=True,
        env=environment(TMPDIR=str(tmp_path), PYTHONPATH=os.pathsep.join(sys.path)),
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (143, "")
    assert list(tmp_path.glob("tunebench-*")) == []
