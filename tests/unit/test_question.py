"""What is the same in all trials of a study."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from advisor import knobs
from advisor.errors import InputError
from advisor.knobs import Engine, Settings
from advisor.profile import Profile, load
from advisor.search import Bounds, Question, Study
from advisor.search.seeds import seeds
from advisor.store import Store
from tests.support.fake_core import FakeCore
from tests.support.problems import problem

DIRECT_WRITES = {"use_direct_io_for_flush_and_compaction": True}
SMALL = {"data": "64MiB", "memory": "16MiB"}


def opens_directly(
    profile: Profile, current: dict[str, bool] | None = None, clock: str = "simulated"
) -> bool:
    users = {} if current is None else {"lsm": current}
    asked = Question(profile, engines=("lsm",), current=users, clock=clock)  # type: ignore[arg-type]
    stock = asked.stock("lsm")
    both = {stock["use_direct_reads"], stock["use_direct_io_for_flush_and_compaction"]}
    assert len(both) == 1
    return bool(both.pop())


def test_this_machine_has_no_page_cache_within_a_smaller_memory() -> None:
    here = problem().with_changes(hardware="this-machine", **SMALL)
    assert opens_directly(here)
    assert not opens_directly(here, clock="measured")
    assert not opens_directly(here.with_changes(direct_io=False))
    assert opens_directly(here, {"use_direct_reads": True} | DIRECT_WRITES)
    assert not opens_directly(here, dict.fromkeys(("use_direct_reads", *DIRECT_WRITES), False))
    whole = here.hardware.memory_bytes
    assert not opens_directly(here.with_changes(memory=whole, data=4 * whole))


def test_the_memory_of_other_machines_holds_the_page_cache_too() -> None:
    there = problem().with_changes(hardware="nvme-2024", **SMALL)
    assert not opens_directly(there)
    assert opens_directly(there.with_changes(direct_io=True))


def test_a_file_without_direct_reads_is_searched_past_the_page_cache_too(tmp_path: Path) -> None:
    here = problem().with_changes(hardware="this-machine", data="1GiB", memory="256MiB")
    file: dict[Engine, Settings] = {"lsm": {"use_direct_reads": False}}
    asked = Question(here, engines=("lsm",), current=file, clock="simulated")
    asked = asked.settled(Bounds(), None)
    assert asked.direct_io and not asked.base("lsm")["use_direct_reads"]
    core = FakeCore()
    study = Study("a", asked, Store(tmp_path / "r.duckdb"), bounds=Bounds(trials=2), core=core)
    study.run()
    assert core.specs and all(spec["options"]["use_direct_reads"] for spec in core.specs)
    assert not any(trial.settings["use_direct_reads"] for trial in study.trials)


def test_the_innodb_of_this_machine_is_as_ever() -> None:
    here = problem().with_changes(hardware="this-machine", **SMALL)
    asked = Question(here, engines=("btree",), clock="simulated")
    assert dict(asked.stock("btree")) == dict(knobs.defaults("btree"))


def test_a_profile_says_so_in_its_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("""
data = "64MiB"
memory = "16MiB"
hardware = "nvme-2024"
direct_io = true
[workload]
kind = "key_value"
""")
    assert load(path).passes_page_cache


def test_a_study_of_a_machine_that_lacks_newer_figures_goes_on() -> None:
    asked = Question(problem(), clock="simulated").settled(Bounds(), None)
    stored = asked.record("mine", FakeCore())
    machine = stored.identity["profile"]["hardware"]
    del machine["statement_cold_us"], machine["statement_cools_us"]
    machine["write_handoff_us"] = 0.0
    asked.refuse_unless_same(stored)
    machine["cpu_cores"] += 1
    with pytest.raises(InputError, match="cpu_cores"):
        asked.refuse_unless_same(stored)


def test_a_study_from_before_a_knob_goes_on(tmp_path: Path) -> None:
    """An option that the engines got later did in its trials what the default does."""
    users: dict[Engine, Settings] = {"lsm": {"block_size": 8192, "format_version": 6}}
    asked = Question(problem(), engines=("lsm",), current=users, dialect="myrocks-mariadb-10.11")
    bounds, store, core = Bounds(trials=3), Store(tmp_path / "r.duckdb"), FakeCore()
    made = Study("old", asked, store, bounds=bounds, core=core)
    made.run()
    newer = ("format_version", "high_pri_pool_ratio")
    for table, column, path in (
        ("study", "identity", "$.current.lsm"),
        ("study", "identity", "$.given_by_product"),
        ("trial", "settings", "$"),
    ):
        without(store, table, column, path, newer)
    taken_up = Study.load("old", store, bounds=bounds, core=core)
    base, defaults = taken_up.question.base("lsm"), knobs.defaults("lsm")
    assert {name: base[name] for name in newer} == {name: defaults[name] for name in newer}
    assert base["block_size"] == 8192
    assert [dict(trial.settings) for trial in taken_up.trials] == [
        {**trial.settings, **{name: defaults[name] for name in newer}} for trial in made.trials
    ]
    other = replace(asked, current={"lsm": {"block_size": 8192, "format_version": 2}})
    with pytest.raises(InputError, match="format_version"):
        Study("old", other, store, bounds=bounds, core=core)


def test_a_study_from_before_servers_were_told_apart_is_of_rocksdb(tmp_path: Path) -> None:
    """Where engines were compared over tables the LSM had RocksDB's defaults."""
    asked = Question(problem(), engines=("lsm", "btree"))
    bounds, store, core = Bounds(trials=3), Store(tmp_path / "r.duckdb"), FakeCore()
    Study("old", asked, store, bounds=bounds, core=core).run()
    stock = Study.load("old", store, bounds=bounds, core=core).question.stock("lsm")
    assert stock["format_version"] == 2
    without(store, "study", "identity", "$", ("products",))
    given = tuple(name for name in knobs.catalogue("lsm"))
    without(store, "study", "identity", "$.given_by_product", given)
    stock = Study.load("old", store, bounds=bounds, core=core).question.stock("lsm")
    assert stock["format_version"] == 6
    with pytest.raises(InputError, match="given_by_product"):
        Study("old", asked, store, bounds=bounds, core=core)


