"""Scratch folders of real processes: gone after every signal that can be handled, and after a kill
with the next start, which leaves alone what it does not own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from advisor import holding, scratch

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60
COMMANDS = {
    "run": ["run", "linkbench", "--engine", "lsm", "--measure", "--seconds", "60"],
    "tune": ["tune", "linkbench", "--engine", "lsm", "--measure", "--seconds", "60"],
    "calibrate": ["doctor", "--calibrate", "-o", "machine.toml"],
}
NEXT = "from pathlib import Path; from advisor import scratch; scratch.sweep(Path('{}'))"


@contextmanager
def working(name: str, home: Path) -> Iterator[subprocess.Popen[str]]:
    """Inside the block the command has a trial running."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tui", *COMMANDS[name]],
        cwd=home,
        env={
            **os.environ,
            "TMPDIR": str(home),
            "TUNEBENCH_RESULTS": str(home / "results.duckdb"),
            "PYTHONPATH": str(ROOT),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        end = time.monotonic() + PATIENCE_S
        while not any(home.glob("tunebench-*/files/*.*")):
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < end, "no trial was begun"
            time.sleep(0.02)
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def folders(home: Path) -> list[Path]:
    return sorted(home.glob("tunebench-*"))


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_ends_a_command_that_removes_its_files(
    name: str, number: signal.Signals, tmp_path: Path
) -> None:
    with working(name, tmp_path) as process:
        process.send_signal(number)
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + number
    assert "Traceback" not in said
    assert folders(tmp_path) == []


def test_a_hangup_that_nohup_ignores_stays_ignored(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with working("run", tmp_path) as process:
            signal.signal(signal.SIGHUP, before)
            process.send_signal(signal.SIGHUP)
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE_S)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert process.returncode == 143


def test_the_next_start_removes_what_a_killed_one_left_and_nothing_of_a_live_one(
    tmp_path: Path,
) -> None:
    with working("run", tmp_path) as killed:
        killed.kill()
    (left,) = folders(tmp_path)
    with scratch.folder(tmp_path) as first:
        assert folders(tmp_path) == [first.parent], "this process swept as it started"
        with working("run", tmp_path) as live:
            (other,) = (one for one in folders(tmp_path) if one != first.parent)
            subprocess.run([sys.executable, "-c", NEXT.format(tmp_path)], cwd=ROOT, check=True)
            assert folders(tmp_path) == sorted([first.parent, other])
            live.terminate()
            live.communicate(timeout=PATIENCE_S)
    assert folders(tmp_path) == [] and not left.exists()


@pytest.mark.parametrize("host", ["", "elsewhere"])
def test_folders_without_an_owner_or_of_another_machine_stay(tmp_path: Path, host: str) -> None:
    foreign = tmp_path / "tunebench-abc"
    foreign.mkdir()
    if host:
        owner = {"pid": 1, "host": host, "machine": "another"}
        (foreign / scratch.OWNER).write_text(json.dumps(owner))
    (foreign / "thesis.tex").write_text("precious")
    scratch.sweep(tmp_path)
    assert (foreign / "thesis.tex").read_text() == "precious"


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    holding.take(precious / scratch.OWNER).leave()
    (tmp_path / "tunebench-link").symlink_to(precious)
    scratch.sweep(tmp_path)
    assert precious.exists()


def test_a_file_that_is_held_names_its_holder_until_it_is_released(tmp_path: Path) -> None:
    path = tmp_path / "held"
    hold = holding.take(path)
    with pytest.raises(holding.Held, match=f"process {os.getpid()} on "):
        holding.take(path)
    assert holding.take_over(path) is None
    hold.release()
    assert not path.exists()
    holding.take(path).release()


def test_what_a_dead_process_held_is_free(tmp_path: Path) -> None:
    path = tmp_path / "held"
    code = f"""
import os, pathlib
from advisor import holding
holding.take(pathlib.Path({str(path)!r}))
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    assert path.exists()
    taken = holding.take_over(path)
    assert taken is not None
    taken.release()
