"""Settings side by side, run on the core for that."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import advisor
from advisor import core
from advisor.errors import InputError
from advisor.store import Store
from tests.support.fake_core import FakeCore
from tests.support.problems import trial
from tui.cli import app

SMALL = ("--profile", "linkbench", "--data", "20GiB", "--memory", "4GiB", "--hardware", "nvme-2024")
CACHE = "block_cache=64MiB"


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeCore:
    fake = FakeCore()
    monkeypatch.setattr(core, "load", lambda: fake)
    monkeypatch.setenv("TUNEBENCH_RESULTS", str(tmp_path / "results.duckdb"))
    return fake


def compared(*words: str) -> Result:
    return CliRunner().invoke(app, ["compare", *words])


def test_settings_run_with_the_same_seeds_and_get_a_verdict(fake: FakeCore) -> None:
    done = compared(CACHE, "block_cache=2GiB", *SMALL, "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert [one["kind"] for one in told["compared"]] == ["configuration"] * 2
    (row,) = (row for row in told["metrics"] if row["metric"] == "ops_per_s")
    assert row["verdicts"][0]["outcome"] == "better"
    (apart,) = told["settings"]
    assert apart["knobs"] == {"block_cache": [64 << 20, 2 << 30]}
    seeds = [spec["seed"] for spec in fake.specs]
    assert sorted(seeds) == [1, 1, 2, 2, 3, 3]


def test_files_of_both_engines_stand_beside_settings_and_stored_runs(
    tmp_path: Path, fake: FakeCore
) -> None:
    mine = tmp_path / "my.cnf"
    mine.write_text("[mysqld]\ninnodb_buffer_pool_size = 1G\n")
    store = Store()
    run = store.add_trial(trial(clock="simulated", role="run"))
    found = advisor.compare(
        str(mine),
        CACHE,
        run.id[:8],
        profile="linkbench",
        data="20GiB",
        memory="4GiB",
        hardware="nvme-2024",
        runs=2,
    )
    assert [side.engine for side in found.sides] == ["btree", "lsm", "lsm"]
    assert found.sides[0].settings["innodb_buffer_pool_size"] == 1 << 30
    assert [len(side.trials) for side in found.sides] == [2, 2, 1]
    assert len([one for one in store.runs() if one.role == "run"]) == 5, "runs are stored"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((CACHE, "block_cache=2GiB"), "--profile: found block_cache=64MiB without a profile"),
        (("one", "two", *SMALL), "--profile: found linkbench, and nothing to run"),
        (("one", "two", "--seed", "3"), "--seed: found nothing to run; accepted: with --profile"),
        ((CACHE, "no_such_knob=1", *SMALL), "the knob 'no_such_knob'"),
        ((CACHE, "block_cache=much", *SMALL), "block_cache"),
        ((CACHE, "block_cache=1GiB,innodb_io_capacity=500", *SMALL), "settings of lsm and btree"),
        ((CACHE, "innodb_io_capacity=5", *SMALL, "--engine", "lsm"), "innodb_io_capacity"),
    ],
)
def test_what_is_no_configuration_is_refused_in_one_line(
    fake: FakeCore, words: tuple[str, ...], says: str
) -> None:
    done = compared(*words)
    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = done.stderr.strip().splitlines()
    assert says in line
    assert fake.specs == [], "nothing ran before it was refused"


def test_settings_that_do_not_fit_say_so(fake: FakeCore) -> None:
    found = compared(CACHE, "block_cache=64GiB", *SMALL)
    assert found.exit_code == 0, found.output
    assert "rejected: needs" in found.stdout


def test_runs_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="1 to 100"):
        advisor.compare(CACHE, "block_cache=1GiB", profile="linkbench", runs=101)
    with pytest.raises(InputError, match="memory: found 4GiB; accepted: with a profile alone"):
        advisor.compare("one", "two", memory="4GiB")
