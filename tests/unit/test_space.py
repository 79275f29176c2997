"""The searched values are few, round, lawful, and include what must be compared."""

import pytest

from advisor import knobs
from advisor.evaluate import needed_memory
from advisor.scale import Scale
from advisor.search.space import Space, space
from advisor.trial import Settings
from tests.support.problems import GIB, problem

MIB = 1 << 20


def make(engine: knobs.Engine, scale: float = 1.0, **changes: object) -> Space:
    profile = problem()
    fields = {
        "memory": profile.memory_bytes,
        "data": profile.data_bytes,
        "need": lambda settings: needed_memory(profile, engine, settings),
        "scale": Scale(scale),
    }
    base = knobs.defaults(engine)
    return space(engine, base, **(fields | changes))  # type: ignore[arg-type]


def values(made: Space, name: str) -> tuple[object, ...]:
    return next(axis.values for axis in made.axes if axis.name == name)


def test_sizes_are_powers_of_two_and_their_halves() -> None:
    found = values(make("btree"), "innodb_redo_log_capacity")
    assert found[:5] == (32 * MIB, 48 * MIB, 64 * MIB, 96 * MIB, 128 * MIB)


def test_a_log_is_no_larger_than_twice_the_data() -> None:
    found = values(make("btree", data=100 * MIB), "innodb_redo_log_capacity")
    assert found == (32 * MIB, 48 * MIB, 64 * MIB, 96 * MIB, 128 * MIB, 192 * MIB, 200 * MIB)


def test_defaults_and_anchors_lie_on_the_axes() -> None:
    odd = {"innodb_buffer_pool_size": 777 * MIB}
    made = make("btree", anchors=[odd])
    assert {777 * MIB, 128 * MIB} <= set(values(made, "innodb_buffer_pool_size"))


def test_values_that_a_scaled_run_cannot_tell_apart_are_left_out() -> None:
    found = values(make("lsm", scale=1 / 320), "write_buffer_size")
    assert min(found) >= 5 * MIB  # type: ignore[type-var,operator]


@pytest.mark.parametrize("engine", knobs.ENGINES)
def test_durability_is_searched_only_when_opened(engine: knobs.Engine) -> None:
    durable = {name for name, knob in knobs.catalogue(engine).items() if knob.durability}
    assert not durable & {axis.name for axis in make(engine).axes}
    name = sorted(durable)[0]
    assert name in {axis.name for axis in make(engine, opened=[name]).axes}


@pytest.mark.parametrize("engine", knobs.ENGINES)
@pytest.mark.parametrize("end", [0, -1])
def test_every_corner_decodes_to_settings_that_the_engine_accepts(
    engine: knobs.Engine, end: int
) -> None:
    made = make(engine)
    settings = made.decode({axis.name: range(len(axis.values))[end] for axis in made.axes})
    assert knobs.check(engine, settings) == settings


def test_a_value_below_its_bound_is_raised_to_it() -> None:
    made = make("lsm")
    low: Settings = {
        **made.base,
        "level0_file_num_compaction_trigger": 16,
        "level0_slowdown_writes_trigger": 8,
    }
    assert int(made.raised(low)["level0_slowdown_writes_trigger"]) >= 16


@pytest.mark.parametrize("engine", knobs.ENGINES)
def test_decoding_undoes_encoding(engine: knobs.Engine) -> None:
    made = make(engine)
    assert made.decode(made.encode(made.base)) == made.base


def test_memory_above_the_budget_is_a_share_of_it() -> None:
    made = make("lsm")
    assert made.memory_excess(made.base) < 0
    assert made.memory_excess({**made.base, "block_cache": 8 * GIB}) == pytest.approx(1.2, abs=0.1)
