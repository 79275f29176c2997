"""The grammar of MySQL's and MariaDB's option files: groups, quotes, escapes, includes.

Only grammar lives here; what the options mean is in `mycnf.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from advisor import files
from advisor.errors import InputError
from advisor.imports.secrets import quoted

MAX_DEPTH = 10
"""Includes inside of includes, as in the servers."""
MAX_INCLUDES = 256
MAX_PATH_PARTS = 64
MAX_LINES = 100_000
"""Of a file and all that it includes."""
MAX_LINE_BYTES = 4095
"""What the servers read as one line."""

_SERVER_GROUPS = ("mysqld", "server", "mariadb", "mariadbd", "client-server", "galera")
_VERSIONED = re.compile(r"(mysqld|mariadb|mariadbd)-\d+\.\d+")
_QUOTE_OR_COMMENT = re.compile(r"[\"'#]")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "s": " ", "\\": "\\", '"': '"', "'": "'"}


@dataclass(frozen=True)
class Statement:
    """One option, as written, without its quotes."""

    file: str
    line: int
    group: str
    name: str
    value: str | None
    """None for a name that stands alone."""


@dataclass(frozen=True)
class MissingInclude:
    """A file or directory that was to be included and is not there."""

    file: str
    line: int
    target: str


def is_server_group(group: str, suffix: str = "") -> bool:
    """Whether a server reads the group; `suffix` is its `--defaults-group-suffix`."""
    base = group.removesuffix(suffix) if suffix else group
    return any(one in _SERVER_GROUPS or bool(_VERSIONED.fullmatch(one)) for one in (group, base))


def read_statements(
    path: Path, *, root: Path | None = None, suffix: str = ""
) -> tuple[list[Statement], list[MissingInclude]]:
    """Every option of the file and of what it includes, in the order in which a server reads them.

    An absolute include is looked for beside the file first (`/etc/mysql/conf.d` as `conf.d`), so
    that a copied configuration stays complete, then where it says. With `root`, only under it.
    """
    reader = _Reader(root, suffix)
    reader.file(path, 0)
    return reader.statements, reader.missing


class _Reader:
    def __init__(self, root: Path | None, suffix: str) -> None:
        self.root = root
        self.suffix = suffix
        self.statements: list[Statement] = []
        self.missing: list[MissingInclude] = []
        self.includes = 0
        self.lines = 0

    def file(self, path: Path, depth: int) -> None:
        text = files.read_text(path, errors="surrogateescape")
        group = None
        for number, raw in enumerate(text.splitlines(), start=1):
            line = raw.strip()
            self.lines += 1
            if self.lines > MAX_LINES:
                raise InputError(path, number, f"more than {MAX_LINES} lines", "fewer in all files")
            if not line or line[0] in "#;":
                continue
            if len(line) > MAX_LINE_BYTES:
                found = f"a line of {len(line)} bytes"
                raise InputError(path, number, found, f"at most {MAX_LINE_BYTES}, as in a server")
            if line[0] == "!":
                self._include(path, number, line, depth)
            elif line[0] == "[":
                group = _group(path, number, line)
            elif group is None:
                raise InputError(path, number, quoted(line), "a group such as [mysqld] first")
            else:
                strict = is_server_group(group, self.suffix)
                self.statements.append(_statement(path, number, group, line, strict))

    def _include(self, path: Path, number: int, line: str, depth: int) -> None:
        match = re.fullmatch(r"!(include|includedir)\s+(.+)", line)
        if match is None:
            raise InputError(path, number, quoted(line), "!include FILE or !includedir DIRECTORY")
        if depth == MAX_DEPTH:
            raise InputError(path, number, f"{MAX_DEPTH + 1} nested includes", f"{MAX_DEPTH}")
        if match[2].count("/") > MAX_PATH_PARTS:
            found = f"a path of more than {MAX_PATH_PARTS} parts"
            raise InputError(path, number, found, "a shorter path")
        target = self._resolve(path, match[2].strip())
        if match[1] == "includedir" and files.is_folder(target):
            members = [one for one in files.members(target) if one.suffix == ".cnf"]
        elif match[1] == "include" and files.exists(target):
            members = [target]
        else:
            members = []
            self._count_include(path, number)
            self.missing.append(MissingInclude(str(path), number, match[2].strip()))
        for member in members:
            self._count_include(path, number)
            self.file(member, depth + 1)

    def _count_include(self, path: Path, number: int) -> None:
        self.includes += 1
        if self.includes > MAX_INCLUDES:
            found = f"more than {MAX_INCLUDES} included files"
            raise InputError(path, number, found, "fewer; is one included again and again?")

    def _resolve(self, path: Path, target: str) -> Path:
        named = Path(target)
        if self.root is not None and named.is_absolute():
            return self.root / named.relative_to(named.anchor)
        parts = named.parts[1:] if named.is_absolute() else named.parts
        for start in range(len(parts)):
            beside = path.parent.joinpath(*parts[start:])
            if files.exists(beside):
                return beside
        return named if named.is_absolute() else path.parent / named


def _group(path: Path, number: int, line: str) -> str:
    name, closed, rest = line[1:].partition("]")
    rest = rest.strip()
    if not closed or not name.strip() or (rest and rest[0] not in "#;"):
        raise InputError(path, number, quoted(line), "a group such as [mysqld]")
    return name.strip()


def _statement(path: Path, number: int, group: str, line: str, strict: bool) -> Statement:
    text, open_quote = without_comment(line)
    name, equals, value = text.partition("=")
    name, value = name.strip(), value.strip()
    if strict and not re.fullmatch(r"[A-Za-z][\w.-]*", name):
        raise InputError(path, number, quoted(line), "NAME or NAME=VALUE")
    if not equals:
        return Statement(str(path), number, group, name, None)
    if strict and open_quote and value.startswith(open_quote):
        raise InputError(path, number, quoted(line), f"a closing {open_quote}")
    if len(value) >= 2 and value[0] in "\"'" and value[-1] == value[0]:
        value = value[1:-1]
    return Statement(str(path), number, group, name, _unescaped(value))


def without_comment(line: str) -> tuple[str, str]:
    """The line up to a comment, a `#` outside of quotes, and the quote that is still open."""
    if not _QUOTE_OR_COMMENT.search(line):
        return line, ""
    quote, escaped = "", False
    for place, letter in enumerate(line):
        if letter in "\"'" and not escaped and quote in ("", letter):
            quote = "" if quote else letter
        if letter == "#" and not quote:
            return line[:place].rstrip(), ""
        escaped = bool(quote) and letter == "\\" and not escaped
    return line, quote


def _unescaped(value: str) -> str:
    return re.sub(r"\\([btnrs\\\"'])", lambda match: _ESCAPES[match[1]], value)
