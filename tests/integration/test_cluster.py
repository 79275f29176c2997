"""A study whose trials are made by the workers of a cluster."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import LocalCluster

from advisor import core
from advisor.errors import InputError
from advisor.search import Bounds, Question, Study
from advisor.search.cluster import connected
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