def without(store: Store, table: str, column: str, path: str, names: Sequence[str]) -> None:
    """Takes keys out of a stored JSON object."""
    with duckdb.connect(str(store.path)) as stored:
        key = "name" if table == "study" else "id"
        for row, text in stored.execute(f"SELECT {key}, {column} FROM {table}").fetchall():
            document = json.loads(text)
            place = document
            for step in path.split(".")[1:]:
                place = place[step]
            for name in names:
                place.pop(name, None)
            stored.execute(
                f"UPDATE {table} SET {column} = ? WHERE {key} = ?", [json.dumps(document), row]
            )


def test_whose_file_is_wanted_is_no_part_of_the_question() -> None:
    asked = Question(problem()).settled(Bounds(), None)
    stored = asked.record("mine", FakeCore())
    replace(asked, wanted="btree").refuse_unless_same(stored)


def test_what_a_load_left_in_level_0_is_not_searched_where_nothing_is_written() -> None:
    """Files of level 0 that the load of one size leaves cost a scan 2.5 times the reads, and that
    of another leaves none."""
    of_writes = {name for name, knob in knobs.catalogue("lsm").items() if knob.of_writes}
    assert of_writes == {
        "level0_file_num_compaction_trigger",
        "level0_slowdown_writes_trigger",
        "level0_stop_writes_trigger",
        "delayed_write_rate",
    }
    scans = load("ycsb-e").with_changes(**SMALL)
    workload = scans.workload.model_copy(update={"parameters": {"mix": "C"}})
    reads = scans.model_copy(update={"workload": workload})
    asked = Question(reads, engines=("lsm",), clock="simulated")
    assert asked.unsearched("lsm") == of_writes
    opened = replace(asked, opened=("level0_stop_writes_trigger",))
    assert opened.unsearched("lsm") == of_writes - {"level0_stop_writes_trigger"}
    assert Question(scans, engines=("lsm",), clock="simulated").unsearched("lsm") == frozenset()
    settings = {seed.settings["level0_file_num_compaction_trigger"] for seed in seeds(asked)}
    assert settings == {knobs.defaults("lsm")["level0_file_num_compaction_trigger"]}


