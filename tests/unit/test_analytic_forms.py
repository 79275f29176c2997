"""The closed forms against what their sources say of them."""

import numpy as np
import pytest

from advisor.analytic import btree, compaction, lsm, machine
from advisor.analytic.columns import Columns
from advisor.analytic.demand import Demand, Keys, demand
from advisor.analytic.model import Model
from advisor.analytic.popularity import Lru, items, pages
from advisor.knobs import ENGINES, Engine, Settings, defaults
from advisor.workload import kinds
from tests.support.problems import GIB, problem

MIB = 1 << 20


def uniform(**changes: float) -> Keys:
    given: dict[str, float] = {"items": 1e6, "item_bytes": 100.0, "row_bytes": 100.0}
    return Keys(key_bytes=16, **(given | changes))  # type: ignore[arg-type]


def predict(engine: Engine, *changed: Settings, **profile: object) -> dict[str, np.ndarray]:
    model = Model.of(problem(hardware="nvme-2024", **profile), engine)
    assert model is not None
    columns = Columns.of([{**defaults(engine), **one} for one in changed])
    return model.predict(columns, model.needed_bytes(columns))


def test_direct_reads_have_no_use_for_free_memory() -> None:
    profile = problem(hardware="nvme-2024")
    own: list[Settings] = [{}, {"use_direct_reads": True}]
    buffered, direct = predict("lsm", *own)["reads_per_op"]
    assert direct > 1.2 * buffered
    past = Model.of(profile, "lsm", direct_io=True)
    assert past is not None
    columns = Columns.of([{**defaults("lsm"), **one} for one in own])
    found = past.predict(columns, past.needed_bytes(columns))["reads_per_op"]
    assert found.tolist() == [direct, direct]


def test_settings_come_back_out_of_their_columns() -> None:
    known = [{"a": 1, "b": "x"}, {"a": 2, "b": "x"}, {"a": 1, "b": "x"}]
    columns = Columns.of(known)
    assert [columns.settings(i) for i in range(3)] == known
    assert columns.number("a").tolist() == [1, 2, 1]
    assert columns.take(np.array([2, 1])).number("a").tolist() == [1, 2]


@pytest.mark.parametrize(
    ("shape", "hottest", "share"),
    [(0.99, 0.01, 0.707), (0.99, 0.1, 0.852), (0.8, 0.01, 0.376), (0.625, 0.1, 0.421)],
)
def test_the_hottest_of_ten_million_items_get_their_published_share(
    shape: float, hottest: float, share: float
) -> None:
    classes = items(uniform(items=1e7, skew=shape))
    ranks, mass = classes.count.cumsum(), (classes.count * classes.rate).cumsum()
    assert np.interp(hottest * 1e7, ranks, mass) == pytest.approx(share, abs=0.012)


def test_pages_get_all_requests_and_scattering_flattens_them() -> None:
    hot = uniform(skew=0.99)
    scattered, gathered = pages(hot, 100), pages(uniform_gathered(hot), 100)
    for classes in (scattered, gathered):
        assert (classes.count * classes.rate).sum() == pytest.approx(1.0)
        assert classes.count.sum() == pytest.approx(1e4, rel=0.01)
    held = {
        name: Lru.of([1.0], [classes], 1.0).hit_ratio(
            0, Lru.of([1.0], [classes], 1.0).time(np.array([1e3]))
        )[0]
        for name, classes in (("scattered", scattered), ("gathered", gathered))
    }
    assert 0.1 < held["scattered"] < held["gathered"]


def uniform_gathered(space: Keys) -> Keys:
    return uniform(skew=space.skew, gathered=True)


@pytest.mark.parametrize("part", [0.01, 0.3, 0.9])
def test_of_uniform_requests_a_cache_answers_its_part(part: float) -> None:
    classes = pages(uniform(), 10.0)
    lru = Lru.of([2.0], [classes], 4096.0)
    time = lru.time(np.array([part * 1e5 * 4096.0]))
    assert lru.hit_ratio(0, time)[0] == pytest.approx(part, abs=0.01)


def test_a_filter_of_ten_bits_lets_one_in_120_pass() -> None:
    assert lsm._false_positives("bloomfilter:10:false") == pytest.approx(0.0082, abs=1e-4)
    assert lsm._false_positives("nullptr") == 1.0


def test_dynamic_levels_are_each_a_tenth_of_the_next() -> None:
    settings = {**defaults("lsm"), "max_bytes_for_level_base": 256 * MIB}
    levels = compaction.levels_of(Columns.of([settings]), np.array([20.0 * GIB]))
    sizes = [size[0] for size in levels.sizes if size[0] > 0]
    assert sizes == pytest.approx([0.2 * GIB, 2 * GIB, 20 * GIB])


def test_static_levels_grow_from_the_base_and_the_last_has_the_rest() -> None:
    settings = {**defaults("lsm"), "level_compaction_dynamic_level_bytes": False}
    levels = compaction.levels_of(Columns.of([settings]), np.array([20.0 * GIB]))
    sizes = [size[0] for size in levels.sizes if size[0] > 0]
    assert sizes == pytest.approx([0.25 * GIB, 2.5 * GIB, 17.25 * GIB])


