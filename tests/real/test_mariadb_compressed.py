"""MariaDB's compressed tables beside ours: the same kind of rows in the same kind of order.

Real rows are db_bench's as our workload makes them: keys of 16 bytes, values that repeat in pieces
of 100 bytes. The numbers differ from ours, what they compress to does not.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor import core
from advisor.hardware import hardware
from advisor.scale import machine_spec
from tests.real import mariadb_server as mariadb

pytestmark = mariadb.MARKS

ROWS, VALUE_BYTES, PIECE_BYTES, RATIO = 60_000, 150, 100, 0.5
KIB = 1 << 10


def _values(source: random.Random) -> Iterator[bytes]:
    fresh = int(PIECE_BYTES * RATIO)
    pieces = (bytes(source.randrange(32, 127) for _ in range(fresh)) * 2 for _ in range(10_486))
    data = b"".join(pieces)
    at = 0
    while True:
        if at + VALUE_BYTES > len(data):
            at = 0
        yield data[at : at + VALUE_BYTES]
        at += VALUE_BYTES


def _write_rows(path: Path, order: str) -> None:
    source = random.Random(1)
    keys = list(range(ROWS))
    if order == "random":
        source.shuffle(keys)
    with path.open("w") as file:
        for key, value in zip(keys, _values(source), strict=False):
            file.write(f"{(key << 64).to_bytes(16, 'big').hex()}\t{value.hex()}\n")


def _real(tmp_path: Path, order: str, key_block_kib: int) -> tuple[int, int, float]:
    """Leaf pages, compressions, and the share of them that failed."""
    cnf, rows = tmp_path / "my.cnf", tmp_path / "rows"
    cnf.write_text("[mariadbd]\ninnodb_buffer_pool_size=64M\ninnodb_log_file_size=64M\n")
    _write_rows(rows, order)
    data = mariadb.install(tmp_path)
    with mariadb.running(cnf, data, "--secure-file-priv=") as server:
        server.rows(
            "CREATE DATABASE d; CREATE TABLE d.t (k BINARY(16) PRIMARY KEY, v VARBINARY(400))"
            f" CHARSET latin1 ENGINE=InnoDB ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE={key_block_kib}"
        )
        server.rows(
            f"LOAD DATA INFILE '{rows}' INTO TABLE d.t (@k, @v)"
            " SET k=UNHEX(@k), v=UNHEX(@v); ANALYZE TABLE d.t"
        )
        [[leaves]] = server.rows(
            "SELECT stat_value FROM mysql.innodb_index_stats WHERE database_name='d'"
            " AND stat_name='n_leaf_pages'"
        )
        [[done, fine]] = server.rows(
            "SELECT compress_ops, compress_ops_ok FROM information_schema.INNODB_CMP"
            f" WHERE page_size={key_block_kib * KIB}"
        )
    return int(leaves), int(done), 1 - int(fine) / int(done)


def _ours(order: str, key_block_kib: int) -> tuple[int, int, float]:
    report = core.run(
        {
            "engine": "btree",
            "options": {
                "innodb_buffer_pool_size": 64 << 20,
                "innodb_redo_log_capacity": 64 << 20,
                "key_block_size": key_block_kib * KIB,
            },
            "workload": {
                "kind": "db_bench",
                "benchmark": "readrandom",
                "keys": ROWS,
                "value_bytes": VALUE_BYTES,
                "compression_ratio": RATIO,
                "load_order": order,
            },
            "clients": 1,
            "seed": 1,
            "operations": 1,
            "clock": "simulated",
            "hardware": machine_spec(hardware("nvme-2024")),
        }
    )
    details = report["engine_details"]
    done = details["packs"] + details["pack_failures"]
    return int(details["tree_pages"]), int(done), details["pack_failures"] / done


@pytest.mark.parametrize("order", ["random", "sequential"])
@pytest.mark.parametrize("key_block_kib", [8, 4])
def test_tables_take_the_space_that_they_take_in_mariadb(
    tmp_path: Path, order: str, key_block_kib: int
) -> None:
    real, ours = _real(tmp_path, order, key_block_kib), _ours(order, key_block_kib)
    assert ours[0] == pytest.approx(real[0], rel=0.1)
    assert ours[1] == pytest.approx(real[1], rel=0.4)
