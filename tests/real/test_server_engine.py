"""Real servers behind the commands: runs with InnoDB and MyRocks, and what goes wrong with them."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from advisor.evaluate import Setup, evaluate
from advisor.profile import load
from advisor.real.server import find_server
from advisor.scale import Scale
from tests.real.mariadb_server import MARKS, SERVER, has_rocksdb

pytestmark = MARKS

PROFILE = """
text = "sysbench, small"
data = "8MiB"
memory = "512MiB"
clients = 2
hardware = "nvme-2024"
goal = "maximize ops_per_s"
engines = ["lsm", "btree"]

[workload]
kind = "sysbench"
"""
STORAGES = [
    "innodb",
    pytest.param(
        "myrocks",
        marks=pytest.mark.skipif(not has_rocksdb(), reason="mariadb-plugin-rocksdb is missing"),
    ),
]


def command(folder: Path, *words: object) -> list[str]:
    profile = folder / "sysbench.toml"
    profile.write_text(PROFILE)
    given = ("run", profile, *words, "--results", folder / "results.duckdb")
    return [sys.executable, "-m", "tui", *map(str, given)]


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder)}


def run(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return carried_out(folder, command(folder, *words))


def tunebench(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return carried_out(folder, [sys.executable, "-m", "tui", *map(str, words)])


def carried_out(folder: Path, asked: list[str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        asked, capture_output=True, text=True, env=environment(folder), timeout=300
    )
    assert servers(folder) == []
    assert not list(folder.glob("tunebench-*")), "a scratch folder stays"
    return done


def servers(folder: Path) -> list[str]:
    """Command lines of processes that work below a folder."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (OSError, UnicodeDecodeError):
            continue
        if process.name.isdigit() and f"--datadir={folder}" in line:
            found.append(line)
    return found


@pytest.mark.parametrize("storage", STORAGES)
def test_a_workload_runs_on_a_server(tmp_path: Path, storage: str) -> None:
    small = ("--set", "innodb_buffer_pool_size=6MiB") if storage == "innodb" else ()
    done = run(tmp_path, "--engine", storage, "--seconds", 1, "--json", *small)
    assert done.returncode == 0, done.stderr
    trial: Any = json.loads(done.stdout)
    assert trial["clock"] == "real"
    assert "MariaDB" in trial["product"]
    metrics = trial["metrics"]
    assert {"ops_per_s", "p99_us", "write_kb_per_op", "cpu_us_per_op"} <= metrics.keys()
    assert metrics["cpu_us_per_op"] > 50, "a transaction of 20 statements"
    # Rows have 188 bytes, and an entry of the index.
    assert 0.5 < metrics["space_amp"] < 6
    assert "stall_s" not in metrics
    written = set(trial["bytes_by_purpose"])
    assert written >= ({"redo", "page_flush"} if storage == "innodb" else {"wal"})
    assert trial["by_statement"]["point_select"]["count"] >= 10
    assert trial["by_statement"]["commit"]["p99_us"] > 0


@pytest.mark.skipif(not has_rocksdb(), reason="mariadb-plugin-rocksdb is missing")
def test_level_0_is_emptied_into_the_base_level(tmp_path: Path) -> None:
    """Put on level 1 instead, what was there is all that later merges have to do with."""
    path = tmp_path / "writes.toml"
    path.write_text(PROFILE + 'script = "oltp_write_only"\n')
    profile = load(path)
    setup = Setup(
        profile,
        Scale(1.0),
        120.0,
        "real",
        tmp_path,
        real=find_server("myrocks"),
        operations=2000,
        empties_level0=True,
    )
    settings = {
        "write_buffer_size": 256 << 10,
        "level0_file_num_compaction_trigger": 2,
        "level_compaction_dynamic_level_bytes": True,
    }
    trial = evaluate(setup, "lsm", settings, seed=1)
    assert trial.finished, trial.error
    merged = trial.bytes_by_purpose["compaction"]["written_bytes"]
    assert merged > profile.data_bytes / 2, trial.bytes_by_purpose


def test_settings_reach_the_server(tmp_path: Path) -> None:
    settings = ("innodb_doublewrite=false", "innodb_buffer_pool_size=6MiB")
    given = [word for setting in settings for word in ("--set", setting)]
    done = run(tmp_path, "--engine", "innodb", "--seconds", 1, "--json", *given)
    assert done.returncode == 0, done.stderr
    written = json.loads(done.stdout)["bytes_by_purpose"]
    assert "page_flush" in written
    assert "doublewrite" not in written


def test_a_program_that_is_no_server_is_said_so(tmp_path: Path) -> None:
    for path, says in [("/no/such/mariadbd", "no such file"), ("/bin/true", "does not say")]:
        done = run(tmp_path, "--engine", "innodb", "--server", path)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
        assert says in done.stderr


def test_a_server_that_does_not_start_is_quoted(tmp_path: Path) -> None:
    broken = tmp_path / "mariadbd"
    refuses = 'case "$*" in *skip-networking*) echo "[ERROR] out of luck" >&2; exit 3;; esac'
    broken.write_text(f'#!/bin/sh\n{refuses}\nexec {SERVER} "$@"\n')
    broken.chmod(0o755)
    done = run(tmp_path, "--engine", "innodb", "--server", broken)
    assert done.returncode == 1
    assert "out of luck" in done.stderr


def test_a_workload_of_keys_is_refused(tmp_path: Path) -> None:
    words = ("run", "ycsb-a", "--engine", "innodb", "--results", tmp_path / "r.duckdb")
    asked = [sys.executable, "-m", "tui", *map(str, words)]
    done = subprocess.run(asked, capture_output=True, text=True, env=environment(tmp_path))
    assert done.returncode == 2
    assert "speaks SQL" in done.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_server_outlives_the_tool(tmp_path: Path, how: signal.Signals) -> None:
    moments = random.Random(how.value)
    for _ in range(2):
        asked = command(tmp_path, "--engine", "innodb", "--seconds", 30)
        process = subprocess.Popen(
            asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(tmp_path)
        )
        time.sleep(moments.uniform(1.0, 6.0))
        process.send_signal(how)
        process.wait(timeout=30)
        # What makes the data folder reads its statements to the end.
        until = time.monotonic() + 15
        while servers(tmp_path) and time.monotonic() < until:
            time.sleep(0.1)
        assert servers(tmp_path) == []
        if how != signal.SIGKILL:
            assert not list(tmp_path.glob("tunebench-*")), "a scratch folder stays"
    # The next start removes what a kill left.
    assert run(tmp_path, "--engine", "innodb", "--seconds", 0.1).returncode == 0


def test_advice_about_tables_is_verified_on_a_server(tmp_path: Path) -> None:
    profile = tmp_path / "sysbench.toml"
    profile.write_text(PROFILE)
    results = ("--results", tmp_path / "results.duckdb")
    tuned = tunebench(
        tmp_path, "tune", profile, "--engine", "btree", "--trials", 3, "--study", "s", *results
    )
    assert tuned.returncode == 0, tuned.stderr
    words = ("verify", "s", "--minutes", 0.1, "--data", "8MiB", "--runners-up", 0, *results)
    done = tunebench(tmp_path, *words, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["verification"]
    assert "InnoDB of MariaDB" in found["product"]
    ran = [one for one in found["compared"] if one["real"]]
    assert len(ran) >= 2, [one["error"] for one in found["compared"]]
    assert all("ops_per_s" in one["differences"] for one in ran[1:])
    listed = tunebench(tmp_path, "results", *results)
    assert "InnoDB of MariaDB" in listed.stdout
