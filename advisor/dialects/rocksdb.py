"""RocksDB's OPTIONS file.

A partial file is legal and takes RocksDB's defaults for the rest, and one unknown key makes the
whole file invalid: so only the given settings are written, and only in their sections.
"""

from __future__ import annotations

from collections.abc import Sequence

from advisor.dialects.line import About, Entry, head
from advisor.knobs import Dialect, Setting

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
    "with RocksDB's own tool: db_bench --options_file=PATH --cache_size=0.",
    "RocksDB reads block_cache from here, though it writes it to no OPTIONS file of its own; a",
    "cache that a program gives to LoadOptionsFromFile, or db_bench's own, takes its place.",
)


def write_options(dialect: Dialect, entries: Sequence[Entry], about: About) -> str:
    """The text of an OPTIONS file."""
    version = dialect.version
    text = head(f"RocksDB {version} OPTIONS", about, _APPLY)
    text += left_out(entries)
    text += ["", "[Version]", f"  rocksdb_version={version}", "  options_file_version=1.1"]
    for place, section in _SECTIONS.items():
        text += ["", f"[{section}]"]
        written = [entry for entry in entries if entry.spelling.place == place]
        for change, remark in _CHANGES.items():
            group = [entry for entry in written if entry.change == change and entry.stands]
            if group:
                text.append(f"  # {change}: {remark}")
            for struct in structs(group):
                text += [f"  # {entry.comment}" for entry in struct]
                pairs = [(entry.spelling.name, option_value(entry.value)) for entry in struct]
                text += [f"  {line}" for line in assignments(pairs)]
    return "\n".join(text) + "\n"


def waits(entry: Entry) -> str:
    """What has to be done before a database opens with the line."""
    if entry.knob.name == "num_levels" and entry.value < entry.current:  # type: ignore[operator]
        fewer = f"ldb --db=PATH reduce_levels --new_levels={entry.value}"
        return f"{fewer}: a database with files on a deeper level is not opened"
    return ""


def left_out(entries: Sequence[Entry]) -> list[str]:
    """A comment for each line that does not stand in the file."""
    text = [f"# {entry.refused}" for entry in entries if entry.refusal]
    for entry in entries:
        if entry.waits:
            text += [f"# {entry.comment}", f"# waits: {entry.waits}"]
            text += [f"#{entry.spelling.name}={option_value(entry.value)}"]
    return text


def structs(entries: Sequence[Entry]) -> list[list[Entry]]:
    """The entries, those that are members of one struct together."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.spelling.name.partition(".")[0], []).append(entry)
    return list(found.values())


def assignments(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """`name=value` for each pair; members of a struct, whose names have a dot, as one
    `struct={member=value;...}`. RocksDB leaves the members that are not named at their defaults."""
    found: dict[str, str] = {}
    for name, value in pairs:
        struct, dot, member = name.partition(".")
        found[struct] = f"{found.get(struct, '')}{member}={value};" if dot else value
    members = {name.partition(".")[0] for name, _ in pairs if "." in name}
    return [
        f"{name}={{{value}}}" if name in members else f"{name}={value}"
        for name, value in found.items()
    ]


def option_value(value: Setting) -> str:
    """A value as OPTIONS files and column-family strings write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)
