"""Trials share a load where they may, and only there."""

from pathlib import Path
from typing import Any

import pytest

from advisor import engines, knobs
from advisor.evaluate import Setup, evaluate
from advisor.knobs import Engine, Settings
from advisor.loading import loaded_before
from advisor.memory_need import needed_parts
from advisor.scale import Scale
from tests.support.fake_core import FakeCore
from tests.support.problems import GIB, problem

MIB = 1 << 20

TRACELESS: dict[Engine, Settings] = {
    "lsm": {"block_cache": 64 * MIB, "max_background_jobs": 8, "use_direct_reads": True},
    "btree": {"innodb_buffer_pool_size": 256 * MIB, "innodb_io_capacity_max": 9000},
}
SHOWN: dict[Engine, Settings] = {
    "lsm": {"write_buffer_size": 8 * MIB},
    "btree": {"innodb_page_size": 4096},
}


def load(engine: Engine, settings: Settings, seed: int = 1) -> dict[str, Any]:
    core = FakeCore()
    setup = Setup(problem(), Scale(1 / 256), 1.0, clock="simulated", core=core)
    evaluate(setup, engine, settings, seed=seed)
    found: dict[str, Any] = core.specs[0]["load"]
    return found


@pytest.mark.parametrize("engine", knobs.ENGINES)
def test_settings_that_no_load_shows_share_a_load(engine: Engine) -> None:
    usual = load(engine, {})
    assert load(engine, TRACELESS[engine]) == usual
    assert load(engine, SHOWN[engine]) != usual


@pytest.mark.parametrize("engine", knobs.ENGINES)
def test_the_seed_of_a_run_is_that_of_its_data(engine: Engine) -> None:
    assert "seed" not in load(engine, {}, seed=9)


@pytest.mark.parametrize("engine", knobs.ENGINES)
def test_a_load_has_the_memory_of_the_profile(engine: Engine) -> None:
    one = problem()
    found = loaded_before(one, engine, knobs.defaults(engine) | TRACELESS[engine])
    assert found.settings[engines.of(engine).cache_knob] > GIB
    assert needed_memory(engine, found.settings) <= one.memory_bytes


def needed_memory(engine: Engine, settings: Settings) -> int:
    return sum(part.bytes for part in needed_parts(problem(), engine, settings))


def test_a_measured_run_loads_itself(tmp_path: Path) -> None:
    core = FakeCore()
    setup = Setup(problem(), Scale(1 / 256), 1.0, directory=tmp_path, core=core)
    evaluate(setup, "lsm", {}, seed=1)
    assert "load" not in core.specs[0]
