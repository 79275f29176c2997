"""MariaDB judges what a split or a try to merge reads (`Forest::restructure`): InnoDB latches both
neighbours of the leaf before it knows whether their links change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real import mariadb_server as mariadb

pytestmark = mariadb.MARKS

ROWS = 20_000
CREATE = (
    "create database t; use t; create table filled (id int not null primary key,"
    " data varchar(400) not null) engine=innodb;"
    f" insert into filled select seq, repeat('x', 200) from seq_1_to_{ROWS};"
)
AT = ROWS // 4
"""In the first part of a leaf, so that more than half of it follows."""
NEIGHBORS = 2


@pytest.fixture
def server(tmp_path: Path) -> Iterator[mariadb.RunningServer]:
    """With a full table, and nothing of it in the pool."""
    data = mariadb.install(tmp_path)
    with mariadb.cold(tmp_path, data) as first:
        first.rows(CREATE)
    with mariadb.cold(tmp_path, data) as second:
        second.rows("select * from t.filled where id = 1")
        yield second


def brought_in(server: mariadb.RunningServer, data: str, rows: int) -> list[int]:
    """Leaves that come into the pool with each of some rows that change beside each other."""
    counts = []
    pages = server.pages_in_pool("filled", "PRIMARY")
    for row in range(AT, AT + rows):
        server.rows(f"update t.filled set data = {data} where id = {row}")
        before, pages = pages, server.pages_in_pool("filled", "PRIMARY")
        counts.append(pages - before)
    return counts


def test_rows_that_outgrow_their_leaf_bring_both_neighbors_in(
    server: mariadb.RunningServer,
) -> None:
    counts = brought_in(server, "repeat('y', 350)", 12)
    assert counts[0] == 1, "the leaf alone, while it has room"
    assert sum(counts[1:]) == NEIGHBORS + 1, "and the new leaf"


def test_a_leaf_that_becomes_underfull_brings_both_neighbors_in(
    server: mariadb.RunningServer,
) -> None:
    counts = brought_in(server, "'y'", 60)
    assert counts[0] == 1, "the leaf alone, while it is full enough"
    assert [count for count in counts[1:] if count] == [NEIGHBORS], "though neither has room for it"
