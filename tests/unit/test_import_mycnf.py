import shutil
from pathlib import Path

import pytest

from advisor import imports, knobs
from advisor.errors import InputError
from advisor.imports import Imported, read_mycnf

DATA = Path(__file__).parents[1] / "data"
DEBIAN = DATA / "debian-12-mariadb"


def read(tmp_path: Path, text: str, **more: str) -> Imported:
    path = tmp_path / "my.cnf"
    path.write_text(text)
    return read_mycnf(path, **more)  # type: ignore[arg-type]


def btree(tmp_path: Path, *lines: str) -> dict[str, object]:
    found = read(tmp_path, "\n".join(["[mysqld]", *lines]))
    return dict(found.settings.get("btree", {}))


def lsm(tmp_path: Path, *lines: str) -> dict[str, object]:
    found = read(tmp_path, "\n".join(["[mysqld]", *lines]))
    return dict(found.settings.get("lsm", {}))


def test_the_stock_configuration_of_debian_is_read_through_its_includes() -> None:
    found = imports.read(DEBIAN / "my.cnf")
    names = {one.name for one in found.ignored}
    assert found.product == "mariadb"
    assert found.settings == {}
    assert {"character_set_server", "bind_address", "plugin_load_add", "socket"} <= names
    assert {"quick", "max_allowed_packet", "syslog"} <= names, "client groups are listed too"
    assert not any(one.why.startswith("not found") for one in found.ignored)


def test_a_setting_beside_the_stock_configuration_is_found(tmp_path: Path) -> None:
    copy = tmp_path / "etc"
    shutil.copytree(DEBIAN, copy, symlinks=True)
    server = copy / "mariadb.conf.d" / "50-server.cnf"
    stock = server.read_text()
    server.write_text(
        stock.replace("#innodb_buffer_pool_size = 8G", "innodb-buffer-pool-size = 8G")
    )
    (copy / "mariadb.conf.d" / "99-mine.cnf").write_text(
        "[mariadb-10.11]\nrocksdb_block_cache_size=2G\n[mariadb]\ninnodb_log_file_size=1G\n"
    )
    found = imports.read(copy / "my.cnf")
    assert found.settings == {
        "btree": {"innodb_buffer_pool_size": 8 << 30, "innodb_redo_log_capacity": 1 << 30},
        "lsm": {"block_cache": 2 << 30},
    }
    assert found.dialect("btree") == "mariadb-10.11"
    assert found.dialect("lsm") == "myrocks-mariadb-10.11"


def test_absolute_includes_can_start_at_another_root(tmp_path: Path) -> None:
    conf = tmp_path / "image" / "etc" / "mysql" / "conf.d"
    conf.mkdir(parents=True)
    (conf / "a.cnf").write_text("[mysqld]\ninnodb_io_capacity=500\n")
    main = tmp_path / "my.cnf"
    main.write_text("!includedir /etc/mysql/conf.d/\n")
    found = read_mycnf(main, root=tmp_path / "image")
    assert found.settings["btree"]["innodb_io_capacity"] == 500


def test_includes_are_read_in_place_and_directories_in_order(tmp_path: Path) -> None:
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "10.cnf").write_text("[mysqld]\ninnodb_old_blocks_pct=10\n")
    (tmp_path / "conf.d" / "20.cnf").write_text("[mysqld]\ninnodb_old_blocks_pct=20\n")
    (tmp_path / "conf.d" / "30.txt").write_text("[mysqld]\ninnodb_old_blocks_pct=30\n")
    (tmp_path / "one.inc").write_text("[mysqld]\ninnodb_lru_scan_depth=200\n")
    found = read(
        tmp_path,
        "[mysqld]\ninnodb_lru_scan_depth=100\ninnodb_old_blocks_pct=5\n"
        "!includedir /etc/mysql/conf.d/\n!include one.inc\ninnodb_old_blocks_time=7\n",
    )
    assert found.settings["btree"] == {
        "innodb_old_blocks_pct": 20,
        "innodb_lru_scan_depth": 200,
        "innodb_old_blocks_time": 7,
    }


def test_a_missing_include_is_listed(tmp_path: Path) -> None:
    found = read(tmp_path, "!includedir /nowhere/at/all\n[mysqld]\ninnodb_io_capacity=300\n")
    assert ("!include", "/nowhere/at/all") in [(one.name, one.value) for one in found.ignored]


