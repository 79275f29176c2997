"""MariaDB judges the files that we write for it: InnoDB's and MyRocks'.

Reading a file is not enough: the server takes a number out of range with a warning and exit code 0,
so its complaints are compared with those about an empty file. The content of MyRocks' string shows
only in a started server.

MySQL 8.4 has no judge here: its server is in no package source of Debian 12. Its files share the
writer with MariaDB's, its names and ranges come from its documentation.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor import dialects, imports, knobs
from advisor.dialects import Line
from advisor.knobs import Setting
from tests.real import mariadb_server as mariadb
from tests.real.export import LSM, MIB, exported
from tests.unit.settings_draw import draw_settings

pytestmark = mariadb.MARKS
needs_rocksdb = pytest.mark.skipif(
    not mariadb.has_rocksdb(), reason="mariadb-plugin-rocksdb is not installed"
)
needs_lz4 = pytest.mark.skipif(
    not mariadb.has_provider("lz4"), reason="mariadb-plugin-provider-lz4 is not installed"
)

# Redo logs and write-ahead logs are allocated on disk in full: everything stays small.
INNODB: dict[str, Setting] = {
    "innodb_buffer_pool_size": 48 * MIB,
    "innodb_redo_log_capacity": 24 * MIB,
    "innodb_log_buffer_size": 8 * MIB,
    "innodb_log_write_ahead_size": 4096,
    "innodb_flush_log_at_trx_commit": 2,
    "innodb_doublewrite": False,
    "innodb_io_capacity": 700,
    "innodb_io_capacity_max": 1900,
    "innodb_max_dirty_pages_pct": 77.5,
    "innodb_max_dirty_pages_pct_lwm": 12.25,
    "innodb_adaptive_flushing": False,
    "innodb_adaptive_flushing_lwm": 33.0,
    "innodb_flushing_avg_loops": 17,
    "innodb_flush_sync": False,
    "innodb_lru_scan_depth": 777,
    "innodb_old_blocks_pct": 51,
    "innodb_old_blocks_time": 444,
    "innodb_flush_neighbors": 0,
    "innodb_change_buffering": "inserts",
    "innodb_change_buffer_max_size": 33,
    "innodb_compression_algorithm": "none",
    "innodb_compression_level": 3,
    "innodb_read_ahead_threshold": 11,
    "innodb_page_size": 16384,
}
MYROCKS: dict[str, Setting] = LSM | {
    "write_buffer_size": 8 * MIB,
    "filter_policy": "bloomfilter:10:false",
    "prefix_extractor": "capped:12",
    "block_cache": 24 * MIB,
    "cache_index_and_filter_blocks": False,
    "pin_l0_filter_and_index_blocks_in_cache": False,
    "sync": False,
    "disable_wal": True,
}
ROCKSDB = ("--plugin-load-add=ha_rocksdb", "--rocksdb=FORCE")


def empty_file(tmp_path: Path, lines: str = "") -> Path:
    path = tmp_path / "empty.cnf"
    path.write_text(f"[mariadbd]\n{lines}")
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("mariadb")
    yield mariadb.install(directory)
    shutil.rmtree(directory)


@pytest.mark.parametrize("seed", range(12))
def test_the_server_reads_any_innodb_file_without_a_complaint(tmp_path: Path, seed: int) -> None:
    settings = draw_settings("btree", "mariadb-10.11", random.Random(seed))
    settings.pop("innodb_compression_algorithm", None)  # its plugins need packages of their own
    cnf = exported(tmp_path / "my.cnf", "mariadb-10.11", settings)
    silent = mariadb.help_output(empty_file(tmp_path), tmp_path / "none")
    assert mariadb.help_output(cnf, tmp_path / "none") == silent


@pytest.mark.skipif(mariadb.has_provider("lz4"), reason="mariadb-plugin-provider-lz4 is installed")
def test_a_server_starts_with_advice_that_needs_a_package_or_another_data_directory(
    tmp_path: Path, data: Path
) -> None:
    advice: dict[str, Setting] = {
        "innodb_buffer_pool_size": 48 * MIB,
        "innodb_page_size": 8192,
        "innodb_compression_algorithm": "lz4",
        "key_block_size": 8192,
    }
    default = knobs.defaults("btree")
    lines = [
        Line(name, value, default[name], default[name], "measured: +9%")
        for name, value in advice.items()
    ]
    cnf = tmp_path / "my.cnf"
    cnf.write_text(dialects.write("mariadb-10.11", lines))
    with mariadb.running(cnf, data) as server:
        found = server.pairs("show global variables like 'innodb%'")
    standing = dialects.applied("mariadb-10.11", lines, default)
    for name in ("innodb_buffer_pool_size", "innodb_page_size"):
        assert int(found[name]) == standing[name]
    assert standing["innodb_compression_algorithm"] == "none"
    waking = tmp_path / "awake.cnf"
    text = cnf.read_text()
    for name in ("plugin_load_add", "innodb_compression"):
        text = text.replace(f"#{name}", name)
    waking.write_text(text)
    with pytest.raises(AssertionError, match="provider_lz4"), mariadb.running(waking, data):
        pass


@needs_rocksdb
@pytest.mark.parametrize("seed", range(12))
def test_the_server_reads_any_myrocks_file_without_a_complaint(tmp_path: Path, seed: int) -> None:
    settings = draw_settings("lsm", "myrocks-mariadb-10.11", random.Random(seed))
    cnf = exported(tmp_path / "my.cnf", "myrocks-mariadb-10.11", settings)
    empty = empty_file(tmp_path, "plugin_load_add=ha_rocksdb\n")
    silent = mariadb.help_output(empty, tmp_path / "none")
    assert mariadb.help_output(cnf, tmp_path / "none") == silent


@pytest.mark.parametrize(
    "line", ["innodb_buffer_pool_sise=1G", "innodb_io_capacity=10", "innodb_flush_sync=maybe"]
)
def test_the_judge_can_say_no(tmp_path: Path, line: str) -> None:
    silent = mariadb.help_output(empty_file(tmp_path), tmp_path / "none")
    wrong = mariadb.help_output(empty_file(tmp_path, line + "\n"), tmp_path / "none")
    assert wrong != silent


def test_a_server_runs_with_every_innodb_value(tmp_path: Path, data: Path) -> None:
    with mariadb.running(empty_file(tmp_path), data) as server:
        silent = mariadb.complaints(server.log)
    cnf = exported(tmp_path / "my.cnf", "mariadb-10.11", INNODB)
    with mariadb.running(cnf, data) as server:
        assert mariadb.complaints(server.log) == silent
        shown = server.pairs("SHOW VARIABLES LIKE 'innodb%'")
    for name, value in INNODB.items():
        spelling = knobs.catalogue("btree")[name].spellings["mariadb-10.11"]
        found = shown[spelling.name]
        if isinstance(value, bool):
            assert found == ("ON" if value else "OFF"), name
        elif isinstance(value, str):
            assert found == value, name
        else:
            assert float(found) == value, name


def test_the_innodb_values_are_all_knobs_that_mariadb_has() -> None:
    has = {
        name
        for name, knob in knobs.catalogue("btree").items()
        if not knob.spellings["mariadb-10.11"].absent
    }
    assert set(INNODB) == has


@needs_lz4
def test_a_server_compresses_pages_as_the_file_says(tmp_path: Path, data: Path) -> None:
    cnf = exported(tmp_path / "my.cnf", "mariadb-10.11", {"innodb_compression_algorithm": "lz4"})
    with mariadb.running(cnf, data) as server:
        assert not any("compression" in line for line in mariadb.complaints(server.log))
        shown = server.pairs("SHOW VARIABLES LIKE 'innodb_compression_%'")
    assert shown["innodb_compression_algorithm"] == "lz4"
    assert shown["innodb_compression_default"] == "ON"


def test_another_page_size_leaves_an_existing_server_alone(tmp_path: Path, data: Path) -> None:
    text = dialects.write("mariadb-10.11", [dialects.Line("innodb_page_size", 8192, 16384)])
    cnf = tmp_path / "my.cnf"
    cnf.write_text(text)
    with mariadb.running(cnf, data) as server:
        assert server.rows("SELECT @@innodb_page_size") == [["16384"]]


@needs_rocksdb
def test_a_server_runs_with_every_myrocks_value(tmp_path: Path, data: Path) -> None:
    with mariadb.running(empty_file(tmp_path), data, *ROCKSDB) as server:
        silent = mariadb.complaints(server.log)
    cnf = exported(tmp_path / "my.cnf", "myrocks-mariadb-10.11", MYROCKS)
    with mariadb.running(cnf, data, "--rocksdb=FORCE") as server:
        assert mariadb.complaints(server.log) == silent
        variables = server.pairs("SHOW VARIABLES LIKE 'rocksdb%'")
        query = "SELECT option_type, value FROM information_schema.rocksdb_cf_options"
        family = server.pairs(query + " WHERE cf_name='default'")
    expected_variables = {
        "rocksdb_block_cache_size": str(24 * MIB),
        "rocksdb_max_background_jobs": "5",
        "rocksdb_compaction_readahead_size": str(MIB),
        "rocksdb_delayed_write_rate": str(3 * MIB),
        "rocksdb_flush_log_at_trx_commit": "0",
        "rocksdb_write_disable_wal": "ON",
    }
    assert {name: variables[name] for name in expected_variables} == expected_variables
    expected_family = {
        "WRITE_BUFFER_SIZE": str(8 * MIB),
        "MAX_WRITE_BUFFER_NUMBER": "5",
        "MIN_WRITE_BUFFER_NUMBER_TO_MERGE": "2",
        "NUM_LEVELS": "6",
        "LEVEL0_FILE_NUM_COMPACTION_TRIGGER": "6",
        "LEVEL0_SLOWDOWN_WRITES_TRIGGER": "25",
        "LEVEL0_STOP_WRITES_TRIGGER": "41",
        "TARGET_FILE_SIZE_BASE": str(12 * MIB),
        "TARGET_FILE_SIZE_MULTIPLIER": "2",
        "MAX_BYTES_FOR_LEVEL_BASE": str(48 * MIB),
        "MAX_BYTES_FOR_LEVEL_MULTIPLIER": "8.500000",
        "LEVEL_COMPACTION_DYNAMIC_LEVEL_BYTES": "ON",
        "OPTIMIZE_FILTERS_FOR_HITS": "ON",
        "COMPRESSION_TYPE": "kLZ4Compression",
        "BOTTOMMOST_COMPRESSION": "kZSTD",
        "PREFIX_EXTRACTOR": "rocksdb.CappedPrefix.12",
        "TABLE_FACTORY::CACHE_INDEX_AND_FILTER_BLOCKS": "0",
        "TABLE_FACTORY::PIN_L0_FILTER_AND_INDEX_BLOCKS_IN_CACHE": "0",
        "TABLE_FACTORY::CAPACITY": str(24 * MIB),
        "TABLE_FACTORY::BLOCK_SIZE": "16384",
        "TABLE_FACTORY::BLOCK_RESTART_INTERVAL": "8",
        "TABLE_FACTORY::FILTER_POLICY": "rocksdb.BuiltinBloomFilter",
        "TABLE_FACTORY::WHOLE_KEY_FILTERING": "0",
    }
    assert {name: family[name] for name in expected_family} == expected_family


@needs_rocksdb
def test_the_options_file_of_the_server_holds_the_values(tmp_path: Path, data: Path) -> None:
    cnf = exported(tmp_path / "my.cnf", "myrocks-mariadb-10.11", MYROCKS)
    with mariadb.running(cnf, data, "--rocksdb=FORCE"):
        found = dict(imports.read(data / "#rocksdb").settings["lsm"])
    # The server's own default: the dialect does not write it.
    assert found.pop("wal_recovery_mode") == "kAbsoluteConsistency"
    elsewhere = {"block_cache", "sync", "disable_wal", "manual_wal_flush"}
    elsewhere.add("disable_auto_compactions")  # the server writes its own value at start-up
    assert found | {name: MYROCKS[name] for name in elsewhere} == MYROCKS


@needs_rocksdb
def test_the_defaults_of_myrocks_are_those_of_the_catalogue(tmp_path: Path, data: Path) -> None:
    with mariadb.running(empty_file(tmp_path), data, *ROCKSDB) as server:
        found = imports.read(data / "#rocksdb").settings["lsm"]
        cache = server.rows("SELECT @@rocksdb_block_cache_size")
    stated = dialects.product_defaults("myrocks-mariadb-10.11")
    assert int(cache[0][0]) == stated["block_cache"]
    # The file holds the effective values: 25 files for a compaction, and the server's own log.
    effective = {"max_compaction_bytes": 25 * 64 * MIB, "delayed_write_rate": 16 * MIB}
    effective |= {"manual_wal_flush": True}
    assert dict(found) == {name: (stated | effective)[name] for name in found}


def test_the_defaults_of_innodb_are_those_of_the_catalogue(tmp_path: Path, data: Path) -> None:
    with mariadb.running(empty_file(tmp_path), data) as server:
        shown = server.pairs("SHOW VARIABLES LIKE 'innodb%'")
    for name, value in dialects.product_defaults("mariadb-10.11").items():
        spelling = knobs.catalogue("btree")[name].spellings["mariadb-10.11"]
        # The first is raised to the device's block; the second does nothing without a default.
        if spelling.absent or name in (
            "innodb_log_write_ahead_size",
            "innodb_compression_algorithm",
        ):
            continue
        if isinstance(value, bool):
            assert shown[spelling.name] == ("ON" if value else "OFF"), name
        elif isinstance(value, str):
            assert shown[spelling.name] == value, name
        else:
            assert float(shown[spelling.name]) == value, name
