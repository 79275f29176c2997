"""Reads a my.cnf: the settings of InnoDB and of MyRocks, in engine knobs.

Whatever else the file says is listed as ignored, with the reason. Of several values the last wins,
as in the servers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from advisor.dialects.myrocks import FLUSH_AT_COMMIT, commit_knobs
from advisor.engines import ENGINES, Engine, Product, btree, lsm
from advisor.errors import InputError
from advisor.imports.imported import Ignored, Imported, Refused, admitted, settle
from advisor.imports.option_groups import Statement, is_server_group, read_statements
from advisor.imports.rocksdb_text import ASSUMED_BLOOM, family_settings, knob_texts, option
from advisor.imports.secrets import shown_line
from advisor.imports.server_options import engine_of, ignored_family_option, ignored_variable
from advisor.knobs import Knob, Setting, catalogue, dialects

_SIZE = re.compile(r"([+-]?[0-9]{1,20})([KMGTPE]?)", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?([0-9]{1,20}\.?[0-9]{0,20}|\.[0-9]{1,20})([eE][+-]?[0-9]{1,3})?")
_MODIFIERS = ("skip_", "disable_", "enable_")
_FAMILY = "rocksdb_default_cf_options"
_MYSQL_ONLY = (
    "innodb_redo_log_capacity",
    "innodb_dedicated_server",
    "innodb_page_cleaners",
    "innodb_doublewrite_files",
    "innodb_use_fdatasync",
)
_MARIADB_ONLY = ("plugin_maturity", "aria_pagecache_buffer_size", "innodb_compression_algorithm")


def read_mycnf(
    path: str | Path,
    *,
    root: str | Path | None = None,
    group_suffix: str = "",
    product: Product | None = None,
) -> Imported:
    """The settings that a server would take from the file and its includes. Raises `InputError`.

    `root` is where absolute includes start; `group_suffix` is the server's
    `--defaults-group-suffix`; `product` overrides the guess.
    """
    path = Path(path)
    where = None if root is None else Path(root)
    statements, missing = read_statements(path, root=where, suffix=group_suffix)
    found = _Found()
    for gone in missing:
        found.ignored.append(Ignored("!include", gone.target, f"not found, {gone.file}"))
    for statement in statements:
        if is_server_group(statement.group, group_suffix):
            found.take(statement)
        else:
            why = f"the group [{statement.group}] is not read by a server"
            found.ignored.append(Ignored(statement.name, statement.value or "", why))
    found.product = product or _guess(statements, found)
    return found.result(str(path))


def plain(statement: Statement) -> tuple[str, str | None]:
    """The name of an option as the server knows it, and its value: dashes are underscores, and
    `skip-x` is `x=0`."""
    name, value = statement.name.replace("-", "_").lower().removeprefix("loose_"), statement.value
    for modifier in _MODIFIERS:
        bare = name.removeprefix(modifier)
        if bare != name and bare in _variables() and value is None:
            return bare, "1" if modifier == "enable_" else "0"
    return name, value


class _Found:
    """The options of a server by name, the last one winning, and what becomes of them."""

    def __init__(self) -> None:
        self.options: dict[str, Statement] = {}
        self.groups: set[str] = set()
        self.plugins: list[str] = []
        self.settings: dict[Engine, dict[str, Setting]] = {engine: {} for engine in ENGINES}
        self.ignored: list[Ignored] = []
        self.notes: list[str] = []
        self.product: Product | None = None

    def take(self, statement: Statement) -> None:
        """Notes an option under its plain name."""
        name, value = plain(statement)
        self.groups.add(statement.group)
        if name in ("plugin_load", "plugin_load_add"):
            self.plugins.append(value or "")
        if name.startswith(("maximum_", "autoset_")):
            why = "it bounds or derives a value and sets none"
            self.ignored.append(Ignored(statement.name, value or "", why))
            return
        self.options.pop(name, None)
        self.options[name] = Statement(statement.file, statement.line, statement.group, name, value)

    def result(self, source: str) -> Imported:
        for name, statement in self.options.items():
            self._convert(name, statement)
        self._redo()
        self._compression()
        self._flushing()
        if self.product == "mysql" and self.settings[btree.NAME]:
            self.settings[btree.NAME]["innodb_server"] = "mysql"
        for engine, settings in self.settings.items():
            self.notes += settle(engine, settings)
        return Imported(
            source=source,
            settings={engine: known for engine, known in self.settings.items() if known},
            product=self.product,
            ignored=tuple(self.ignored),
            notes=tuple(self.notes),
        )

    def _convert(self, name: str, statement: Statement) -> None:
        if name in _TOGETHER:
            return
        try:
            if name == _FAMILY:
                self._families(statement)
            elif name == FLUSH_AT_COMMIT:
                self.settings[lsm.NAME] |= commit_knobs(_whole(statement, 0, 2))
            elif name in _variables():
                engine, knob = _variables()[name]
                self.settings[engine][knob.name] = _value(knob, statement)
            else:
                self.ignored.append(ignored_variable(name, statement.value, statement.line))
        except Refused as refused:
            self.ignored.append(_left_out(statement, refused.why))

    def _families(self, statement: Statement) -> None:
        """The settings of the default family, which are one string."""
        try:
            settings = family_settings(statement.value or "")
            pairs = [pair for setting in settings for pair in knob_texts(*setting)]
        except ValueError as error:
            raise _wrong(statement, str(error)) from error
        for knob, value in pairs:
            if knob not in catalogue(lsm.NAME):
                self.ignored.append(ignored_family_option(knob, value, statement.line))
                continue
            try:
                self.settings[lsm.NAME][knob] = option(knob, value)
            except Refused as refused:
                known = ignored_family_option(knob, value, statement.line)
                self.ignored.append(replace(known, why=refused.why))
                continue
            except ValueError as error:
                found = f"{shown_line(f'{knob}={value}')} in {_FAMILY}"
                raise InputError(statement.file, statement.line, found, str(error)) from error
            if knob == "filter_policy" and value.startswith("rocksdb."):
                self.notes.append(
                    f"filter_policy is taken as {ASSUMED_BLOOM}: {value} hides its bits"
                )

    def _redo(self) -> None:
        """Redo is one size, or a size per file times files; the one size wins."""
        settings, knob = (
            self.settings[btree.NAME],
            catalogue(btree.NAME)["innodb_redo_log_capacity"],
        )
        per_file = self.options.get("innodb_log_file_size")
        files = self.options.get("innodb_log_files_in_group")
        whole = self.options.get(knob.name)
        if whole is not None:
            self._try(whole, lambda: settings.update({knob.name: _value(knob, whole)}))
            for old in filter(None, (per_file, files)):
                why = "innodb_redo_log_capacity wins over it"
                self.ignored.append(Ignored(old.name, old.value or "", why))
            return
        if per_file is None:
            if files is not None:
                why = "it counts only together with innodb_log_file_size"
                self.ignored.append(Ignored(files.name, files.value or "", why))
            return
        count = 1 if self.product == "mariadb" else 2
        if files is not None:
            count = _whole(files, 1, 100)
        elif count == 2:
            self.notes.append("two redo files are assumed, the default of MySQL before 8.0.30")

        def take() -> None:
            settings[knob.name] = admitted(knob, bytes_of(per_file) * count)

        self._try(per_file, take)

    def _compression(self) -> None:
        """MariaDB compresses new tables only where `innodb_compression_default` is on."""
        algorithm = self.options.get("innodb_compression_algorithm")
        usual = self.options.get("innodb_compression_default")
        on = usual is not None and _switch(usual)
        knob = catalogue(btree.NAME)["innodb_compression_algorithm"]

        def take() -> None:
            if algorithm is not None and (on or algorithm.value == "none"):
                self.settings[btree.NAME][knob.name] = _value(knob, algorithm)
            elif on:
                self.settings[btree.NAME][knob.name] = "zlib"
            elif usual is not None:
                self.settings[btree.NAME][knob.name] = "none"
            if algorithm is not None and not on and algorithm.value != "none":
                raise Refused("no table is compressed unless innodb_compression_default is on")

        if algorithm is not None or usual is not None:
            self._try(algorithm or usual, take)

    def _flushing(self) -> None:
        """An `innodb_io_capacity_max` that is not set follows `innodb_io_capacity`."""
        settings = self.settings[btree.NAME]
        capacity = settings.get("innodb_io_capacity")
        if isinstance(capacity, int) and "innodb_io_capacity_max" not in self.options:
            knob = catalogue(btree.NAME)["innodb_io_capacity_max"]
            settings[knob.name] = min(max(2 * capacity, 2000), int(knob.high or 0))
            self.notes.append(
                f"{knob.name} is taken as {settings[knob.name]}: twice innodb_io_capacity, "
                "as the server does"
            )

    def _try(self, statement: Statement | None, action: Callable[[], object]) -> None:
        try:
            action()
        except Refused as refused:
            assert statement is not None, "only an option that is there is refused"
            self.ignored.append(_left_out(statement, refused.why))


@cache
def _variables() -> Mapping[str, tuple[Engine, Knob]]:
    """Server variables that stand for one knob each."""
    found: dict[str, tuple[Engine, Knob]] = {}
    for name, knob in catalogue(btree.NAME).items():
        if name.startswith(btree.DESCRIPTION.variable_prefix):
            found[name] = (btree.NAME, knob)
    myrocks = next(one for one in dialects(lsm.NAME).values() if one.product == "myrocks")
    for knob in catalogue(lsm.NAME).values():
        spelling = knob.spellings[myrocks.name]
        if spelling.place == "variable" and spelling.name != FLUSH_AT_COMMIT:
            found[spelling.name] = (lsm.NAME, knob)
    return found


_TOGETHER = (
    "innodb_log_file_size",
    "innodb_log_files_in_group",
    "innodb_redo_log_capacity",
    "innodb_compression_algorithm",
    "innodb_compression_default",
)
"""Options that mean something only beside one another."""


def _guess(statements: list[Statement], found: _Found) -> Product | None:
    """Whose file it is, by what only one product has."""
    groups = {one.group.split("-")[0] for one in statements}
    names = found.options
    if groups & {"mariadb", "mariadbd", "galera"} or "client-server" in found.groups:
        return "mariadb"
    if any(name in names for name in _MARIADB_ONLY) or "provider_" in " ".join(found.plugins):
        return "mariadb"
    if any(name.startswith("rocksdb_") for name in names):
        return "myrocks"
    return "mysql" if any(name in names for name in _MYSQL_ONLY) else None


def _left_out(statement: Statement, why: str) -> Ignored:
    """A value of an engine's variable that the engine does not have."""
    name, value = statement.name, statement.value or ""
    return Ignored(name, value, why, "left out", engine_of(name), statement.line)


