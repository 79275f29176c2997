"""A warm mariadbd takes the memory that we say InnoDB takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from advisor import memory
from tests.real import mariadb_server as mariadb

pytestmark = mariadb.MARKS

MIB = 1 << 20


def test_a_warm_server_takes_the_memory_that_is_said(tmp_path: Path) -> None:
    data = mariadb.install(tmp_path)
    cnf = tmp_path / "my.cnf"
    cnf.write_text("[mariadbd]\ninnodb_buffer_pool_size=64M\ninnodb_flush_log_at_trx_commit=0\n")
    with mariadb.running(cnf, data) as server:
        server.rows(
            "create database d; create table d.t (a int primary key, b char(200)) engine=InnoDB;"
            " insert into d.t select seq, md5(seq) from d.seq_1_to_400000"
        )
        server.rows("select count(b) from d.t")
        status = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/status").read_text()
    taken = int(status.split("VmHWM:")[1].split()[0]) * 1024
    parts = memory.memory_parts(
        "btree",
        {"innodb_buffer_pool_size": 64 * MIB},
        clients=1,
        data_bytes=90 * MIB,
        keys=400_000,
    )
    said = sum(part.bytes for part in parts if part.name != memory.RESERVE)
    assert taken == pytest.approx(said, rel=0.2)
