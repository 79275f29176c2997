"""A run in a process of its own says what it would say here, and its end is not ours."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from advisor import core
from advisor.core import Cancelled, DiskFull
from advisor.errors import InputError, WorkError
from advisor.hardware import hardware
from advisor.real import ProcessCore, process
from advisor.scale import machine_spec

SPEC: dict[str, Any] = {
    "engine": "lsm",
    "clock": "simulated",
    "workload": {"kind": "key_value", "keys": 2000},
    "operations": 2000,
    "interval_ms": 10,
    "hardware": machine_spec(hardware("nvme-2024")),
}


def forever(folder: Path) -> dict[str, Any]:
    """A measured run that only a cancellation ends."""
    spec = {name: value for name, value in SPEC.items() if name not in ("hardware", "operations")}
    return {**spec, "clock": "measured", "seconds": 3600, "directory": str(folder / "run")}


def carried_out(spec: dict[str, Any], **hooks: Any) -> Any:
    return core.run(spec, core=ProcessCore(core.load()), **hooks)  # type: ignore[arg-type]


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(word) for task in tasks for word in task.read_text().split()]


@pytest.fixture
def others() -> list[int]:
    """Children that earlier tests left, such as the resource tracker of multiprocessing."""
    return children(os.getpid())


def is_alive(pid: int) -> bool:
    """Whether there is a process of this id that can still do anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pid: int) -> bool:
    ends = time.monotonic() + 10
    while is_alive(pid) and time.monotonic() < ends:
        time.sleep(0.01)
    return not is_alive(pid)


def test_the_report_is_the_same_but_for_the_memory_of_the_process() -> None:
    seen: list[float] = []
    there = carried_out(SPEC, on_interval=lambda interval: seen.append(interval["t_s"]))
    assert there["metrics"].pop("process_memory_bytes") > 0
    here = core.run(SPEC)  # type: ignore[arg-type]
    assert there == here
    assert seen == [interval["t_s"] for interval in here["intervals"]]


def test_what_the_core_refuses_is_refused() -> None:
    with pytest.raises(InputError) as raised:
        carried_out({**SPEC, "clients": 0})
    assert (raised.value.where, raised.value.found) == ("clients", "0")


def test_a_run_that_fails_has_failed() -> None:
    with pytest.raises(WorkError) as raised:
        carried_out({**SPEC, "memory_limit": 1})
    assert not isinstance(raised.value, DiskFull)


def test_a_full_disk_is_told_from_other_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child_that(
        tmp_path, monkeypatch, """print('{"error": "RunError", "args": ["no space", true]}')"""
    )
    with pytest.raises(DiskFull, match="no space"):
        carried_out(SPEC)


def test_a_cancelled_run_ends_within_a_moment(tmp_path: Path, others: list[int]) -> None:
    began: list[float] = []

    def cancelled() -> bool:
        if (tmp_path / "run").exists():
            began.append(time.monotonic())
        return bool(began)

    with pytest.raises(Cancelled):
        carried_out(forever(tmp_path), cancelled=cancelled)
    assert time.monotonic() - began[0] < 2.0
    assert children(os.getpid()) == others


def test_a_process_that_does_not_end_when_asked_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: list[int]
) -> None:
    child_that(tmp_path, monkeypatch, "import time; time.sleep(600)")
    with pytest.raises(Cancelled):
        carried_out(SPEC, cancelled=lambda: True)
    assert children(os.getpid()) == others


def child_that(folder: Path, monkeypatch: pytest.MonkeyPatch, does: str) -> None:
    script = folder / "child.py"
    script.write_text(does, encoding="utf-8")
    monkeypatch.setattr(process, "CHILD", script)


def test_a_process_that_aborts_is_a_run_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says = "import os, sys; sys.stderr.write('one\\n\\ndb.cc:7: Assertion `ok` failed.\\n');"
    child_that(tmp_path, monkeypatch, f"{says} sys.stderr.flush(); os.abort()")
    with pytest.raises(WorkError) as raised:
        carried_out(SPEC)
    died = "the process of the real engine died of SIGABRT"
    assert str(raised.value) == f"{died}: one; db.cc:7: Assertion `ok` failed."


def test_a_process_that_ends_without_a_word_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child_that(tmp_path, monkeypatch, "raise SystemExit(3)")
    with pytest.raises(WorkError, match=r"the process of the real engine ended with code 3$"):
        carried_out(SPEC)


def test_what_a_library_prints_is_no_report() -> None:
    prints = "import os; from advisor import processes; out = processes.stdout_alone(); "
    prints += "os.write(1, b'noise'); out.write(b'told'); out.flush()"
    done = subprocess.run([sys.executable, "-c", prints], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"told", b"noise")


PARENT = """
import json, sys
from advisor import core
from advisor.real import ProcessCore
core.run(json.loads(sys.argv[1]), core=ProcessCore(core.load()))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_parent_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    spec = json.dumps(forever(tmp_path))
    parent = subprocess.Popen([sys.executable, "-c", PARENT, spec])
    ends = time.monotonic() + 30
    while not (tmp_path / "run").exists():
        assert parent.poll() is None
        assert time.monotonic() < ends
        time.sleep(0.01)
    (child,) = children(parent.pid)
    parent.send_signal(number)
    parent.wait()
    assert gone(child)


def test_a_process_whose_parent_is_gone_already_does_not_begin() -> None:
    done = subprocess.run(
        [sys.executable, "-P", str(process.CHILD), "1"], input=b"", timeout=30, check=False
    )
    assert done.returncode == 1