def _value(knob: Knob, statement: Statement) -> Setting:
    """The value of a variable. Raises `InputError` for no value at all, `Refused` for one that
    the engine does not have."""
    value: Setting
    if knob.type == "switch":
        value = _switch(statement)
    elif knob.type in ("size", "integer"):
        value = bytes_of(statement)
    elif knob.type == "number":
        value = float(_text(statement, _NUMBER, "a number"))
    else:
        value = (statement.value or "").lower()
    return admitted(knob, value)


def _switch(statement: Statement) -> bool:
    text = "1" if statement.value is None else statement.value.lower()
    if text in ("1", "on", "true"):
        return True
    if text in ("0", "off", "false"):
        return False
    if statement.name == "innodb_doublewrite":
        if text == "detect_and_recover":
            return True
        if text in ("detect_only", "fast"):
            raise Refused("the engine writes pages twice or once")
    raise _wrong(statement, "ON or OFF")


def bytes_of(statement: Statement) -> int:
    accepted = "a whole number, with K, M, G or T for powers of 1024"
    match = _SIZE.fullmatch(_text(statement, _SIZE, accepted))
    assert match is not None, "the text was just matched"
    return int(match[1]) * int(1024 ** " KMGTPE".index(match[2].upper() or " "))


def _whole(statement: Statement, low: int, high: int) -> int:
    value = bytes_of(statement)
    if not low <= value <= high:
        raise _wrong(statement, f"{low} to {high}")
    return value


def _text(statement: Statement, pattern: re.Pattern[str], accepted: str) -> str:
    if statement.value is None or not pattern.fullmatch(statement.value):
        raise _wrong(statement, accepted)
    return statement.value


def _wrong(statement: Statement, accepted: str) -> InputError:
    found = statement.name if statement.value is None else f"{statement.name}={statement.value}"
    return InputError(statement.file, statement.line, shown_line(found), accepted)