def test_larger_memtables_lower_the_write_amplification_of_random_writes() -> None:
    small, large = predict(
        "lsm",
        {"write_buffer_size": 16 * MIB},
        {"write_buffer_size": 64 * MIB},
        workload={"kind": "key_value", "reads": 0},
    )["write_amp"]
    assert 1.0 < large < small


def test_rows_that_are_overwritten_often_are_rewritten_less() -> None:
    def amplification(**skew: object) -> float:
        mix = {"kind": "key_value", "reads": 0, **skew}
        return float(predict("lsm", {}, workload=mix)["write_amp"][0])

    assert amplification(distribution="zipfian") < 0.8 * amplification()


def test_appended_rows_are_moved_and_not_rewritten() -> None:
    fill = {"kind": "db_bench", "benchmark": "fillseq"}
    assert predict("lsm", {"compression": "kNoCompression"}, workload=fill)["write_amp"][0] < 2.2


def test_filters_save_the_reads_of_absent_keys() -> None:
    mix = {"kind": "key_value", "overwrites": 0, "absent_share": 0.5}
    filtered = {"filter_policy": "bloomfilter:10:false"}
    reads = predict("lsm", {}, filtered, workload=mix)["reads_per_op"]
    assert reads[1] < 0.8 * reads[0]


def test_compressed_files_in_the_page_cache_hold_more_than_the_block_cache() -> None:
    mix = {"kind": "key_value", "overwrites": 0}
    left, taken = predict("lsm", {}, {"block_cache": 3 * GIB}, workload=mix)["reads_per_op"]
    assert left < taken


def test_a_page_that_is_changed_often_is_written_once_in_a_turn_of_the_log() -> None:
    """Uniform: u / (1 + u tau / P) pages a change (cost-models.md 2.3), while none leaves."""
    space = uniform(overwrites=1.0, gets=1.0)
    own = pages(space, 100.0)
    written = btree._written([space], [own], np.array([1e14]), np.array([1e5]))
    assert written[0] == pytest.approx(1.0 / (1.0 + 1e5 / 1e4))


def test_a_larger_redo_log_and_a_larger_pool_save_page_writes() -> None:
    small, log, both = predict(
        "btree",
        {},
        {"innodb_redo_log_capacity": 4 * GIB, "innodb_buffer_pool_size": GIB},
        {"innodb_redo_log_capacity": 4 * GIB, "innodb_buffer_pool_size": 3 * GIB},
    )["write_kb_per_op"]
    assert both < log < small


def test_small_pages_hold_more_of_the_rows_that_are_asked_for() -> None:
    large, small = predict(
        "btree",
        {"innodb_buffer_pool_size": 2 * GIB},
        {"innodb_buffer_pool_size": 2 * GIB, "innodb_page_size": 4096},
        workload={"kind": "ycsb", "mix": "A"},
    )["reads_per_op"]
    assert small < 0.9 * large


def test_nobody_is_faster_than_the_slowest_station_or_than_without_queues() -> None:
    cpu = machine.Station(4, np.array([100.0, 1.0]), np.array([20.0, 0.0]))
    rate = machine._closed([cpu], np.array([50.0, 50.0]), clients=8)
    assert rate[0] < 4 / 120.0
    assert rate[0] > 0.7 * 4 / 120.0
    assert rate[1] == pytest.approx(8 / 51.0, rel=0.01)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["disk-array-2016", "nvme-2024", "sata-ssd-2018", "cloud-volume"])
def test_every_machine_has_a_closed_form(engine: Engine, name: str) -> None:
    model = Model.of(problem(hardware=name), engine)
    assert model is not None
    columns = Columns.of([defaults(engine)])
    found = model.predict(columns, model.needed_bytes(columns))
    assert all(np.isfinite(values).all() for values in found.values())
    assert found["ops_per_s"][0] > 0


def described() -> list[str]:
    return [kind for kind in kinds() if kind != "tpcc"]


@pytest.mark.parametrize("kind", described())
def test_workloads_have_as_much_data_as_their_profile_says(kind: str) -> None:
    found = demand(problem(workload={"kind": kind}))
    assert isinstance(found, Demand)
    assert found.data_bytes == pytest.approx(20 * GIB, rel=0.25)


def test_a_workload_that_nobody_described_has_no_model() -> None:
    assert Model.of(problem(workload={"kind": "tpcc"}, data="20GiB"), "lsm") is None


def test_work_behind_reads_is_cold_until_caches_are_filled() -> None:
    warm_ns, reads = np.array([50_000.0, 50_000.0, 100_000.0]), np.array([0.0, 1.0, 2.0])
    cold_ns = machine.with_cold_work(warm_ns, reads, {"cold_work": 2.0}) - warm_ns
    assert cold_ns == pytest.approx(2 * 31_606 * reads, abs=1.0)
