"""What a verification decides from its runs, without an engine."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from advisor import evaluate, knobs
from advisor.errors import InputError, WorkError
from advisor.imports import read
from advisor.real import Library, as_run, check_disk, find, real_spec
from advisor.real.rocksdb import opened_file
from advisor.store import Store
from advisor.trial import THIS_MACHINE, Trial
from advisor.verify import Difference, Verification, errors_so_far, verification, verify
from advisor.verify.contenders import Contender
from advisor.verify.pilot import CYCLES, Pilot, in_cycles, ops_per_byte
from advisor.verify.stored import stored
from advisor.verify.verification import LEAST_ROUNDS, Limits, seconds_of_a_run
from tests.support.fake_core import FakeCore, FakeRun
from tests.support.problems import problem, trial
from tui.problem import predictable

MIB = 1 << 20


def test_pairs_that_all_gain_show_a_difference() -> None:
    found = Difference.of([100.0, 200.0, 150.0], [120.0, 246.0, 178.0])
    assert found is not None
    assert found.is_detectable
    assert found.is_settled(0.03)
    assert found.low < 1.2 < found.high
    assert found.pairs == 3


def test_what_the_machine_did_to_both_of_a_pair_is_no_difference() -> None:
    found = Difference.of([100.0, 300.0, 200.0], [100.2, 299.4, 200.2])
    assert found is not None
    assert not found.is_detectable
    assert found.is_settled(0.03), "nothing larger than 3% can be"
    noisy = Difference.of([100.0, 100.0, 100.0], [80.0, 130.0, 100.0])
    assert noisy is not None
    assert not noisy.is_detectable
    assert not noisy.is_settled(0.03)


def test_files_pass_the_page_cache_by_as_those_of_the_trials_did() -> None:
    """Defaults read 366 MB of tables out of a page cache that the profile's memory does not have,
    beside settings that read the device."""
    there = problem().with_changes(hardware="nvme-2024", data="64MiB", memory="128MiB")
    here = there.with_changes(hardware="this-machine")
    assert here.holds_page_cache_out("real")
    assert predictable(here, "nvme-2024").holds_page_cache_out("real")
    assert not there.holds_page_cache_out("real")
    assert there.with_changes(data="256MiB").holds_page_cache_out("real")


def test_one_pair_is_no_verdict_and_none_is_no_difference() -> None:
    one = Difference.of([100.0], [200.0])
    assert one == Difference(2.0, 0.0, math.inf, 1)
    assert not one.is_detectable
    assert Difference.of([0.0], [1.0]) is None


def test_the_file_holds_what_differs_from_the_products_defaults(tmp_path: Path) -> None:
    settings = {**knobs.defaults("lsm"), "write_buffer_size": 8 * MIB, "num_levels": 5}
    path = tmp_path / "OPTIONS"
    path.write_text(opened_file(settings).text)
    # The engine here is stricter by default than RocksDB about the end of its log.
    stricter = {"wal_recovery_mode": "kTolerateCorruptedTailRecords"}
    changed = {"write_buffer_size": 8 * MIB, "num_levels": 5}
    assert read(path).settings["lsm"] == stricter | changed


def test_what_no_file_states_goes_beside_it() -> None:
    options = {**knobs.defaults("lsm"), "block_cache": 7 * MIB, "sync": True}
    spec, notes = real_spec(
        {"engine": "lsm", "options": options, "workload": {"kind": "ycsb"}, "memory_limit": 5},
        Library("lib.so"),
    )
    given = spec["options"]
    assert (spec["engine"], spec["clock"]) == ("rocksdb", "real")
    assert (given["block_cache"], given["sync"], given["library"]) == (7 * MIB, True, "lib.so")
    assert "memory_limit" not in spec
    assert notes == []


def test_a_setting_that_the_product_lacks_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="level_compaction_dynamic_file_size"):
        opened_file({"level_compaction_dynamic_file_size": False})


def test_what_a_small_copy_makes_too_small_runs_as_the_products_least() -> None:
    options = {**knobs.defaults("lsm"), "write_buffer_size": 57 << 10}
    library = Library("lib.so")
    spec, notes = real_spec({"engine": "lsm", "options": options, "workload": {}}, library)
    opened, told = as_run(options, library)
    assert "write_buffer_size=65536" in spec["options"]["options_file"]
    assert opened == {**options, "write_buffer_size": 64 << 10}, "the prediction is of what ran"
    assert notes == told == ["write_buffer_size 57KiB ran as 64KiB: the product's least"]


@pytest.mark.parametrize("content", [None, b"no archive at all"])
def test_what_is_no_library_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "rocksdbjni.jar"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match="--rocksdb: found "):
        find(path)


def test_a_disk_that_is_too_small_is_said_before_anything_runs(tmp_path: Path) -> None:
    check_disk(tmp_path, 1)
    with pytest.raises(WorkError, match="--data takes less"):
        check_disk(tmp_path, 1 << 60)


def test_what_leaves_little_to_compact_has_as_much_data_as_its_load_has_time_for() -> None:
    told = Pilot(start_s=1.0, per_byte_s=1e-8, ops_per_s=50_000)
    data, seconds = told.sized(20.0, None, None)
    assert seconds == pytest.approx(0.4 * 20 / 1.5)
    assert data == pytest.approx(0.6 * 20 / 1e-8)
    assert told.sized(20.0, None, 10.0) == pytest.approx((5 / 1e-8, 10.0))
    assert told.sized(20.0, 100 * MIB, None) == pytest.approx((100 * MIB, seconds))
    assert told.sized(900.0, None, None)[1] == 30.0


def test_what_leaves_much_to_compact_works_for_longer_on_less_data() -> None:
    told = Pilot(1.0, 1e-8, 50_000, ops_per_byte(debt=0.8, made=1e-3))
    assert told.ops_per_byte == pytest.approx(4e-3)
    data, seconds = told.sized(120.0, None, None)
    assert data * 1e-8 + 1.5 * seconds == pytest.approx(120.0), "all of its time"
    assert seconds * 50_000 / data == pytest.approx(4e-3)
    assert seconds > 60
    given, in_time = told.sized(20.0, 500 * MIB, None)
    assert given == 500 * MIB
    assert in_time == pytest.approx((20 - 500 * MIB * 1e-8) / 1.5), "as long as there is time"
    assert told.sized(4.0, None, None)[0] >= 64 * MIB, "no toy"
    assert told.sized(120.0, None, 10.0)[1] == 10.0, "what is given stays"
    assert ops_per_byte(debt=0.1, made=1e-3) == pytest.approx(5e-4), "a shorter run owes as much"


def test_a_run_fills_level_0_some_times() -> None:
    large = {"write_buffer_size": 16 * MIB, "level0_file_num_compaction_trigger": 16}
    one = Contender("recommended", "lsm", {**knobs.defaults("lsm"), **large})
    written = {"write_kb_per_op": 2.5, "write_amp": 5.0}
    wanted = in_cycles(one, trial(metrics=written), 1024 * MIB)
    assert wanted * 512 == pytest.approx(CYCLES / 4), "a quarter of the data fills it once"
    assert in_cycles(one, trial(metrics={"write_kb_per_op": 0.0}), 1024 * MIB) == 0.0
    paged = Contender("recommended", "btree", knobs.defaults("btree"))
    assert in_cycles(paged, trial(metrics=written), 1024 * MIB) == 0.0


def test_what_does_not_fit_the_memory_takes_no_time_from_the_others() -> None:
    held = [Contender(name, "lsm", knobs.defaults("lsm")) for name in ("defaults", "recommended")]
    above = Contender("current", "lsm", {**knobs.defaults("lsm"), "block_cache": 8 << 30})
    of_two = seconds_of_a_run(Limits(12.0), problem(), held)
    assert of_two == 60 * 12 / 2 / (LEAST_ROUNDS + 1)
    assert seconds_of_a_run(Limits(12.0), problem(), [*held, above]) == of_two


@dataclass
class HangingCore(FakeCore):
    """Runs that hang never end, by a clock that goes on whenever it is asked."""

    hangs: Callable[[Mapping[str, Any]], bool] = lambda spec: False
    now_s: float = 0.0

    def Run(self, spec: dict[str, Any]) -> FakeRun:
        run = super().Run(spec)
        if self.hangs(spec):
            run.intervals = 1 << 40
        return run

    @property
    def real_runs(self) -> int:
        """That were asked for."""
        return sum(spec["clock"] == "real" for spec in self.specs)

    def monotonic(self) -> float:
        """Seconds."""
        self.now_s += 1.0
        return self.now_s


CACHES = {"defaults": 256, "rule": 512, "recommended": 1024}


def _verified(folder: Path, core: FakeCore, minutes: float) -> Verification:
    """Of three contenders whose caches are `CACHES` MiB."""
    given = {name: {"block_cache": cache * MIB} for name, cache in CACHES.items()}
    return verify(
        "s",
        problem(data="64MiB", memory="4GiB"),
        [Contender(one, "lsm", knobs.defaults("lsm") | changes) for one, changes in given.items()],
        Library("librocksdb.so"),
        Store(folder / "results.duckdb"),
        Limits(minutes),
        directory=folder,
        core=core,
    )


def test_the_recommended_runs_beside_the_base_where_nothing_else_has_time(tmp_path: Path) -> None:
    found = _verified(tmp_path, FakeCore(), 0.0)
    assert [one.contender.name for one in found.compared if one.real] == ["defaults", "recommended"]


def test_each_is_predicted_with_the_data_of_the_first_rounds_as_far_as_there_is_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, minutes, seeds in (("short", 0.0, [2]), ("long", 60.0, [2, 3, 4])):
        (folder := tmp_path / name).mkdir()
        core = HangingCore()
        monkeypatch.setattr(verification, "time", core)
        found = _verified(folder, core, minutes)
        assert [[t.seed for t in one.predicted] for one in found.compared] == [seeds] * 3
        kept = stored(found.study, problem(), found.session, Store(folder / "results.duckdb"))
        assert [one.predicted for one in kept.compared] == [one.predicted for one in found.compared]


def test_a_run_that_hangs_while_the_size_is_found_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_settling(spec: Mapping[str, Any]) -> bool:
        return spec["clock"] == "real" and spec.get("ends") == "settled"

    core = HangingCore(hangs=is_settling)
    monkeypatch.setattr(evaluate, "time", core)
    with pytest.raises(WorkError, match="defaults: given up after 60 s of this machine's time"):
        _verified(tmp_path, core, 2.0)


def test_a_real_run_that_hangs_is_given_up_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_first_of_rule(spec: Mapping[str, Any]) -> bool:
        # Three tell the size, then those that run before it.
        return spec["clock"] == "real" and core.real_runs == 3 + len(CACHES)

    core = HangingCore(hangs=is_first_of_rule)
    monkeypatch.setattr(evaluate, "time", core)
    found = {one.contender.name: one for one in _verified(tmp_path, core, 0.02).compared}
    assert "given up after" in str(found["rule"].error)
    assert found["recommended"].real and found["defaults"].real


def _trial(ops_per_s: float, clock: str, hardware: str = THIS_MACHINE) -> Trial:
    real = clock == "real"
    return Trial(
        engine="lsm",
        settings=knobs.defaults("lsm"),
        role="verify",
        outcome="finished",
        seed=1,
        clock="real" if real else "simulated",
        seconds=1.0,
        scale=1.0,
        metrics={"ops_per_s": ops_per_s},
        product="RocksDB 10.4.2" if real else "",
        started="2026-01-01T00:00:00",
        hardware=hardware,
    )


def test_what_the_file_system_writes_is_not_held_against_the_counters_of_an_engine(
    tmp_path: Path,
) -> None:
    written = {"write_kb_per_op": 20.0, "file_system_kb_per_op": 12.0, "write_amp": 5.0}
    predicted = replace(_trial(100.0, "simulated"), metrics={"ops_per_s": 100.0, **written})
    assert predicted.counted == {**predicted.metrics, "write_kb_per_op": 8.0, "write_amp": 2.0}
    real = replace(_trial(100.0, "real"), metrics={"ops_per_s": 100.0, "write_kb_per_op": 8.0})
    assert real.counted == real.metrics

    store = Store(tmp_path / "r.duckdb")
    session = "00000000-0000-0000-0000-000000000001"
    store.add_verified(predicted, "s", session, 0, "defaults", 0)
    store.add_verified(real, "s", session, 0, "defaults", 1)
    asked = "SELECT metric, predicted, real FROM verified ORDER BY metric"
    rows = list(store.sql(asked).rows)
    assert rows == [
        ("file_system_kb_per_op", pytest.approx(12.0), None),
        ("ops_per_s", pytest.approx(100.0), pytest.approx(100.0)),
        ("write_amp", pytest.approx(2.0), None),
        ("write_kb_per_op", pytest.approx(8.0), pytest.approx(8.0)),
    ]


def test_what_was_predicted_for_another_machine_is_no_error_of_the_model(tmp_path: Path) -> None:
    store = Store(tmp_path / "r.duckdb")
    session = "00000000-0000-0000-0000-000000000002"
    for name, place in (("defaults", 0), ("recommended", 1)):
        predicted = _trial(100.0 + place, "simulated", "nvme-2024")
        store.add_verified(predicted, "s", session, place, name, 0)
        store.add_verified(_trial(50.0 + place, "real"), "s", session, place, name, 1)
    assert store.sql("SELECT count(*) FROM verified").rows == ((2,),)
    assert errors_so_far(store, "RocksDB") == []


def test_predicted_and_real_stand_side_by_side_in_the_results(tmp_path: Path) -> None:
    store = Store(tmp_path / "r.duckdb")
    session = "00000000-0000-0000-0000-000000000001"
    runs = (
        ("defaults", 0, [80.0, 125.0], [50.0, 60.0]),
        ("recommended", 1, [250.0, 360.0], [75.0, 90.0]),
    )
    for name, place, predicted, real in runs:
        for value in predicted:
            store.add_verified(_trial(value, "simulated"), "s", session, place, name, 0)
        for number, value in enumerate(real, 1):
            store.add_verified(_trial(value, "real"), "s", session, place, name, number)
    answer = store.sql(
        "SELECT contender, predicted_ratio, real_ratio, rounds FROM verified ORDER BY place"
    )
    assert [row[0] for row in answer.rows] == ["defaults", "recommended"]
    assert answer.rows[1][1] == pytest.approx(3.0)
    assert answer.rows[1][2] == pytest.approx(1.5)
    assert answer.rows[1][3] == 2
    (errors,) = errors_so_far(store, "RocksDB")
    assert (errors.metric, errors.comparisons) == ("ops_per_s", 1)
    assert errors.worst_factor == pytest.approx(2.0)
    assert errors_so_far(store, "MariaDB") == []
