"""A SQL server on this machine, and a run of our own engines as one of its: the same workload by
the statements of its scripts, the same settings as a my.cnf."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from advisor import dialects
from advisor.engines import Engine
from advisor.errors import InputError
from advisor.knobs import Setting, Settings
from advisor.spec import Spec

OPTION = "--server"
Storage = Literal["innodb", "myrocks"]
_MYROCKS = "myrocks-mariadb-10.11"
_OLDEST = "mariadb-10.11"
ENGINE_OF: dict[Storage, Engine] = {
    "innodb": dialects.engine_of(_OLDEST),
    "myrocks": dialects.engine_of(_MYROCKS),
}
"""Whose settings each takes."""
_PROGRAMS = ("mariadbd", "mysqld")
_FOLDERS = "/usr/sbin:/usr/libexec"
"""Where servers are that are on nobody's search path."""
_PLUGIN = "ha_rocksdb.so"
_PLUGIN_FOLDERS = (
    "/usr/lib/mysql/plugin",
    "/usr/lib/mariadb/plugin",
    "/usr/lib64/mysql/plugin",
    "/usr/lib64/mariadb/plugin",
    "/usr/local/lib/mysql/plugin",
)
_VERSION = re.compile(r"Ver (\d+)\.(\d+)\S*")
_INTERVAL_MS = 1000
"""Each interval asks the server for all its counters, which takes it some milliseconds."""


@dataclass(frozen=True)
class Server:
    """A program that serves SQL with one of two engines."""

    path: str
    storage: Storage
    dialect: str
    """In whose words its settings go out."""

    @property
    def engine(self) -> Engine:
        """Whose settings it takes."""
        return ENGINE_OF[self.storage]


def find_server(storage: Storage, named: Path | None = None) -> Server:
    """The server that the user names, else the system's. Raises `InputError` if there is none, or
    none with that engine."""
    found = named or _on_this_machine()
    if found is None:
        accepted = "mariadb-server installed, or --server PATH: a mariadbd or mysqld"
        raise InputError(OPTION, None, "no server on this machine", accepted)
    if not found.is_file():
        raise InputError(OPTION, None, f"{found}: no such file", "a mariadbd or mysqld")
    if storage == "myrocks" and named is None and plugin_folder() is None:
        accepted = "mariadb-plugin-rocksdb installed, or --server PATH: one that has MyRocks"
        raise InputError(OPTION, None, f"{found} without {_PLUGIN}", accepted)
    return Server(str(found.absolute()), storage, _dialect(storage, found))


def server_spec(spec: Spec, server: Server) -> tuple[Spec, list[str]]:
    """The measured run of one of our engines as one of the server's, and notes on settings that
    the server does not have or raises."""
    served, notes = as_served(spec["options"], server)
    file = dialects.fresh(server.dialect, _without_tables(served)).text
    real = {"server": server.path, "options_file": file, "table_options": _tables(served)}
    changed = {**spec, "engine": server.storage, "clock": "real", "options": real}
    changed["interval_ms"] = _INTERVAL_MS
    changed.pop("memory_limit", None)
    return cast(Spec, changed), notes


def as_served(options: Settings, server: Server) -> tuple[dict[str, Setting], list[str]]:
    """What the server has when it is asked for these settings, and notes on what is otherwise."""
    fresh = dialects.fresh(server.dialect, _without_tables(options))
    served, notes = {**options, **fresh.settings}, list(fresh.notes)
    if (indexes := options.get("compressed_indexes", _WHOLE)) != _WHOLE:
        served["compressed_indexes"] = _WHOLE
        notes.append(f"compressed_indexes {indexes} ran as all: a row format is of whole tables")
    return served, notes


_WHOLE = "all"
_OF_TABLES = ("key_block_size", "compressed_indexes", "merge_threshold")
"""Settings that InnoDB takes when a table is created."""


def _without_tables(options: Settings) -> Settings:
    return {name: value for name, value in options.items() if name not in _OF_TABLES}


def _tables(options: Settings) -> str:
    """What follows CREATE TABLE."""
    words = []
    if block := int(options.get("key_block_size", 0)):
        words.append(f"ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE={block // 1024}")
    if (threshold := options.get("merge_threshold", 50)) != 50:
        words.append(f"COMMENT='MERGE_THRESHOLD={threshold}'")
    return " ".join(words)


def _on_this_machine() -> Path | None:
    for program in _PROGRAMS:
        found = shutil.which(program) or shutil.which(program, path=_FOLDERS)
        if found is not None:
            return Path(found)
    return None


def plugin_folder() -> Path | None:
    """Where the system's MyRocks plugin is; None without one."""
    folders = map(Path, _PLUGIN_FOLDERS)
    return next((folder for folder in folders if (folder / _PLUGIN).is_file()), None)


def _dialect(storage: Storage, server: Path) -> str:
    """The dialect of the newest version that is not newer than the server's."""
    try:
        asked = [str(server), "--no-defaults", "--version"]
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(OPTION, None, f"{server}: {error}", "a mariadbd or mysqld") from error
    version = _VERSION.search(answer)
    if version is None:
        accepted = "a mariadbd or mysqld"
        raise InputError(OPTION, None, f"{server}, which does not say a server's version", accepted)
    if storage == "myrocks":
        return _MYROCKS
    if "MariaDB" not in answer:
        return "mysql-8.4"
    return "mariadb-11.4" if (int(version[1]), int(version[2])) >= (11, 4) else _OLDEST
