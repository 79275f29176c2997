"""The real RocksDB behind the commands: a run, a verification, and what goes wrong with them.

Debian's library is built with assertions: its counters are right, its speed is not."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from ctypes.util import find_library
from pathlib import Path
from typing import Any

import pytest

from advisor.store import Store

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        find_library("rocksdb") is None,
        reason="no librocksdb among the system's libraries",
    ),
]

SMALL = ("--data", "24MiB", "--memory", "256MiB")


def command(folder: Path, *words: object) -> list[str]:
    results = ("--results", str(folder / "results.duckdb"))
    return [sys.executable, "-m", "tui", *map(str, words), *results]


def tunebench(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run(
        command(folder, *words), capture_output=True, text=True, env=environment, timeout=300
    )
    assert not list(folder.glob("tunebench-*")), "a scratch folder stays"
    return done


def answered(folder: Path, *words: object) -> Any:
    done = tunebench(folder, *words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_workload_runs_on_it_and_is_stored(tmp_path: Path) -> None:
    # Settings of an LSM on a workload of tables leave room for a server.
    small = ("--data", "24MiB", "--memory", "384MiB")
    run = answered(tmp_path, "run", "linkbench", "--engine", "rocksdb", *small, "--seconds", 0.5)
    assert (run["clock"], run["hardware"]) == ("real", "this-machine")
    assert run["product"].startswith("RocksDB ")
    metrics = run["metrics"]
    assert metrics["ops_per_s"] > 0
    assert metrics["write_amp"] > 0
    assert {"kernel_write_kb_per_op", "memory_bytes", "cpu_us_per_op"} <= metrics.keys()
    assert metrics["process_memory_bytes"] > metrics["memory_bytes"]
    listed = tunebench(tmp_path, "results").stdout
    assert run["product"] in listed
    assert " real " in listed


def test_the_memory_that_is_told_is_that_of_the_settings(tmp_path: Path) -> None:
    words = ("run", "ycsb-b", "--engine", "rocksdb", *SMALL, "--seconds", 0.5)
    given = ("--set", "block_cache=1MiB", "--set", "write_buffer_size=1MiB")
    first, again = (answered(tmp_path, *words, *given)["metrics"]["memory_bytes"] for _ in "12")
    assert 1 << 20 <= first <= 6 << 20
    assert abs(first - again) < 1 << 20


def test_settings_reach_it(tmp_path: Path) -> None:
    def level0(trigger: int) -> float:
        settings = {
            "write_buffer_size": "256KiB",
            "level0_file_num_compaction_trigger": trigger,
            "level0_slowdown_writes_trigger": 1000,
            "level0_stop_writes_trigger": 1000,
        }
        given = [word for pair in settings.items() for word in ("--set", "=".join(map(str, pair)))]
        words = ("run", "fillrandom", "--engine", "rocksdb", *SMALL, "--seconds", 1, *given)
        run = answered(tmp_path, *words)
        return float(run["bytes_by_purpose"].get("compaction", {}).get("written_bytes", 0))

    assert level0(900) == 0.0
    assert level0(2) > 0.0


def test_a_verification_says_predicted_and_real(tmp_path: Path) -> None:
    tuned = tunebench(
        tmp_path, "tune", "ycsb-a", "--engine", "lsm", "--hardware", "nvme-2024", *SMALL,
        "--trials", 4, "--seconds", 0.05, "--study", "s",
    )  # fmt: skip
    assert tuned.returncode == 0, tuned.stderr
    words = ("verify", "s", "--minutes", 0.2, "--data", "8MiB", "--runners-up", 1)
    answer = answered(tmp_path, *words)
    found = answer["verification"]
    base, *others = found["compared"]
    assert base["contender"]["name"] == "defaults"
    assert others, "a contender beside the defaults"
    assert base["real"], base["error"]
    assert {one["clock"] for one in base["predicted"]} == {"simulated"}
    assert [one["seed"] for one in base["predicted"]] == sorted(
        {one["seed"] for one in base["predicted"]}
    ), "each with the data of another round"
    assert {trial["clock"] for one in found["compared"] for trial in one["real"]} == {"real"}
    ran = [one for one in others if one["real"]]
    assert ran, "a contender that ran"
    assert all("ops_per_s" in one["differences"] for one in ran)
    shown = tunebench(tmp_path, *words[:-2], "--runners-up", 0).stdout
    assert " the base\n" in shown
    assert "predicted for nvme-2024" in shown
    stored = answered(tmp_path, "results", "--sql", "SELECT DISTINCT contender FROM verified")
    assert {"defaults"} <= {row["contender"] for row in stored}
    assert tunebench(tmp_path, "results", "--delete", "s", "--force").returncode == 0
    assert answered(tmp_path, "results", "--sql", "SELECT * FROM verification") == []


TUNE = (
    "tune", "ycsb-a", "--engine", "lsm", "--hardware", "nvme-2024", *SMALL,
    "--trials", 6, "--seconds", 0.05, "--study", "s", "--finalists", 2,
)  # fmt: skip


def test_a_search_ends_on_it_and_the_file_quotes_it(tmp_path: Path) -> None:
    target = tmp_path / "tuned" / "OPTIONS"
    told = tunebench(tmp_path, *TUNE, "--finalist-minutes", 0.3, "-o", target)
    assert told.returncode == 0, told.stderr
    assert "the finalists of the lsm engine will run on RocksDB " in told.stderr
    for text in (told.stdout, target.read_text(), (target.parent / "report.md").read_text()):
        assert re.search(r"On RocksDB [0-9.]+ itself, with 24MiB of data .* ops_per_s", text)
    (final,) = answered(tmp_path, "results", "--sql", "SELECT * FROM final")
    assert final["study"] == "s"


def test_an_interrupt_of_the_finalists_leaves_the_searchs_answer(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    target = tmp_path / "tuned" / "OPTIONS"
    words = command(tmp_path, *TUNE, "--finalist-minutes", 2, "-o", target)
    running = subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True)
    store = Store(tmp_path / "results.duckdb")
    try:
        until(lambda: store.verified_session("s") is not None, running)
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=30)
    finally:
        running.kill()
    assert running.returncode == 130, told
    assert "the recommendation is that of the search" in told
    assert "# The finalists decided nothing: they were interrupted." in target.read_text()
    assert store.verified_session("s") is not None
    assert store.final("s") is None


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--rocksdb", "/no/such/librocksdb.so"), "no such file"),
        (("--rocksdb", "/etc/passwd"), "invalid ELF header"),
        (("--set", "level_compaction_dynamic_file_size=false"), "always on since RocksDB 9.0"),
        (("--simulate",), "by the wall clock"),
        (("--hardware", "nvme-2024"), "runs on this machine"),
    ],
)
def test_what_cannot_run_is_one_line(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    done = tunebench(tmp_path, "run", "ycsb-a", "--engine", "rocksdb", *SMALL, *words)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("tunebench: ")
    assert says in line


def under_way(folder: Path) -> tuple[subprocess.Popen[str], int]:
    """A long run that has begun, and the process of its engine."""
    environment = {**os.environ, "TMPDIR": str(folder)}
    words = ("run", "fillrandom", "--engine", "rocksdb", *SMALL, "--seconds", 60)
    running = subprocess.Popen(
        command(folder, *words), env=environment, stderr=subprocess.PIPE, text=True
    )
    until(lambda: bool(list(folder.glob("tunebench-*/files/*.log"))), running)
    tasks = Path(f"/proc/{running.pid}/task").glob("*/children")
    (engine,) = [int(word) for task in tasks for word in task.read_text().split()]
    return running, engine


def until(holds: Callable[[], bool], running: subprocess.Popen[str] | None = None) -> None:
    began = time.monotonic()
    while not holds():
        assert running is None or running.poll() is None, running.communicate()[1]
        assert time.monotonic() - began < 240
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether there is a process of this id that can still do anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_an_engine_that_aborts_is_a_run_that_failed_in_one_line(tmp_path: Path) -> None:
    running, engine = under_way(tmp_path)
    os.kill(engine, signal.SIGABRT)
    _, told = running.communicate(timeout=20)
    assert running.returncode == 1
    (line,) = told.strip().splitlines()
    assert "the run failed: the process of the real engine died of SIGABRT" in line
    assert not list(tmp_path.glob("tunebench-*"))
    (stored,) = answered(tmp_path, "results")["runs"]
    assert stored["outcome"] == "failed"


def test_a_killed_tool_leaves_no_engine(tmp_path: Path) -> None:
    running, engine = under_way(tmp_path)
    running.kill()
    running.communicate(timeout=20)
    until(lambda: not is_alive(engine))


def test_ctrl_c_ends_a_run_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    running, engine = under_way(tmp_path)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=20)
    assert running.returncode != 0
    assert not is_alive(engine)
    assert not list(tmp_path.glob("tunebench-*"))
