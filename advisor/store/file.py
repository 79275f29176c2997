"""Opening the results file late and closing it early, so that several processes can share it.

DuckDB lets one process write at a time, and keeps readers out meanwhile. An operation here holds
the file for some tens of milliseconds; whoever finds it held tries again a few times before giving
up. Within this process a lock per thread of work does the same, because DuckDB refuses two
connections with different rights to one file.
"""

from __future__ import annotations

import os
import random
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.errors import InputError, TunebenchError, WorkError
from advisor.store import schema

if TYPE_CHECKING:
    import duckdb

PATIENCE_SECONDS = 5.0
WRITABLE = "a path that can be written"
_in_this_process = threading.RLock()


def default_path() -> Path:
    """`$TUNEBENCH_RESULTS`, else `tunebench/results.duckdb` under `$XDG_DATA_HOME` or
    `~/.local/share`."""
    chosen = os.environ.get("TUNEBENCH_RESULTS")
    if chosen:
        return Path(chosen).expanduser()
    data_home = os.environ.get("XDG_DATA_HOME")
    base = Path(data_home) if data_home else Path.home() / ".local" / "share"
    return base / "tunebench" / "results.duckdb"


@contextmanager
def writing(
    path: Path, patience_s: float = PATIENCE_SECONDS
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection inside one transaction: committed at the end of the block, rolled back if it
    raises.

    Creates the file and brings its tables up to date. Raises `InputError` if another process keeps
    the file or if it is no results file, `WorkError` if the disk is full.
    """
    import duckdb

    with _in_this_process, _worded(path):
        _make_folder(path)
        connection = _open(path, False, patience_s)
        try:
            _bring_up_to_date(connection, path)
            connection.execute("BEGIN")
            try:
                yield connection
            except BaseException:
                _roll_back(connection, duckdb.Error)
                raise
            connection.execute("COMMIT")
        finally:
            connection.close()


@contextmanager
def reading(
    path: Path, patience_s: float = PATIENCE_SECONDS
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that can neither change the file nor touch any other. The file must exist."""
    with _in_this_process, _worded(path):
        connection = _open(path, True, patience_s)
        try:
            if schema.version_of(connection) < len(schema.MIGRATIONS):
                connection.close()
                with writing(path, patience_s):
                    pass
                connection = _open(path, True, patience_s)
            _refuse_newer(connection, path)
            yield connection
        finally:
            connection.close()


def _open(path: Path, read_only: bool, patience_s: float) -> duckdb.DuckDBPyConnection:
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {}
    if read_only:
        config["enable_external_access"] = False
    give_up = time.monotonic() + patience_s
    while True:
        try:
            return duckdb.connect(str(path), read_only=read_only, config=config)
        except duckdb.IOException as error:
            if "Could not set lock" not in str(error) or time.monotonic() >= give_up:
                raise
        time.sleep(random.uniform(0.01, 0.1))


def _bring_up_to_date(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    version = schema.version_of(connection)
    if version < len(schema.MIGRATIONS):
        schema.migrate(connection, version)
    _refuse_newer(connection, path)


def _refuse_newer(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    version = schema.version_of(connection)
    if version > len(schema.MIGRATIONS):
        known = len(schema.MIGRATIONS)
        raise InputError(
            path,
            None,
            f"results of a newer tunebench (version {version})",
            f"results of version {known} or older",
        )


def _roll_back(connection: duckdb.DuckDBPyConnection, refused: type[Exception]) -> None:
    try:
        connection.execute("ROLLBACK")
    except refused:
        # After a fatal error DuckDB has rolled back by itself and answers nothing more.
        return


def _make_folder(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            path, None, f"a folder that cannot be made ({error.strerror})", WRITABLE
        ) from error


@contextmanager
def _worded(path: Path) -> Iterator[None]:
    """Turns DuckDB's exceptions into this library's."""
    import duckdb

    try:
        yield
    except TunebenchError:
        raise
    except duckdb.Error as error:
        raise _in_our_words(path, str(error)) from error


def _in_our_words(path: Path, message: str) -> TunebenchError:
    holder = re.search(r"\(PID (\d+)\)", message)
    if "Could not set lock" in message:
        who = f"process {holder.group(1)}" if holder else "another process"
        return InputError(
            path, None, f"results held by {who}", "its end, or another file with --results"
        )
    if "not a valid DuckDB database" in message or "Is a directory" in message:
        return InputError(
            path, None, "something else than results", "a DuckDB file made by tunebench"
        )
    if any(
        sign in message for sign in ("No space left", "File too large", "disk full", "Disk quota")
    ):
        return WorkError(f"{path}: the disk is full; what was stored before is kept")
    if "Cannot open file" in message or "Permission denied" in message:
        return InputError(path, None, _first_line(message), WRITABLE)
    return WorkError(f"{path}: {_first_line(message)}")


def _first_line(message: str) -> str:
    return message.strip().splitlines()[0]
