"""What a byte that goes into zlib or comes out of it costs the real products: they use zlib itself,
and InnoDB lays the records of a compressed table's page out as well."""

from __future__ import annotations

import random
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
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
    """Nanoseconds of a byte: into zlib at level 1, out of it for values of db_bench, on which the
    core's own cost holds, into a page of InnoDB, and out of one beyond zlib on the same rows."""
    rows, values = _pages_of_sysbench(), _pages_of_db_bench()
    into, out_of = innodb_ns()
    return {
        "library in": _least_ns(lambda: [zlib.compress(page, 1) for page in rows], rows),
        "library out": _unzip_ns(values),
        "page in": into,
        "page out": max(0.0, out_of - _unzip_ns(rows)),
    }


def _unzip_ns(pages: Sequence[bytes]) -> float:
    packed = [zlib.compress(page) for page in pages]
    return _least_ns(lambda: [*map(zlib.decompress, packed)], pages)


def _least_ns(work: Callable[[], object], pages: Sequence[bytes]) -> float:
    found = []
    for _ in range(REPETITIONS):
        start = time.process_time_ns()
        work()
        found.append((time.process_time_ns() - start) / sum(map(len, pages)))
    return min(found)


def innodb_ns() -> tuple[float, float]:
    """By MariaDB's own account of random updates and reads of sysbench's table."""
    with tempfile.TemporaryDirectory(prefix="tunebench-") as place:
        folder = Path(place)
        cnf = folder / "my.cnf"
        cnf.write_text(SERVER)
        with mariadb_server.running(cnf, mariadb_server.install(folder)) as server:
            server.rows("CREATE DATABASE sbtest")

            def account(test: str, work: str) -> float:
                """What the pages of a run took by this account, in ns a byte."""
                server.rows("SELECT count(*) FROM information_schema.INNODB_CMP_RESET")
                server.sysbench(ROWS, test, f"--time={SECONDS}", "run")
                [[pages, seconds]] = server.rows(
                    f"SELECT {work}_ops, {work}_time FROM information_schema.INNODB_CMP"
                    f" WHERE page_size={KEY_BLOCK_KIB << 10}"
                )
                # Whole seconds, cut off.
                return (float(seconds) + 0.5) * 1e9 / (float(pages) * PAGE_BYTES)

            server.sysbench(ROWS, "oltp_point_select", "prepare")
            server.rows(
                f"ALTER TABLE sbtest.sbtest1 ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE={KEY_BLOCK_KIB}"
            )
            return (
                account("oltp_update_non_index", "compress"),
                account("oltp_point_select", "uncompress"),
            )


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
