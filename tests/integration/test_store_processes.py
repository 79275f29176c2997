"""Several processes share the results; a killed one and a full disk lose at most the running
trial."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from advisor.errors import InputError
from advisor.store import Store
from tests.support.problems import trial

ROOT = Path(__file__).parents[2]

HOLD = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""

WRITE = """
import sys
from advisor.store import Store
from tests.support.problems import trial
store = Store(sys.argv[1])
for number in range(int(sys.argv[2])):
    store.add_trial(trial(), sys.argv[3])
    print(number, flush=True)
"""

FILL = """
import os, resource, sys
from advisor.errors import WorkError
from advisor.store import Store
from tests.support.problems import trial
store = Store(sys.argv[1])
store.add_trial(trial(), "mine")
limit = os.path.getsize(sys.argv[1]) + 300_000
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
rows = tuple({"phase": "run", "t_s": i / 7, "ops_per_s": i * 1.1} for i in range(20_000))
try:
    for _ in range(50):
        store.add_trial(trial(intervals=rows), "mine")
except WorkError as error:
    print(error)
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_results_held_by_another_process_are_refused_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "results.duckdb"
    with start(HOLD, path) as holder:
        assert read_line(holder) == "held"
        store = Store(path, patience_s=0.0)
        for use in (lambda: store.add_trial(trial(), None), store.studies):
            with pytest.raises(InputError, match=f"held by process {holder.pid}"):
                use()
        holder.communicate("")
    assert store.add_trial(trial(), None).number == 1


def test_two_writers_share_the_file(tmp_path: Path) -> None:
    path = tmp_path / "results.duckdb"
    writers = [start(WRITE, path, 4, study) for study in ("one", "two")]
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    for study in ("one", "two"):
        assert [t.number for t in Store(path).trials(study)] == [1, 2, 3, 4]


def test_a_killed_writer_loses_no_trial_that_it_reported(tmp_path: Path) -> None:
    path = tmp_path / "results.duckdb"
    with start(WRITE, path, 1000, "mine") as writer:
        while read_line(writer) != "3":
            pass
        writer.send_signal(signal.SIGKILL)
    kept = Store(path).trials("mine")
    assert [t.number for t in kept[:4]] == [1, 2, 3, 4]
    assert all(t.metrics == trial().metrics and t.intervals == trial().intervals for t in kept)


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs a limit of file sizes")
def test_a_full_disk_keeps_what_was_stored(tmp_path: Path) -> None:
    path = tmp_path / "results.duckdb"
    with start(FILL, path) as filler:
        said, _ = filler.communicate()
    assert "the disk is full" in said
    kept = Store(path).trials("mine")
    assert kept and all(t.metrics == trial().metrics for t in kept)
