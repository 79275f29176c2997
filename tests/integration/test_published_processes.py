"""A replay and the processes that carry out its runs: an interrupt ends them all in silence, and
they never outlive the process that started them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60
pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")


@contextmanager
def replaying() -> Iterator[tuple[subprocess.Popen[str], set[int]]]:
    """Inside the block a replay has started its workers, whose numbers come with it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tui", "published", "linkbench-flash"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    workers: set[int] = set()
    try:
        until(lambda: len(children(process.pid)) >= 3)
        workers = children(process.pid)
        yield process, workers
    finally:
        for number in {process.pid, *workers}:
            if is_alive(number):
                os.kill(number, signal.SIGKILL)
        process.communicate()


def children(number: int) -> set[int]:
    """The workers, and the process that Python keeps beside them."""
    found = Path(f"/proc/{number}/task").glob("*/children")
    return {int(word) for file in found for word in file.read_text().split()}


def is_alive(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, "did not happen"
        time.sleep(0.02)


@pytest.mark.parametrize("presses", [1, 2])
def test_an_interrupt_ends_a_replay_and_its_workers_without_a_traceback(presses: int) -> None:
    with replaying() as (process, workers):
        for _ in range(presses):
            os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 130
        assert "Traceback" not in said
        assert said.startswith("loading the published experiments\nlinkbench-flash: 7 runs\n")
        assert "interrupted" in said.splitlines()[-1]
        # The process that Python keeps beside them sees only by the end of this one that it may go.
        until(lambda: not any(map(is_alive, workers)))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_replay_and_its_workers(number: signal.Signals) -> None:
    with replaying() as (process, workers):
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, said.count("Traceback")) == (128 + number, 0), said
        until(lambda: not any(map(is_alive, workers)))


def test_workers_die_with_a_parent_that_is_killed() -> None:
    with replaying() as (process, workers):
        process.kill()
        until(lambda: not any(map(is_alive, workers)))


BEHIND_A_SCREEN = """
import sys

class Captured:
    def fileno(self):
        return -1

    def write(self, text):
        return len(text)

    def flush(self):
        pass

sys.stderr = Captured()
from advisor.core import run
from advisor.published.runs import in_processes

with in_processes(run, 2) as runs:
    print(runs.outcomes([{"engine": "none"}], lambda: None))
"""


def test_processes_start_where_the_terminal_is_a_full_screen_programs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BEHIND_A_SCREEN],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("[Failure(") and "engine" in done.stdout
