"""Settings that no trial has are told apart: what the product does anyway, what has no bearing,
what is left out, and what makes the model another engine."""

import tomllib
from collections import Counter
from pathlib import Path

import pytest

from advisor import imports
from advisor.data import data_path
from advisor.imports import WEIGHTS, Imported, read_mycnf, read_options
from advisor.imports.product_options import judge, version_of
from advisor.knobs import catalogue

DATA = Path(__file__).parents[1] / "data"
DB_BENCH = DATA / "OPTIONS-db_bench-7.8.3"
MYROCKS = DATA / "OPTIONS-myrocks-mariadb-10.11.19"


def weights(found: Imported) -> dict[str, str]:
    return {one.name: one.weight for one in found.ignored if one.weight != "default"}


def changed(tmp_path: Path, line: str) -> Imported:
    """The file of db_bench with one line changed."""
    name = line.partition("=")[0]
    lines = DB_BENCH.read_text().splitlines()
    places = [n for n, old in enumerate(lines) if old.strip().startswith(f"{name}=")]
    lines[places[0]] = line
    path = tmp_path / "OPTIONS-000007"
    path.write_text("\n".join(lines))
    return read_options(path)


def my_cnf(tmp_path: Path, *lines: str) -> Imported:
    path = tmp_path / "my.cnf"
    path.write_text("\n".join(["[mysqld]", *lines, ""]))
    return read_mycnf(path)


def test_of_144_lines_of_db_bench_six_are_changed_and_none_is_another_engine() -> None:
    found = imports.read(DB_BENCH)
    assert len(found.ignored) == 144
    assert weights(found) == {
        "enable_pipelined_write": "left out",
        "index_shortening": "left out",
        "listeners": "no bearing",
        "dump_malloc_stats": "no bearing",
        "compaction_options_fifo": "no bearing",
        "pin_top_level_index_and_filter": "no bearing",
    }


def test_what_myrocks_always_writes_is_its_default() -> None:
    assert weights(imports.read(MYROCKS)) == {'[CFOptions "__system__"]': "no bearing"}


@pytest.mark.parametrize(
    "line",
    [
        "compaction_style=kCompactionStyleUniversal",
        "compaction_style=kCompactionStyleFIFO",
        "enable_blob_files=true",
        "merge_operator=StringAppendOperator",
        "index_type=kTwoLevelIndexSearch",
        "partition_filters=true",
        "prefix_extractor=rocksdb.Noop",
        "comparator=rocksdb.ReverseBytewiseComparator",
        "comparator=leveldb.BytewiseComparator.u64ts",
        "table_factory=PlainTable",
        "memtable_factory=VectorRepFactory",
        "inplace_update_support=true",
    ],
)
def test_a_line_that_makes_another_engine_is_told_with_its_place(tmp_path: Path, line: str) -> None:
    found = changed(tmp_path, line)
    (other,) = found.another_engine(("lsm",))
    assert other.text.startswith(line)
    assert other.line is not None and "(line " in other.text
    assert found.another_engine(("btree",)) == []


@pytest.mark.parametrize(
    "line", ["ttl=3600", "max_subcompactions=8", "max_open_files=100", "bytes_per_sync=1048576"]
)
def test_what_bears_on_the_result_and_is_left_out_is_told_apart(tmp_path: Path, line: str) -> None:
    found = changed(tmp_path, line)
    assert weights(found)[line.partition("=")[0]] == "left out"
    assert found.another_engine(("lsm",)) == []


def test_a_changed_member_of_a_struct_is_found_among_the_defaults(tmp_path: Path) -> None:
    found = changed(tmp_path, "compression_opts={level=3;max_dict_bytes=16384;window_bits=-14;}")
    (opts,) = [one for one in found.ignored if one.name == "compression_opts"]
    assert opts.weight == "left out"


def test_the_tables_of_another_factory_set_no_knob(tmp_path: Path) -> None:
    text = DB_BENCH.read_text().replace("[TableOptions/BlockBasedTable", "[TableOptions/PlainTable")
    path = tmp_path / "OPTIONS-000007"
    path.write_text(text)
    found = read_options(path)
    assert "block_size" not in found.settings["lsm"]
    assert [one.name for one in found.another_engine(("lsm",))] == [
        '[TableOptions/PlainTable "default"]'
    ]


