"""The end of the process: what the exit code is, and that no thread can hold it up."""

import subprocess
import sys
import time

import pytest

from tests.terminal.conftest import environment
from tui import leaving

END = """
import threading, time
from tui import leaving
threading.Thread(target={target}).start()
leaving.end(143, time.monotonic())
"""


@pytest.mark.parametrize(
    "target", ["threading.Event().wait", "lambda: None"], ids=["hangs", "ends"]
)
def test_a_process_ends_with_its_code_whether_or_not_its_threads_do(target: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", END.format(target=target)],
        env=environment(PYTHONPATH=":".join(sys.path)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (143, "")


def test_a_command_that_is_asked_again_while_it_ends_goes_on_ending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    ask = leaving.Exit()
    with pytest.raises(SystemExit) as asked:
        ask(129)
    assert asked.value.code == 129
    ask(143)
    now += leaving.GRACE_S + 1
    with pytest.raises(SystemExit):
        ask(143)
