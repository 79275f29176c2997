"""MyRocks in a my.cnf of MariaDB.

Memtables, levels, compression and filters live in one string, `rocksdb_default_cf_options`, which
replaces any such string set before; the rest are server variables. Durability is one variable for
what are two knobs of the engine.
"""

from __future__ import annotations

from collections.abc import Sequence

from advisor.dialects.cnf import CHANGES, heading, quoted, variable, variable_value
from advisor.dialects.line import About, Entry, head
from advisor.dialects.rocksdb import assignments, left_out, option_value
from advisor.knobs import Change, Dialect

FLUSH_AT_COMMIT = "rocksdb_flush_log_at_trx_commit"
PLUGIN = "plugin_load_add=ha_rocksdb"

_APPLY = (
    "apt-get install mariadb-plugin-rocksdb, without which a server refuses these lines;",
    "copy it to /etc/mysql/mariadb.conf.d/99-tunebench.cnf and restart the server with",
    "--rocksdb=FORCE once: without FORCE a server runs on without MyRocks if a line is wrong.",
)


def write_myrocks(dialect: Dialect, entries: Sequence[Entry], about: About) -> str:
    """A my.cnf for MyRocks."""
    text = head(f"my.cnf for {dialect.title}", about, _APPLY)
    text += ["", "[mariadbd]", PLUGIN]
    written = [entry for entry in entries if entry.stands]
    for change in CHANGES:
        group = [one for one in written if one.change == change and _is_variable(one)]
        lines = [line for entry in group for line in variable(entry)]
        if change == "dynamic":
            lines += _commit(entries)
        if change == "restart":
            lines += _family([entry for entry in written if entry.spelling.place != "variable"])
        if lines:
            text += heading(change) + lines
    text += ["", *left] if (left := left_out(entries)) else []
    return "\n".join(text) + "\n"


def flush_at_commit(sync: bool, manual_wal_flush: bool) -> int:
    """The server's one setting: 1 syncs at commit, 2 writes at commit, 0 leaves both to a timer."""
    return 1 if sync else 0 if manual_wal_flush else 2


def commit_knobs(flush: int) -> dict[str, bool]:
    """The engine's two knobs for `rocksdb_flush_log_at_trx_commit`."""
    return {"sync": flush == 1, "manual_wal_flush": flush == 0}


def _is_variable(entry: Entry) -> bool:
    return entry.spelling.place == "variable" and entry.spelling.name != FLUSH_AT_COMMIT


def _commit(entries: Sequence[Entry]) -> list[str]:
    asked = {entry.knob.name: entry for entry in entries if entry.spelling.name == FLUSH_AT_COMMIT}
    if all(entry.refusal for entry in asked.values()):
        return []
    value = flush_at_commit(
        *(name in asked and asked[name].value is True for name in ("sync", "manual_wal_flush"))
    )
    comments = [f"# {name}: {entry.comment}" for name, entry in asked.items() if not entry.refusal]
    return [*comments, f"{FLUSH_AT_COMMIT}={value}"]


def _family(entries: Sequence[Entry]) -> list[str]:
    if not entries:
        return []
    lines = ["# the settings of the column families are one string:"]
    waits: dict[Change, str] = {"rebuild": "; for all data after a full compaction"}
    for entry in entries:
        shown = f"{entry.knob.name} = {entry.knob.show(entry.value)}"
        lines.append(f"#   {shown}: {entry.comment}{waits.get(entry.change, '')}")
    own = assignments([cf_pair(entry) for entry in entries if entry.spelling.place == "cf"])
    table = assignments([cf_pair(entry) for entry in entries if entry.spelling.place == "table"])
    if table:
        own.append("block_based_table_factory={" + ";".join(table) + "}")
    return [*lines, f"rocksdb_default_cf_options={quoted(';'.join(own))}"]


def cf_pair(entry: Entry) -> tuple[str, str]:
    """Name and value as the string of a column family takes them."""
    if entry.knob.type == "size":
        return entry.spelling.name, variable_value(entry.knob, entry.value)
    return entry.spelling.name, option_value(entry.value)