@pytest.mark.parametrize(
    ("name", "value", "version", "weight"),
    [
        ("max_open_files", "5000", "4.7.0", "default"),
        ("max_open_files", "5000", "4.8.0", "left out"),
        ("max_open_files", "-1", "10.4.2", "default"),
        ("optimize_filters_for_memory", "true", "9.8.4", "default"),
        ("optimize_filters_for_memory", "true", "9.1.0", "left out"),
        ("blob_garbage_collection_age_cutoff", "0.250000", "10.4.2", "default"),
        ("max_bytes_for_level_multiplier_additional", "1:1:1:1", "10.4.2", "default"),
        ("max_bytes_for_level_multiplier_additional", "1:2:1:1", "10.4.2", "left out"),
    ],
)
def test_a_default_is_that_of_the_files_version(
    name: str, value: str, version: str, weight: str
) -> None:
    judgement = judge("rocksdb", name, value, version=version_of(version))
    assert judgement is not None and judgement.weight == weight


def test_an_option_that_nobody_knows_is_left_out_and_says_so(tmp_path: Path) -> None:
    text = DB_BENCH.read_text().replace("[DBOptions]", "[DBOptions]\n  some_future_option=true")
    path = tmp_path / "OPTIONS-000007"
    path.write_text(text)
    (one,) = [one for one in read_options(path).ignored if one.name == "some_future_option"]
    assert (one.weight, one.line) == ("left out", 12)
    assert "unknown here" in one.why


@pytest.mark.parametrize(
    ("line", "engine"),
    [
        ('rocksdb_default_cf_options="compaction_style=kCompactionStyleUniversal"', "lsm"),
        ('rocksdb_override_cf_options="a={compaction_style=kCompactionStyleFIFO}"', "lsm"),
        ("rocksdb_index_type=kTwoLevelIndexSearch", "lsm"),
        ("innodb_force_recovery=3", "btree"),
    ],
)
def test_a_my_cnf_of_another_engine_is_told_for_that_engine(
    tmp_path: Path, line: str, engine: str
) -> None:
    found = my_cnf(tmp_path, line)
    both = found.another_engine(("lsm", "btree"))
    assert [one.engine for one in both] == [engine]
    assert all(one.line == 2 for one in both)
    assert found.another_engine(("btree",) if engine == "lsm" else ("lsm",)) == []


def test_tables_of_an_engine_that_is_not_modelled_concern_both(tmp_path: Path) -> None:
    found = my_cnf(tmp_path, "default-storage-engine=Aria")
    assert found.another_engine(("lsm",)) == found.another_engine(("btree",)) != []
    assert my_cnf(tmp_path, "default-storage-engine=innodb").another_engine(("btree",)) == []


def test_variables_of_a_server_are_weighed_too(tmp_path: Path) -> None:
    found = my_cnf(
        tmp_path,
        "innodb_encrypt_tables=ON",
        "innodb_file_per_table=1",
        "innodb_lock_wait_timeout=5",
        "innodb_page_size=12K",
        "rocksdb_max_subcompactions=1",
        "rocksdb_bytes_per_sync=1M",
        "max_connections=800",
    )
    assert {one.name: one.weight for one in found.ignored} == {
        "innodb_encrypt_tables": "left out",
        "innodb_file_per_table": "default",
        "innodb_lock_wait_timeout": "no bearing",
        "innodb_page_size": "left out",
        "rocksdb_max_subcompactions": "default",
        "rocksdb_bytes_per_sync": "left out",
        "max_connections": "no bearing",
    }


@pytest.mark.parametrize("table", ["rocksdb", "servers"])
def test_every_option_is_weighed_once_and_is_no_knob_without_a_reason(table: str) -> None:
    path = data_path("profiles", "products", f"{table}.toml")
    groups = tomllib.loads(path.read_text())["group"]
    names = Counter(name for group in groups for name in group if name not in ("changed", "why"))
    assert [name for name, times in names.items() if times > 1] == []
    assert {group["changed"] for group in groups} <= set(WEIGHTS)
    assert all(group["why"] for group in groups)
    knobs = {*catalogue("lsm"), *catalogue("btree")}
    assert knobs & set(names) <= {"prefix_extractor"}
