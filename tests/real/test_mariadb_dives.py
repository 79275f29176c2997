"""MariaDB judges what a planner's questions cost (`Engine::count_in_range`, which the tpcc workload
asks): an UPDATE by primary key makes InnoDB read leaves of another index that it does not use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real import mariadb_server as mariadb

pytestmark = mariadb.MARKS

ROWS = 8000
"""Of each of four districts: some 20 leaves of the index."""
LEAVES = 10
"""`N_PAGES_READ_LIMIT` of InnoDB."""
BY_KEY = "where w = 2 and d = 1 and c = 77"
CREATE = (
    "create database t; use t; create table customer (w smallint not null, d tinyint not null,"
    " c int not null, name varchar(16), balance int, data varchar(200), primary key (w, d, c),"
    " key by_name (w, d, name)) engine=innodb;"
    " insert into customer select 1 + seq % 4 div 2, seq % 2, seq div 4,"
    " concat('name', seq % 997, '-abcdefg'), 0, repeat('x', 200)"
    f" from seq_0_to_{4 * ROWS - 1};"
)


def leaves_in_pool(server: mariadb.RunningServer) -> int:
    return server.pages_in_pool("customer", "by_name")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("dives")
    data = mariadb.install(directory)
    with mariadb.cold(directory, data) as server:
        server.rows(CREATE)
        server.rows("analyze table t.customer")
    return data


def test_an_update_by_primary_key_reads_ten_leaves_of_another_index(
    tmp_path: Path, data: Path
) -> None:
    with mariadb.cold(tmp_path, data) as server:
        before = leaves_in_pool(server)
        server.rows(f"update t.customer set balance = balance + 1 {BY_KEY}")
        # Those from the left end on, and the one at the right end.
        assert LEAVES <= leaves_in_pool(server) - before <= LEAVES + 2


def test_a_select_by_primary_key_reads_none(tmp_path: Path, data: Path) -> None:
    with mariadb.cold(tmp_path, data) as server:
        before = leaves_in_pool(server)
        server.rows(f"select balance from t.customer {BY_KEY} for update")
        assert leaves_in_pool(server) == before
