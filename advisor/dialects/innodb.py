"""InnoDB's settings in a my.cnf, for MariaDB and for MySQL.

They differ in names and absences, which the catalogue knows, and in page compression: a server
variable with a plugin in MariaDB, a property of each table in MySQL.
"""

from __future__ import annotations

from collections.abc import Sequence

from advisor.dialects.cnf import CHANGES, heading, refusals, variable, waiting
from advisor.dialects.line import About, Entry, head
from advisor.knobs import Dialect

_ROW_FORMAT = ("key_block_size", "compressed_indexes")
_PROVIDERS = {"lz4": "provider_lz4", "snappy": "provider_snappy"}


def write_mariadb(dialect: Dialect, entries: Sequence[Entry], about: About) -> str:
    """A my.cnf for InnoDB in MariaDB."""
    apply = (
        "copy it to /etc/mysql/mariadb.conf.d/99-tunebench.cnf and restart the server, or",
        "check it first: mariadbd --defaults-file=PATH --verbose --help > /dev/null.",
    )
    return _file(head(f"my.cnf for {dialect.title}", about, apply), "mariadbd", entries)


def write_mysql(dialect: Dialect, entries: Sequence[Entry], about: About) -> str:
    """A my.cnf for InnoDB in MySQL."""
    apply = (
        "copy it to /etc/mysql/conf.d/tunebench.cnf and restart the server, or",
        "check it first: mysqld --defaults-file=PATH --validate-config.",
    )
    return _file(head(f"my.cnf for {dialect.title}", about, apply), "mysqld", entries)


def _file(opening: list[str], group: str, entries: Sequence[Entry]) -> str:
    text = [*opening, "", f"[{group}]"]
    for change in CHANGES:
        known = [entry for entry in entries if entry.change == change and entry.stands]
        if known:
            text += heading(change)
        for entry in known:
            text += [*variable(entry), *companions(entry)]
    text += left_out(entries, group)
    return "\n".join(text) + "\n"


def left_out(entries: Sequence[Entry], group: str) -> list[str]:
    """The comments for what does not stand in the file of the server with this group."""
    return waiting(entries, companions) + refusals(entries, lambda entry: _tables(entry, group))


def waits(entry: Entry) -> str:
    """What has to be done before a line that concerns data on disk does what it says.

    A server refuses to start on a data directory of another page size, and with a plugin that is
    not installed; tables that exist are compressed by a statement.
    """
    if entry.change != "rebuild":
        return ""
    if entry.knob.name == "innodb_page_size":
        return "a new data directory, and the data loaded again"
    compressed = int(entry.value != "none")
    steps = f"ALTER TABLE t PAGE_COMPRESSED={compressed}; for each table"
    if entry.value in _PROVIDERS:
        package = f"mariadb-plugin-{_PROVIDERS[str(entry.value)].replace('_', '-')}"
        return f"apt-get install {package}, then these lines, then {steps}"
    return f"these lines, then {steps}"


def companions(entry: Entry) -> list[str]:
    """Settings without which a line does nothing."""
    if entry.knob.name != "innodb_compression_algorithm":
        return []
    provider = _PROVIDERS.get(str(entry.value))
    compressed = "OFF" if entry.value == "none" else "ON"
    plugin = [f"plugin_load_add={provider}"] if provider else []
    return [f"innodb_compression_default={compressed}", *plugin]


def _tables(entry: Entry, group: str) -> list[str]:
    """The statements for what belongs to tables and indexes rather than to the server."""
    value = entry.value
    if group != "mysqld" and entry.knob.name not in _ROW_FORMAT:
        return []
    if entry.refusal != entry.spelling.absent or value == entry.knob.default:
        return []
    if entry.knob.name == "merge_threshold":
        return [
            f"#   whole table: ALTER TABLE t COMMENT='MERGE_THRESHOLD={value}';",
            f"#   one index: CREATE INDEX i ON t (c) COMMENT 'MERGE_THRESHOLD={value}';",
        ]
    if entry.knob.name == "key_block_size":
        layout = f"ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE={int(value) // 1024}"
        return [
            f"#   new tables: CREATE TABLE t (...) {layout};",
            f"#   existing tables: ALTER TABLE t {layout};",
        ]
    if entry.knob.name == "compressed_indexes":
        return [
            "#   tables of these indexes: as key_block_size says;",
            "#   other tables: ALTER TABLE t ROW_FORMAT=DYNAMIC KEY_BLOCK_SIZE=0;",
        ]
    if entry.knob.name == "innodb_compression_algorithm":
        return [
            f"#   new tables: CREATE TABLE t (...) COMPRESSION='{value}';",
            f"#   existing tables: ALTER TABLE t COMPRESSION='{value}'; OPTIMIZE TABLE t;",
        ]
    return []
