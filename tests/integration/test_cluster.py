"""A study whose trials are made by the workers of a cluster."""

import re
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from distributed import KilledWorker, LocalCluster

from advisor import core
from advisor.errors import InputError, WorkError
from advisor.search import Bounds, Question, Study
from advisor.search.cluster import connected
from advisor.search.runner import Afar
from advisor.store import Store
from advisor.trial import Trial
from tests.support.problems import problem


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        yield str(cluster.scheduler_address)


def told(trial: Trial) -> tuple[object, ...]:
    return trial.engine, trial.settings, trial.scale, trial.seed, trial.metrics


def test_two_workers_make_the_trials_that_this_machine_would(
    tmp_path: Path, scheduler: str
) -> None:
    profile = problem(hardware="nvme-2024", data="64MiB", memory="256MiB")
    question = Question(profile, engines=("btree",), clock="simulated", seconds=0.05)
    store = Store(tmp_path / "results.duckdb")
    here = Study("here", question, store, bounds=Bounds(trials=8))
    assert here.run() == "complete"
    with connected(scheduler) as afar:
        assert afar.workers == 2
        there = Study("there", question, store, bounds=Bounds(trials=8), afar=afar)
        assert there.run() == "complete"
    assert list(map(told, there.trials)) == list(map(told, here.trials))


class Scripted(Executor):
    """Makes the trials here, but those that a script has something to raise for."""

    def __init__(self, raised: dict[int, Exception]) -> None:
        self._raised = raised
        self._asked = 0

    def submit(self, work: Any, /, *given: Any, **named: Any) -> Future[Any]:
        self._asked += 1
        future: Future[Any] = Future()
        if self._asked in self._raised:
            future.set_exception(self._raised[self._asked])
        else:
            future.set_result(work(*given, **named))
        return future


def scripted(folder: Path, raised: dict[int, Exception]) -> Study:
    profile = problem(hardware="nvme-2024", data="64MiB", memory="256MiB")
    question = Question(profile, engines=("btree",), clock="simulated", seconds=0.05)
    afar = Afar(Scripted(raised), 2)
    store = Store(folder / "results.duckdb")
    return Study("scripted", question, store, bounds=Bounds(trials=5), afar=afar)


def test_a_worker_that_is_lost_is_a_failed_trial(tmp_path: Path) -> None:
    worker = SimpleNamespace(address="tcp://127.0.0.1:9")
    found = scripted(tmp_path, {2: KilledWorker("trial", worker, 3)})  # type: ignore[arg-type]
    assert found.run() == "complete"
    failed = [one for one in found.trials if one.outcome == "failed"]
    assert [one.number for one in failed] == [2]
    assert (failed[0].error or "").startswith("KilledWorker: ")
    assert failed[0].settings and failed[0].scale == found.trials[0].scale
    assert len(found.trials) > 2


@pytest.mark.parametrize("lost", [BrokenProcessPool("all ended"), OSError("no scheduler")])
def test_where_all_workers_are_lost_the_study_ends_and_keeps_what_was_made(
    tmp_path: Path, lost: Exception
) -> None:
    found = scripted(tmp_path, {3: lost})
    with pytest.raises(WorkError, match=r"workers were lost: \w+: (all ended|no scheduler)"):
        found.run()
    stored = Store(tmp_path / "results.duckdb").trials("scripted")
    assert {one.number for one in stored} >= {1, 2}
    assert all(one.finished for one in stored)


def test_workers_with_another_core_are_refused(
    scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = core.load()

    class Other:
        VERSION = "0.0.0"

    monkeypatch.setattr(core, "load", Other)
    found = re.escape(f"core {loaded.VERSION} on tcp://")
    wanted = rf"--cluster: found {found}.*accepted: core 0\.0\.0"
    with pytest.raises(InputError, match=wanted), connected(scheduler):
        pass


def test_where_nobody_answers_the_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("advisor.search.cluster.PATIENCE_S", 0.2)
    with (
        pytest.raises(InputError, match=r"no answer from tcp://127"),
        connected("tcp://127.0.0.1:9"),
    ):
        pass