def test_a_file_that_includes_itself_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="11 nested includes"):
        read(tmp_path, "!include my.cnf\n")


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("innodb_buffer_pool_size=8G", "innodb_buffer_pool_size", 8 << 30),
        ("innodb-buffer-pool-size = 8g", "innodb_buffer_pool_size", 8 << 30),
        ("INNODB_Buffer-Pool_Size=1073741824", "innodb_buffer_pool_size", 1 << 30),
        ("loose_innodb_buffer_pool_size=1G", "innodb_buffer_pool_size", 1 << 30),
        ("loose-innodb-buffer-pool-size=1T", "innodb_buffer_pool_size", 1 << 40),
        ('innodb_buffer_pool_size="512M" # half', "innodb_buffer_pool_size", 512 << 20),
        ("innodb_buffer_pool_size='512M'", "innodb_buffer_pool_size", 512 << 20),
        ("innodb_adaptive_flushing", "innodb_adaptive_flushing", True),
        ("innodb_adaptive_flushing=OFF", "innodb_adaptive_flushing", False),
        ("skip-innodb-adaptive-flushing", "innodb_adaptive_flushing", False),
        ("disable_innodb_flush_sync", "innodb_flush_sync", False),
        ("enable_innodb_flush_sync", "innodb_flush_sync", True),
        ("skip_innodb_doublewrite", "innodb_doublewrite", False),
        ("innodb_doublewrite=DETECT_AND_RECOVER", "innodb_doublewrite", True),
        ("innodb_max_dirty_pages_pct=75.5", "innodb_max_dirty_pages_pct", 75.5),
        ("innodb_page_size=8k", "innodb_page_size", 8192),
        ("innodb_flush_log_at_trx_commit=2", "innodb_flush_log_at_trx_commit", 2),
        ("innodb_redo_log_capacity=2G", "innodb_redo_log_capacity", 2 << 30),
    ],
)
def test_every_written_form_is_understood(
    tmp_path: Path, line: str, name: str, value: object
) -> None:
    assert btree(tmp_path, line)[name] == value


@pytest.mark.parametrize(
    "group", ["mysqld", "server", "mariadb", "mariadbd", "mysqld-8.4", "mariadb-10.11", "galera"]
)
def test_server_groups_are_read(tmp_path: Path, group: str) -> None:
    found = read(tmp_path, f"[{group}]\ninnodb_lru_scan_depth=200\n")
    assert found.settings["btree"] == {"innodb_lru_scan_depth": 200}


@pytest.mark.parametrize("group", ["client", "mysqldump", "mysqld_safe", "mysqld2", "embedded"])
def test_other_groups_are_listed_and_not_read(tmp_path: Path, group: str) -> None:
    found = read(tmp_path, f"[{group}]\ninnodb_lru_scan_depth=200\n")
    assert found.settings == {}
    assert found.ignored[0].why == f"the group [{group}] is not read by a server"


def test_a_group_suffix_opens_its_own_groups(tmp_path: Path) -> None:
    text = "[mysqld]\ninnodb_lru_scan_depth=100\n[mysqld_test]\ninnodb_lru_scan_depth=200\n"
    assert read(tmp_path, text).settings["btree"] == {"innodb_lru_scan_depth": 100}
    found = read(tmp_path, text, group_suffix="_test")
    assert found.settings["btree"] == {"innodb_lru_scan_depth": 200}


def test_the_later_value_wins_under_any_spelling(tmp_path: Path) -> None:
    assert btree(tmp_path, "innodb_lru_scan_depth=100", "loose-innodb-lru-scan-depth=200") == {
        "innodb_lru_scan_depth": 200
    }


@pytest.mark.parametrize(
    ("lines", "capacity"),
    [
        (["innodb_log_file_size=1G", "innodb_log_files_in_group=4"], 4 << 30),
        (["innodb_log_file_size=1G"], 2 << 30),
        (["innodb_log_file_size=1G", "innodb_redo_log_capacity=3G"], 3 << 30),
        (["innodb_log_file_size=1G", "plugin_load_add=provider_lz4"], 1 << 30),
    ],
)
def test_redo_is_one_size_in_every_version(tmp_path: Path, lines: list[str], capacity: int) -> None:
    assert btree(tmp_path, *lines)["innodb_redo_log_capacity"] == capacity


