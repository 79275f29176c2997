"""What a server is found by, and what a run of our own engines becomes there."""

from pathlib import Path
from typing import Any, cast

import pytest

from advisor import dialects, engines, knobs
from advisor.errors import InputError
from advisor.knobs import Setting
from advisor.real import (
    Library,
    RealEngine,
    Server,
    as_run,
    engine_of,
    find_server,
    judge_of,
    real_spec,
)
from advisor.spec import Spec
from advisor.validation import SUITES, Suite
from advisor.workload import Workload

MIB = 1 << 20


def spec(**options: object) -> Spec:
    given = {"engine": "btree", "options": options, "workload": {"kind": "sysbench"}}
    return cast(Spec, {**given, "clock": "measured", "directory": "/d", "memory_limit": 5})


def program(folder: Path, says: str) -> Path:
    path = folder / "mariadbd"
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("says", "dialect"),
    [
        ("mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu", "mariadb-10.11"),
        ("mariadbd  Ver 11.8.2-MariaDB for Linux", "mariadb-11.4"),
        ("mysqld  Ver 8.4.3 for Linux on x86_64 (MySQL Community Server)", "mysql-8.4"),
    ],
)
def test_a_servers_words_are_those_of_its_version(tmp_path: Path, says: str, dialect: str) -> None:
    found = find_server("innodb", program(tmp_path, says))
    assert (found.dialect, found.engine, engine_of(found)) == (dialect, "btree", "btree")
    assert find_server("myrocks", program(tmp_path, says)).engine == "lsm"


def test_what_is_no_server_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        find_server("innodb", tmp_path / "none")
    with pytest.raises(InputError, match="does not say a server's version"):
        find_server("innodb", program(tmp_path, "hello"))
    (tmp_path / "text").write_text("no program")
    with pytest.raises(InputError, match="Permission denied"):
        find_server("innodb", tmp_path / "text")


def test_a_run_becomes_one_of_the_server_with_its_file() -> None:
    server = Server("/usr/sbin/mariadbd", "innodb", "mariadb-10.11")
    given = spec(
        innodb_buffer_pool_size=2 * MIB,
        innodb_redo_log_capacity=64 * MIB,
        key_block_size=8192,
        merge_threshold=40,
    )
    changed, notes = real_spec(given, server)
    options: dict[str, Any] = dict(changed["options"])
    assert (changed["engine"], changed["clock"]) == ("innodb", "real")
    assert "memory_limit" not in changed
    assert options["server"] == "/usr/sbin/mariadbd"
    lines = options["options_file"].splitlines()
    assert "innodb_log_file_size=64M" in lines
    assert "innodb_buffer_pool_size=6M" in lines, "the product's least"
    assert any(note.startswith("innodb_buffer_pool_size") for note in notes)
    assert options["table_options"] == (
        "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8 COMMENT='MERGE_THRESHOLD=40'"
    )


def test_the_file_of_defaults_says_nothing_but_how_to_find_the_engine() -> None:
    for engine in ("lsm", "btree"):
        for dialect in dialects.for_engine(engine):
            own = dialects.product_defaults(dialect)
            fresh = dialects.fresh(dialect, {**knobs.defaults(engine), **own})
            settings = [line for line in fresh.text.splitlines() if "=" in line and line[0] != "#"]
            known = ("plugin_load_add", "rocksdb_version", "options_file_version")
            assert [one for one in settings if not one.strip().startswith(known)] == []


def test_page_compression_of_a_fresh_server_waits_for_nothing() -> None:
    fresh = dialects.fresh("mariadb-10.11", {"innodb_compression_algorithm": "zlib"})
    assert "innodb_compression_default=ON" in fresh.text.splitlines()
    assert fresh.notes == ()


def test_settings_as_run_are_what_the_server_has() -> None:
    server = Server("/usr/sbin/mariadbd", "innodb", "mariadb-10.11")
    asked: dict[str, Setting] = {
        "innodb_buffer_pool_size": 2 * MIB,
        "innodb_io_capacity": 300,
        "innodb_page_cleaners": 7,
        "innodb_compression_algorithm": "zstd",
        "key_block_size": 8192,
        "compressed_indexes": "1:2",
    }
    has, notes = as_run(asked, server)
    assert has == {
        "innodb_buffer_pool_size": 6 * MIB,
        "innodb_io_capacity": 300,
        "innodb_page_cleaners": 4,
        "innodb_compression_algorithm": "none",
        "key_block_size": 8192,
        "compressed_indexes": "all",
    }
    names = {note.split()[0].rstrip(":") for note in notes}
    assert names == asked.keys() - {"innodb_io_capacity", "key_block_size"}
    assert as_run(has, server) == (has, [])


_PRODUCTS: dict[str, RealEngine] = {
    "rocksdb": Library("librocksdb.so"),
    "innodb": Server("mariadbd", "innodb", "mariadb-10.11"),
    "myrocks": Server("mariadbd", "myrocks", "myrocks-mariadb-10.11"),
}


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_the_products_have_all_that_is_validated(suite: Suite) -> None:
    real = _PRODUCTS[suite.product]
    for one in suite.configurations():
        assert as_run(one.settings, real) == (one.settings, []), one.name


def test_who_judges_depends_on_the_workload(tmp_path: Path) -> None:
    keys = Workload.model_validate({"kind": "ycsb"})
    tables = Workload.model_validate({"kind": "linkbench"})
    with pytest.raises(InputError, match="speak SQL"):
        judge_of("btree", keys)
    named = program(tmp_path, "mariadbd  Ver 10.11.19-MariaDB")
    judge = judge_of("lsm", tables, server=named)
    assert isinstance(judge, Server)
    assert judge.storage == "myrocks"
    judge = judge_of("btree", tables, server=named)
    assert isinstance(judge, Server)
    assert judge.storage == "innodb"
    library = tmp_path / "librocksdb.so"
    library.write_bytes(b"!= nullptr\0" * 50)
    judge = judge_of("lsm", tables, rocksdb=library)
    assert not isinstance(judge, Server)
    assert judge.has_assertions


def test_direct_io_is_asked_of_those_that_do_not_have_it_anyway() -> None:
    assert engines.of("btree").direct_io == {}
    assert engines.of("lsm").direct_io["use_direct_reads"] is True