def test_what_spares_seeks_is_not_searched_on_a_drive_without_any() -> None:
    asked = Question(problem(), engines=("btree",), clock="simulated")
    assert asked.unsearched("btree") == {"innodb_flush_neighbors"}
    assert replace(asked, opened=("innodb_flush_neighbors",)).unsearched("btree") == frozenset()
    assert replace(asked, clock="measured").unsearched("btree") == frozenset()
    on_disks = asked.profile.with_changes(hardware="disk-array-2016")
    assert replace(asked, profile=on_disks).unsearched("btree") == frozenset()


def test_what_a_product_does_without_a_line_for_it_is_the_same_in_all_trials() -> None:
    asked = Question(problem(), engines=("lsm", "btree"), clock="simulated")
    of_mysql = replace(asked, dialect="mysql-8.4")
    servers = [one.stock("btree")["innodb_server"] for one in (asked, of_mysql)]
    assert servers == ["mariadb", "mysql"]
    assert of_mysql.stock("lsm") == asked.stock("lsm")
    assert of_mysql.stock("btree")["innodb_io_capacity"] == 10000
    of_myrocks = replace(asked, dialect="myrocks-mariadb-10.11")
    assert of_myrocks.stock("lsm")["level_compaction_dynamic_file_size"] is False
    assert of_myrocks.stock("lsm")["size_based_intra_l0_compaction"] is False
    formats = {
        one.settings["format_version"] for one in seeds(replace(of_myrocks, engines=("lsm",)))
    }
    assert formats == {2}, "MariaDB's does not start with the 6 of RocksDB 10"
    current = {"btree": {**knobs.defaults("btree"), "innodb_server": "mysql"}}
    for rebuild in (False, True):
        has_mysql = replace(asked, current=current, rebuild=rebuild)
        assert has_mysql.stock("btree")["innodb_server"] == "mysql", rebuild
    some = replace(of_mysql, current={"btree": {"innodb_io_capacity": 2000}})
    assert some.settled(Bounds(), None).base("btree")["innodb_server"] == "mysql"


def test_where_engines_are_compared_over_tables_the_lsm_is_that_of_its_server() -> None:
    """MyRocks keeps indexes in its block cache by default, and RocksDB does not."""
    asked = Question(problem(), engines=("lsm", "btree"), clock="simulated")
    assert asked.profile.workload.info.has_tables
    myrocks = {
        "cache_index_and_filter_blocks": True,
        "high_pri_pool_ratio": 0.0,
        "size_based_intra_l0_compaction": False,
        "format_version": 2,
    }
    for settings in (asked.stock("lsm"), *(one.settings for one in seeds(asked)[:1])):
        assert {name: settings[name] for name in myrocks} == myrocks
    assert asked.stock("lsm")["wal_recovery_mode"] == knobs.defaults("lsm")["wal_recovery_mode"]
    of_rocksdb = replace(asked, dialect="rocksdb-10.4").stock("lsm")
    for alone in (replace(asked, engines=("lsm",)), replace(asked, profile=load("ycsb-a"))):
        stock = {name: alone.stock("lsm")[name] for name in myrocks}
        assert stock == {name: of_rocksdb[name] for name in myrocks}, "RocksDB may serve it"


def test_a_study_for_one_server_does_not_go_on_for_another() -> None:
    asked = Question(problem(), engines=("btree",), clock="simulated")
    stored = asked.record("s", FakeCore())
    asked.refuse_unless_same(stored)
    replace(asked, dialect="mariadb-10.11").refuse_unless_same(stored)
    with pytest.raises(InputError, match="mysql"):
        replace(asked, dialect="mysql-8.4").refuse_unless_same(stored)
