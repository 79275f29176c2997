"""What the catalogue calls a default of MariaDB is what the server does without a file.

The server lists its defaults without starting an engine; the few that it derives when it starts,
and MyRocks' column family, are held against a running server in `test_mariadb.py`.
"""

from __future__ import annotations

import pytest

from advisor import dialects, knobs
from advisor.knobs import Knob, Setting
from tests.real import mariadb_server as mariadb

pytestmark = mariadb.MARKS

DERIVED = {
    # Twice innodb_io_capacity, at least 2,000; listed as unset.
    "innodb_io_capacity_max": "4294967295",
    # Without effect as long as innodb_compression_default is off, as it is.
    "innodb_compression_algorithm": "zlib",
}


SERVED = ("mariadb-10.11", "myrocks-mariadb-10.11")
"""The dialects of the server that Debian 12 has."""


def cases() -> list[tuple[str, str]]:
    """Every knob that is a variable of the server, by dialect."""
    return [
        (dialect, name)
        for dialect in SERVED
        for name, knob in knobs.catalogue(dialects.engine_of(dialect)).items()
        if not knob.spellings[dialect].absent
        and (dialects.engine_of(dialect) == "btree" or knob.spellings[dialect].place == "variable")
    ]


@pytest.fixture(scope="module")
def listed() -> dict[str, dict[str, str]]:
    found = {"mariadb-10.11": mariadb.own_defaults()}
    if mariadb.has_rocksdb():
        found["myrocks-mariadb-10.11"] = mariadb.own_defaults("--plugin-load-add=ha_rocksdb")
    return found


@pytest.mark.parametrize(("dialect", "name"), cases())
def test_the_default_of_the_catalogue_is_the_servers(
    listed: dict[str, dict[str, str]], dialect: str, name: str
) -> None:
    if dialect not in listed:
        pytest.skip("mariadb-plugin-rocksdb is not installed")
    knob = knobs.catalogue(dialects.engine_of(dialect))[name]
    spelled = knob.spellings[dialect].name
    if name in DERIVED:
        assert listed[dialect][spelled] == DERIVED[name]
        return
    if spelled == "rocksdb_flush_log_at_trx_commit":
        # One variable for two knobs: 1 syncs every commit, and holds nothing back.
        assert listed[dialect][spelled] == "1"
        default = dialects.product_defaults(dialect)
        assert (default["sync"], default["manual_wal_flush"]) == (True, False)
        return
    default = dialects.product_defaults(dialect)[name]
    assert _read(knob, listed[dialect][spelled]) == default


def _read(knob: Knob, text: str) -> Setting:
    return knobs.parse_value(knob, f"{float(text):.15g}" if knob.type == "number" else text)
