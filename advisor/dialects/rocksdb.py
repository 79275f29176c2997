"""RocksDB's OPTIONS file.

A partial file is legal and takes RocksDB's defaults for the rest, and one unknown key makes the
whole file invalid: so only the given settings are written, and only in their sections.
"""

from __future__ import annotations

from collections.abc import Sequence

from advisor.dialects.line import About, Entry, head
from advisor.knobs import Setting

_VERSIONS = {"rocksdb-10.4": "10.4.2"}
_SECTIONS = {
    "DBOptions": "DBOptions",
    "CFOptions": 'CFOptions "default"',
    "TableOptions": 'TableOptions/BlockBasedTable "default"',
}
_CHANGES = {
    "dynamic": "an open database takes these through SetOptions or SetDBOptions",
    "restart": "these need the database to be opened again",
    "rebuild": "these hold for new files at once, for all data after a full compaction",
}
_APPLY = (
    "in a program: LoadOptionsFromFile(path, &db_options, &families), then DB::Open;",
    "with RocksDB's own tool: db_bench --options_file=PATH.",
)


def write_options(dialect: str, entries: Sequence[Entry], about: About) -> str:
    """The text of an OPTIONS file."""
    version = _VERSIONS[dialect]
    text = head(f"RocksDB {version} OPTIONS", about, _APPLY)
    text += [f"# {entry.refused}" for entry in entries if entry.refusal]
    text += ["", "[Version]", f"  rocksdb_version={version}", "  options_file_version=1.1"]
    for place, section in _SECTIONS.items():
        text += ["", f"[{section}]"]
        written = [entry for entry in entries if entry.spelling.place == place]
        for change, remark in _CHANGES.items():
            group = [entry for entry in written if entry.change == change and not entry.refusal]
            if group:
                text.append(f"  # {change}: {remark}")
            for entry in group:
                text.append(f"  # {entry.comment}")
                text.append(f"  {assignment(entry.spelling.name, option_value(entry.value))}")
    return "\n".join(text) + "\n"


def assignment(name: str, value: str) -> str:
    """`name=value`, or `struct={member=value;}` for a name with a dot. RocksDB leaves the members
    that are not named at their defaults."""
    struct, dot, member = name.partition(".")
    return f"{struct}={{{member}={value};}}" if dot else f"{name}={value}"


def option_value(value: Setting) -> str:
    """A value as OPTIONS files and column-family strings write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)
