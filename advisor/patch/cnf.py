"""A my.cnf with other values on some of its lines.

Of several lines for one option the last one counts, in the order in which a server reads the file
and its includes: it changes if it is in the file itself, and otherwise a line at the end goes over
it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from advisor import dialects, files
from advisor.dialects.cnf import quoted, variable_value
from advisor.dialects.innodb import companions
from advisor.dialects.line import Entry
from advisor.dialects.myrocks import FLUSH_AT_COMMIT, cf_pair, flush_at_commit
from advisor.imports.mycnf import plain
from advisor.imports.option_groups import (
    Statement,
    is_server_group,
    read_statements,
    without_comment,
)
from advisor.knobs import Setting
from advisor.patch.edits import Edits
from advisor.patch.pairs import with_pairs

FAMILY = "rocksdb_default_cf_options"
TABLE = "block_based_table_factory"
_WINS_OVER: Mapping[str, tuple[str, ...]] = {
    "innodb_log_file_size": ("innodb_log_files_in_group", "innodb_redo_log_capacity"),
}
"""Options that would count instead of a line, or multiply it."""


@dataclass
class _Wanted:
    """A value that a variable should have, and what the lines before it say."""

    value: str
    comments: list[str] = field(default_factory=list)


def patched_cnf(
    path: Path, dialect: str, entries: Sequence[Entry], has: Mapping[str, Setting]
) -> list[str]:
    """The lines of the file with these entries."""
    statements, _ = read_statements(path)
    winners: dict[str, Statement] = {}
    for statement in statements:
        if is_server_group(statement.group):
            winners[plain(statement)[0]] = statement
    edits = Edits(files.read_text(path, errors="surrogateescape"))
    added: list[str] = []
    wanted = _variables(entries, has, winners.get(FAMILY))
    for name, one in wanted.items():
        winner = winners.get(name)
        comments = [f"# {comment}" for comment in one.comments]
        if winner is not None and winner.file == str(path):
            line = _with_value(edits.current(winner.line), name, one.value)
            edits.replace(winner.line, [*comments, line])
        else:
            if winner is not None:
                comments.append(f"# goes over line {winner.line} of {winner.file}")
            added += [*comments, f"{name}={one.value}"]
        for other in _WINS_OVER.get(name, ()):
            added += _silenced(other, name, winners.get(other), path, edits)
    plugin = dialects.plugin(dialect)
    if plugin and not any("rocksdb" in (one.value or "") for one in _plugins(statements)):
        added.insert(0, plugin)
    group = dialects.server_group(dialect)
    return [*edits.result(), *(["", f"[{group}]", *added] if added else [])]


def _variables(
    entries: Sequence[Entry], has: Mapping[str, Setting], family: Statement | None
) -> dict[str, _Wanted]:
    found: dict[str, _Wanted] = {}
    pairs: dict[str, str] = {}
    told: list[str] = []
    values = {**has, **{entry.knob.name: entry.value for entry in entries}}
    for entry in entries:
        name, comment = entry.spelling.name, entry.comment
        if entry.spelling.place in ("cf", "table"):
            prefix = f"{TABLE}." if entry.spelling.place == "table" else ""
            pair_name, value = cf_pair(entry)
            pairs[prefix + pair_name] = value
            told.append(f"{entry.knob.name}: {comment}")
        elif name == FLUSH_AT_COMMIT:
            flush = flush_at_commit(bool(values["sync"]), bool(values["manual_wal_flush"]))
            found.setdefault(name, _Wanted(str(flush))).comments.append(comment)
        else:
            found[name] = _Wanted(variable_value(entry.knob, entry.value), [comment])
            for line in companions(entry):
                other, _, value = line.partition("=")
                found[other] = _Wanted(value)
    if pairs:
        text = with_pairs((family.value if family else None) or "", pairs)
        found[FAMILY] = _Wanted(quoted(text), told)
    return found


def _with_value(line: str, name: str, value: str) -> str:
    """The line with another value; its own way of writing the name, and its comment, stay."""
    body, _ = without_comment(line)
    trail = line[len(body) :]
    match = re.match(r"(\s*)([^=\s]+)(\s*=\s*)?", body)
    assert match is not None, "a statement has a name"
    indent, written, equals = match[1], match[2], match[3]
    spelt = written.replace("-", "_").lower().removeprefix("loose_")
    if spelt != name:
        written = name
    return f"{indent}{written}{equals or '='}{value}{trail}"


def _silenced(
    name: str, winner: str, statement: Statement | None, path: Path, edits: Edits
) -> list[str]:
    """Makes a comment of a line that would count instead; answers what to say of one elsewhere."""
    if statement is None:
        return []
    if statement.file != str(path):
        return [f"# remove {name} from {statement.file}: it would change what {winner} means"]
    line = edits.current(statement.line)
    edits.replace(statement.line, [f"# {winner} alone says the size now", f"#{line}"])
    return []


def _plugins(statements: Sequence[Statement]) -> list[Statement]:
    names = ("plugin_load", "plugin_load_add")
    return [one for one in statements if plain(one)[0] in names]
