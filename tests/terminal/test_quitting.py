"""Leaving the workbench at any moment of a study: it is cancelled and over before the interpreter
goes, nothing aborts, and what was stored stays.

`TUNEBENCH_QUITS` says how many times; `make soak` asks for more.
"""

import os
import random
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from advisor import scratch
from advisor.store import Store
from tests.support.problems import trial
from tests.support.pseudo_terminal import OnTerminal, on_terminal
from tests.terminal.conftest import environment

QUITS = int(os.environ.get("TUNEBENCH_QUITS", "20"))
AT_ONCE = 4
LONGEST_WAIT_S = 2.5
CODES = {"quit": 0, "SIGTERM": 143, "SIGHUP": 129}


@dataclass(frozen=True)
class Moment:
    """How a process is told to end, and how long after its study was started."""

    number: int
    way: str
    wait_s: float


def moments() -> list[Moment]:
    draw = random.Random(15)
    return [
        Moment(number, draw.choice(sorted(CODES)), draw.uniform(0, LONGEST_WAIT_S))
        for number in range(QUITS)
    ]


def leave(workbench: OnTerminal, way: str) -> int:
    if way == "quit":
        workbench.press(b"\x11")
    else:
        workbench.process.send_signal(signal.Signals[way])
    return workbench.wait()


def complaints(moment: Moment, home: Path) -> list[str]:
    """What went wrong where a study was left at this moment."""
    home.mkdir()
    results = home / "results.duckdb"
    kept = Store(results).add_trial(trial(), "kept")
    variables = environment(TMPDIR=str(home), TUNEBENCH_RESULTS=str(results))
    with on_terminal([sys.executable, "-m", "tui"], variables) as workbench:
        workbench.read_until("Start the study")
        workbench.press(b"\x13")
        workbench.read_for(moment.wait_s)
        code = leave(workbench, moment.way)
        found = [] if code == CODES[moment.way] else [f"exit code {code}"]
        found += [] if workbench.is_as_before() else ["the terminal has other settings"]
        said = bytes(workbench.seen)
    found += [word for word in ("FATAL", "Traceback", "NoMatches") if word.encode() in said]
    store = Store(results)
    found += [] if store.trials("kept") == [kept] else ["what was stored is gone"]
    for study in store.studies():
        numbers = [one.number for one in store.trials(study.name)]
        found += [] if numbers == list(range(1, len(numbers) + 1)) else [f"{study.name}: {numbers}"]
    scratch.sweep(home)
    found += [f"{left.name} stays" for left in home.glob("tunebench-*")]
    return [f"{moment}: {one}" for one in found]


@pytest.mark.timeout(60 * QUITS)
def test_a_study_is_left_at_any_moment_without_a_trace(tmp_path: Path) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = pool.map(lambda one: complaints(one, tmp_path / str(one.number)), moments())
    assert "\n".join(complaint for of_one in found for complaint in of_one) == ""
