"""A warm mariadbd takes the memory that we say its engines take."""

from __future__ import annotations

from pathlib import Path

import pytest

from advisor import memory
from advisor.knobs import Engine, Setting
from advisor.memory import Load
from tests.real import mariadb_server as mariadb

pytestmark = mariadb.MARKS

MIB = 1 << 20
ROWS, DATA_BYTES = 400_000, 90 * MIB
CASES: dict[str, tuple[Engine, str, dict[str, Setting]]] = {
    "InnoDB": (
        "btree",
        "innodb_buffer_pool_size=64M\ninnodb_flush_log_at_trx_commit=0\n",
        {"innodb_buffer_pool_size": 64 * MIB},
    ),
    "RocksDB": (
        "lsm",
        "plugin_load_add=ha_rocksdb\nrocksdb_block_cache_size=32M\n"
        "rocksdb_flush_log_at_trx_commit=0\n"
        "rocksdb_default_cf_options='write_buffer_size=8m;max_write_buffer_number=2'\n",
        {"block_cache": 32 * MIB, "write_buffer_size": 8 * MIB, "max_write_buffer_number": 2},
    ),
}
"""By MariaDB's name of the engine: ours, the file and the same in our words."""


@pytest.mark.parametrize("name", CASES)
def test_a_warm_server_takes_the_memory_that_is_said(name: str, tmp_path: Path) -> None:
    if name == "RocksDB" and not mariadb.has_rocksdb():
        pytest.skip("mariadb-plugin-rocksdb is missing")
    engine, file, settings = CASES[name]
    data = mariadb.install(tmp_path)
    cnf = tmp_path / "my.cnf"
    cnf.write_text("[mariadbd]\n" + file)
    part = ROWS // 40
    with mariadb.running(cnf, data) as server:
        server.rows(
            "create database d;"
            f" create table d.t (a int primary key, b char(200)) engine={name};"
            + "".join(
                f" insert into d.t select seq, md5(seq) from d.seq_{first}_to_{first + part - 1};"
                for first in range(1, ROWS, part)
            )
        )
        server.rows("select count(b) from d.t")
        status = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/status").read_text()
    taken = int(status.split("VmHWM:")[1].split()[0]) * 1024
    load = Load(clients=1, data_bytes=DATA_BYTES, keys=ROWS, has_tables=True)
    parts = memory.memory_parts(engine, settings, load)
    said = sum(part.bytes for part in parts if part.name != memory.RESERVE)
    print(f"{name}: said {said / MIB:.0f} MiB, took {taken / MIB:.0f} MiB")
    assert taken == pytest.approx(said, rel=0.2)