def test_an_io_capacity_without_a_maximum_brings_its_maximum(tmp_path: Path) -> None:
    found = read(tmp_path, "[mysqld]\ninnodb_io_capacity=5000\n")
    assert found.settings["btree"]["innodb_io_capacity_max"] == 10000
    assert knobs.check("btree", found.settings["btree"])
    assert any("twice innodb_io_capacity" in note for note in found.notes)


def test_an_io_capacity_above_its_maximum_is_lowered_as_the_server_does(tmp_path: Path) -> None:
    found = btree(tmp_path, "innodb_io_capacity=5000", "innodb_io_capacity_max=1000")
    assert found == {"innodb_io_capacity": 1000, "innodb_io_capacity_max": 1000}


@pytest.mark.parametrize(
    ("lines", "algorithm"),
    [
        (["innodb_compression_default=ON"], "zlib"),
        (["innodb_compression_default=ON", "innodb_compression_algorithm=lz4"], "lz4"),
        (["innodb_compression_default=OFF"], "none"),
        (["innodb_compression_algorithm=none"], "none"),
        (["innodb_compression_algorithm=lz4"], None),
    ],
)
def test_pages_are_compressed_only_where_that_is_the_default(
    tmp_path: Path, lines: list[str], algorithm: str | None
) -> None:
    assert btree(tmp_path, *lines).get("innodb_compression_algorithm") == algorithm


def test_myrocks_is_read_from_its_string_and_its_variables(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "[mysqld]\n"
        "rocksdb_block_cache_size=20G\n"
        "rocksdb_max_background_jobs=8\n"
        "rocksdb_block_size=16384\n"
        "rocksdb_flush_log_at_trx_commit=2\n"
        'rocksdb_default_cf_options="write_buffer_size=256m;target_file_size_base=32m;'
        "max_write_buffer_number=4;max_write_buffer_number=5;"
        "block_based_table_factory={cache_index_and_filter_blocks=1;"
        "filter_policy=bloomfilter:10:false;whole_key_filtering=0};"
        "prefix_extractor=capped:12;memtable_prefix_bloom_size_ratio=0.05;"
        'compression_per_level=kLZ4Compression;compression_opts=-14:4:0;"\n'
        'rocksdb_override_cf_options="rev:a={prefix_extractor=capped:8}"\n',
    )
    assert found.product == "myrocks"
    assert found.settings == {
        "lsm": {
            "block_cache": 20 << 30,
            "max_background_jobs": 8,
            "block_size": 16384,
            "sync": False,
            "manual_wal_flush": False,
            "write_buffer_size": 256 << 20,
            "target_file_size_base": 32 << 20,
            "max_write_buffer_number": 5,
            "cache_index_and_filter_blocks": True,
            "filter_policy": "bloomfilter:10:false",
            "whole_key_filtering": False,
            "prefix_extractor": "capped:12",
            "compression_per_level": "kLZ4Compression",
            "compression_opts_level": 4,
        }
    }
    assert {one.name for one in found.ignored} == {
        "memtable_prefix_bloom_size_ratio",
        "compression_opts",
        "rocksdb_override_cf_options",
    }


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("innodb_flush_log_at_trx_commit=3", "from 0 to 2"),
        ("innodb_doublewrite=DETECT_ONLY", "twice or once"),
        ("innodb_page_size=12K", "one of 4KiB"),
        ("innodb_read_ahead_threshold=65", "from 0 to 64"),
        ("innodb_change_buffering=purges", "one of none, inserts, all"),
        ("innodb_change_buffer_max_size=51", "from 0 to 50"),
        ("innodb_adaptive_hash_index=ON", "no hash index"),
        ("max_connections=100", "not a setting of a storage engine"),
        ("maximum-innodb-io-capacity=100", "sets none"),
        ("innodb_log_files_in_group=3", "only together"),
        ("innodb_compression_algorithm=lzma", "innodb_compression_default"),
    ],
)
def test_what_the_engine_cannot_do_is_ignored_with_a_reason(
    tmp_path: Path, line: str, why: str
) -> None:
    found = read(tmp_path, f"[mysqld]\n{line}\n")
    assert found.settings == {}
    assert why in found.ignored[0].why


