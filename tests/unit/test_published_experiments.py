"""The experiments as data: full-size settings that the engines accept, on machines that exist."""

import pytest

from advisor import knobs
from advisor.errors import InputError
from advisor.hardware import hardware, shipped_hardware
from advisor.published import EXPERIMENTS, Budget, Experiment, experiment, experiments
from advisor.published.claims import TESTS, judge
from advisor.published.spec import (
    MOST_OPERATIONS,
    SHORTEST_S,
    SMALLEST_DATA,
    choose_factor,
    scaled_run,
)

ALL = experiments()
DAY = experiment("linkbench-flash")


def each() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("one", ALL, ids=[one.name for one in ALL])


@each()
def test_settings_are_knobs_of_the_engine_and_within_their_ranges(one: Experiment) -> None:
    for run in one.runs:
        knobs.check(run.configuration.engine, run.configuration.settings, run.name)


@each()
def test_runs_and_rows_have_names_of_their_own(one: Experiment) -> None:
    assert len({run.name for run in one.runs}) == len(one.runs)
    assert len({row.metric for row in one.rows}) == len(one.rows)


@each()
def test_the_machine_is_one_that_ships(one: Experiment) -> None:
    assert one.hardware in shipped_hardware()


@each()
def test_every_test_of_a_claim_finds_its_rows(one: Experiment) -> None:
    """With a figure in each row of the experiment, no test is without an answer."""
    values = {row.metric: 1.0 for row in one.rows}
    for identifier in set(one.claims) & set(TESTS):
        assert judge(identifier, values).holds is not None, identifier


@each()
def test_a_claim_without_figures_has_no_answer(one: Experiment) -> None:
    assert [judge(identifier, {}).holds for identifier in one.claims] == [None] * len(one.claims)


@each()
def test_the_specs_say_what_the_core_is_told_and_nothing_else(one: Experiment) -> None:
    fields = {"engine", "options", "workload", "clients", "seed", "interval_ms"}
    fields |= {"clock", "hardware"}
    factor = choose_factor(one, Budget(one.seconds))
    fields |= {"scale"} if factor < 1 else set()
    for run in one.runs:
        spec = scaled_run(one, run, factor, hardware(one.hardware)).spec
        assert set(spec) - fields - {"warmup", "binary_log"} in (
            {"seconds", "operations"},
            {"operations"},
        )
        assert ("binary_log" in spec) == (one.binary_log is not None and run.keeps_binary_log)
        assert ("warmup" in spec) == (run.phase.warmup_s > 0)
        assert spec["clock"] == "simulated"
        assert spec["workload"]["kind"]


def test_the_budget_decides_the_size_down_to_a_floor() -> None:
    day = experiment("linkbench-flash")
    large, small = choose_factor(day, Budget(40.0)), choose_factor(day, Budget(4.0))
    assert large == pytest.approx(10 * small, rel=1e-4)
    least = choose_factor(day, Budget(0.001)) * day.data_bytes
    assert least == pytest.approx(SMALLEST_DATA, rel=1e-3)


def test_what_grows_from_nothing_is_halved_until_it_is_affordable() -> None:
    one = experiment("insert-benchmark")
    factors = [choose_factor(one, Budget(seconds)) for seconds in (1e-3, 5.0, 20.0, 1e6)]
    assert factors == [2**-12, 2**-12, 2**-10, 1.0]
    assert factors[0] * one.data_bytes >= SMALLEST_DATA


def test_a_replay_has_whole_warehouses() -> None:
    one = experiment("tpcc-memory-sweep")
    factor = choose_factor(one, Budget(5.0))
    spec = scaled_run(one, one.runs[0], factor, hardware(one.hardware)).spec
    assert spec["workload"]["warehouses"] == pytest.approx(one.units * factor, abs=1e-9)
    assert isinstance(spec["workload"]["warehouses"], int)


def test_time_and_caches_shrink_with_the_data() -> None:
    run = DAY.runs[1]
    spec = scaled_run(DAY, run, 1e-3, hardware(DAY.hardware)).spec
    assert run.phase.seconds is not None
    assert spec["seconds"] == pytest.approx(run.phase.seconds * 1e-3)
    assert run.phase.seconds * 1e-3 > SHORTEST_S
    assert spec["warmup"] == {"most_operations": MOST_OPERATIONS}
    assert DAY.least_operations <= spec["operations"] <= MOST_OPERATIONS
    few = scaled_run(DAY, run, 1e-6, hardware(DAY.hardware)).spec
    assert few["operations"] == DAY.least_operations
    full = run.configuration.settings["innodb_buffer_pool_size"]
    assert spec["options"]["innodb_buffer_pool_size"] == pytest.approx(int(full) * 1e-3, rel=1e-6)
    assert spec["clients"] == run.clients


def test_myrocks_of_2016_has_the_memory_of_innodb_in_two_caches() -> None:
    rocks, none = (scaled_run(DAY, run, 1e-3, hardware(DAY.hardware)).spec for run in DAY.runs[:2])
    both = rocks["options"]["block_cache"] + rocks["hardware"]["page_cache_bytes"]
    assert both == pytest.approx(none["options"]["innodb_buffer_pool_size"], rel=1e-6)
    assert not rocks["options"]["use_direct_reads"]
    assert none["hardware"]["page_cache_bytes"] == 0


def test_the_memory_sweep_of_2018_goes_past_the_page_cache() -> None:
    one = experiment("tpcc-memory-sweep")
    specs = [scaled_run(one, run, 1e-3, hardware(one.hardware)).spec for run in one.runs]
    direct = ("use_direct_reads", "use_direct_io_for_flush_and_compaction")
    for spec in specs:
        assert spec["engine"] == "btree" or all(spec["options"][name] for name in direct)


def test_the_memtable_sweep_runs_at_full_size() -> None:
    sweep = experiment("memtable-sweep")
    assert choose_factor(sweep, Budget(0.001)) == 1.0


def test_an_unknown_experiment_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(InputError, match="linkbench-flash"):
        experiment("linkbench-24")
    assert set(EXPERIMENTS) == {one.name for one in ALL}
