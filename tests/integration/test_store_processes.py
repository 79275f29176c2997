"""Several processes share the results; a killed one and a full disk lose at most the running
trial."""

import os
import platform
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from advisor.errors import InputError
from advisor.recommend import recommend
from advisor.store import Store
from advisor.store.lease import lease_path, leased
from advisor.trial import settings_key
from tests.support.fake_core import FakeCore
from tests.support.problems import study, trial

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

SEARCH = """
import pathlib, sys
from tests.support.fake_core import FakeCore
from tests.support.problems import study
from advisor.errors import InputError

def wait(spec):
    print("running", flush=True)
    sys.stdin.read()

try:
    study(pathlib.Path(sys.argv[1]), name=sys.argv[2], trials=8, core=FakeCore(fail=wait)).run()
except InputError as error:
    print(error)
    sys.exit(error.exit_code)
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
    for name in ("one", "two"):
        assert [t.number for t in Store(path).trials(name)] == [1, 2, 3, 4]


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


def test_a_study_that_another_process_runs_is_refused_with_its_number_and_host(
    tmp_path: Path,
) -> None:
    with start(SEARCH, tmp_path, "mine") as first:
        assert read_line(first) == "running"
        with start(SEARCH, tmp_path, "mine") as second, start(SEARCH, tmp_path, "else") as other:
            said, _ = second.communicate()
            assert second.returncode == 2
            assert f"mine: found a study that process {first.pid} on {platform.node()} is" in said
            assert read_line(other) == "running"
            other.communicate("")
        first.communicate("")
        assert first.returncode == 0
    for name in ("mine", "else"):
        kept = Store(tmp_path / "results.duckdb").trials(name)
        assert [t.number for t in kept] == list(range(1, len(kept) + 1))
        assert len({(settings_key(t.engine, t.settings), t.seed) for t in kept}) == len(kept)
    assert list(tmp_path.glob(".*.lease")) == []


def test_a_study_whose_process_was_killed_can_be_run(tmp_path: Path) -> None:
    with start(SEARCH, tmp_path, "mine") as killed:
        assert read_line(killed) == "running"
        killed.kill()
    assert lease_path(tmp_path / "results.duckdb", "mine").exists()
    assert study(tmp_path, name="mine", trials=8).run() == "complete"


def test_what_another_process_measured_meanwhile_is_not_measured_again(tmp_path: Path) -> None:
    results = tmp_path / "results.duckdb"
    core = FakeCore()
    early = study(tmp_path, name="mine", trials=8, core=core)
    with start(SEARCH, tmp_path, "mine") as other:
        other.communicate("")
    measured = len(Store(results).trials("mine"))
    assert early.run() == "complete"
    assert len(Store(results).trials("mine")) == measured
    assert core.specs == []


def test_a_study_is_read_while_another_process_runs_it(tmp_path: Path) -> None:
    study(tmp_path, name="mine", trials=8).run()
    with leased(tmp_path / "results.duckdb", "mine"):
        advice = recommend(study(tmp_path, name="mine"), measure=False)
    assert advice.study == "mine"