@pytest.mark.parametrize(
    ("line", "found", "accepted"),
    [
        ("innodb_buffer_pool_size=big", "innodb_buffer_pool_size=big", "powers of 1024"),
        ("innodb_buffer_pool_size=1.5G", "innodb_buffer_pool_size=1.5G", "powers of 1024"),
        ("innodb_buffer_pool_size=1Q", "innodb_buffer_pool_size=1Q", "powers of 1024"),
        ("innodb_buffer_pool_size=", "innodb_buffer_pool_size=", "powers of 1024"),
        ("innodb_buffer_pool_size", "innodb_buffer_pool_size", "powers of 1024"),
        ("innodb_flush_sync=maybe", "innodb_flush_sync=maybe", "ON or OFF"),
        ("innodb_max_dirty_pages_pct=all", "innodb_max_dirty_pages_pct=all", "a number"),
        ("innodb_log_file_size=x", "innodb_log_file_size=x", "powers of 1024"),
        (
            "innodb_log_file_size=1G\ninnodb_log_files_in_group=0",
            "innodb_log_files_in_group=0",
            "1 to 100",
        ),
        ('innodb_buffer_pool_size="1G', "1G", 'a closing "'),
        ("innodb buffer pool size=1G", "innodb buffer pool size", "NAME=VALUE"),
        ("=1G", "=1G", "NAME=VALUE"),
        ("[mysqld", "[mysqld", "a group"),
        ("[]", "[]", "a group"),
        ("!inlude x.cnf", "!inlude", "!include FILE"),
        ("rocksdb_flush_log_at_trx_commit=5", "commit=5", "0 to 2"),
        ('rocksdb_default_cf_options="write_buffer_size"', "write_buffer_size", "NAME=VALUE"),
        ('rocksdb_default_cf_options="a={b=1"', "a={b=1", "brace"),
        ('rocksdb_default_cf_options="write_buffer_size=9x"', "write_buffer_size=9x", "k, m"),
    ],
)
def test_a_broken_line_is_named_with_its_file_and_number(
    tmp_path: Path, line: str, found: str, accepted: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, f"# a comment\n[mysqld]\n{line}\n")
    error = caught.value
    assert error.source == str(tmp_path / "my.cnf")
    assert error.where == str(3 + line.count("\n"))
    assert found in error.found
    assert accepted in error.accepted


def test_an_option_before_any_group_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"my.cnf:1: .*accepted: a group such as"):
        read(tmp_path, "innodb_io_capacity=200\n")


def test_a_broken_line_in_an_include_is_named_there(tmp_path: Path) -> None:
    (tmp_path / "more.inc").write_text("[mysqld]\n\ninnodb_io_capacity=fast\n")
    with pytest.raises(InputError) as caught:
        read(tmp_path, "!include more.inc\n")
    assert (caught.value.source, caught.value.where) == (str(tmp_path / "more.inc"), "3")


def test_client_passwords_may_hold_anything(tmp_path: Path) -> None:
    found = read(tmp_path, "[client]\npassword=it's\n[mysqld]\ninnodb_lru_scan_depth=200\n")
    assert found.settings["btree"] == {"innodb_lru_scan_depth": 200}


def test_a_hash_inside_of_quotes_is_no_comment(tmp_path: Path) -> None:
    found = read(tmp_path, '[mysqld]\nft_boolean_syntax="a#b\\\\c" # note\n')
    assert found.ignored[0].value == "a#b\\c"


@pytest.mark.parametrize(
    ("text", "product"),
    [
        ("[mariadb]\nport=1\n", "mariadb"),
        ("[client-server]\nport=1\n", None),
        ("[mysqld]\nrocksdb_block_cache_size=1G\n", "myrocks"),
        ("[mysqld]\ninnodb_redo_log_capacity=1G\n", "mysql"),
        ("[mysqld]\ninnodb_buffer_pool_size=1G\n", None),
    ],
)
def test_the_product_is_guessed_from_what_only_it_has(
    tmp_path: Path, text: str, product: str | None
) -> None:
    if product is None and "client-server" in text:
        product = "mariadb"
    assert read(tmp_path, text).product == product


def test_a_missing_file_is_wrong_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        imports.read(tmp_path / "none.cnf")
