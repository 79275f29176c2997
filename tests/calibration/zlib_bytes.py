"""What a byte that comes out of zlib costs the real products: they use zlib itself, and InnoDB lays
the records of a compressed table's page out as well."""

from __future__ import annotations

import random
import subprocess
import tempfile
import time
import zlib
from collections.abc import Sequence
from pathlib import Path

from tests.real import mariadb_server

REPETITIONS = 7
PAGE_BYTES, KEY_BLOCK_KIB = 15_600, 8
"""Records of a page of 16 KiB, and the KiB that it is compressed into."""
PAGES = 200
ROWS = 400_000
"""Several times as many pages as the pool has, so that most reads decompress one."""
SECONDS = 60
SERVER = """[mysqld]
innodb_buffer_pool_size = 24M
innodb_buffer_pool_chunk_size = 1M
innodb_log_file_size = 256M
innodb_flush_log_at_trx_commit = 0
"""


def zlib_ns() -> dict[str, float]:
    """Nanoseconds of a byte: of zlib on values of db_bench, on which the core's own cost holds, and
    of InnoDB beyond zlib on the same rows."""
    alone = library_ns(_pages_of_sysbench())
    return {"library": library_ns(_pages_of_db_bench()), "page": max(0.0, innodb_ns() - alone)}


def library_ns(pages: Sequence[bytes]) -> float:
    """Of zlib alone."""
    packed = [zlib.compress(page) for page in pages]
    found = []
    for _ in range(REPETITIONS):
        start = time.process_time_ns()
        for one in packed:
            zlib.decompress(one)
        found.append((time.process_time_ns() - start) / sum(map(len, pages)))
    return min(found)


def innodb_ns() -> float:
    """By MariaDB's own account of decompressions, of random reads of sysbench's table."""
    with tempfile.TemporaryDirectory(prefix="tunebench-") as place:
        folder = Path(place)
        cnf = folder / "my.cnf"
        cnf.write_text(SERVER)
        with mariadb_server.running(cnf, mariadb_server.install(folder)) as server:
            server.rows("CREATE DATABASE sbtest")
            sysbench = (
                "sysbench",
                "oltp_point_select",
                f"--mysql-socket={server.socket}",
                "--mysql-user=root",
                f"--table-size={ROWS}",
                "--rand-type=uniform",
                f"--time={SECONDS}",
            )
            subprocess.run([*sysbench, "prepare"], check=True, capture_output=True)
            server.rows(
                f"ALTER TABLE sbtest.sbtest1 ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE={KEY_BLOCK_KIB}"
            )
            server.rows("SELECT count(*) FROM information_schema.INNODB_CMP_RESET")
            subprocess.run([*sysbench, "run"], check=True, capture_output=True)
            [[pages, seconds]] = server.rows(
                "SELECT uncompress_ops, uncompress_time FROM information_schema.INNODB_CMP"
                f" WHERE page_size={KEY_BLOCK_KIB << 10}"
            )
    # Whole seconds, cut off.
    return (float(seconds) + 0.5) * 1e9 / (float(pages) * PAGE_BYTES)


def _pages_of_db_bench() -> list[bytes]:
    source = random.Random(1)
    half = [bytes(source.randrange(32, 127) for _ in range(50)) for _ in range(32_000)]
    return _cut(b"".join(piece * 2 for piece in half))


def _pages_of_sysbench() -> list[bytes]:
    source = random.Random(1)

    def digits(groups: int) -> str:
        return "-".join("".join(source.choices("0123456789", k=11)) for _ in range(groups))

    def row(number: int) -> bytes:
        key = number.to_bytes(4, "big") + source.randrange(ROWS).to_bytes(4, "big")
        return key + (digits(10) + digits(5)).encode()

    return _cut(b"".join(row(number) for number in range(PAGES * PAGE_BYTES // 180)))


def _cut(data: bytes) -> list[bytes]:
    return [data[at : at + PAGE_BYTES] for at in range(0, len(data) - PAGE_BYTES, PAGE_BYTES)]
