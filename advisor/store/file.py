"""Opening the results file late and closing it early, so that several processes can share it.

DuckDB lets one process write at a time, and keeps readers out meanwhile. An operation here holds
the file for some tens of milliseconds; whoever finds it held tries again a few times before giving
up. Threads of this process wait for one another, because DuckDB refuses two connections with
different rights to one file.
"""

from __future__ import annotations

import os
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from platformdirs import user_data_path

from advisor.atomic import check_target
from advisor.errors import InputError, TunebenchError, WorkError
from advisor.files import check_regular, exists, expanded, reason
from advisor.store import schema

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")

PATIENCE_SECONDS = 5.0
OURS = "a DuckDB file made by tunebench"
MAGIC, MAGIC_AT = b"DUCK", 8
"""What every DuckDB file says behind the checksum of its header."""
WRITABLE = "a path that can be written"
_in_this_process = threading.RLock()


def default_path() -> Path:
    """`$TUNEBENCH_RESULTS`, else `results.duckdb` in the user's folder for data of this program
    (`$XDG_DATA_HOME/tunebench` or `~/.local/share/tunebench` on Linux)."""
    chosen = os.environ.get("TUNEBENCH_RESULTS")
    if chosen:
        return expanded(chosen)
    return user_data_path("tunebench", appauthor=False) / "results.duckdb"


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
        _refuse_foreign(path, patience_s)
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
    path: Path, patience_s: float = PATIENCE_SECONDS, *, into: Path | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that can neither change the file nor touch any other but `into`. The file must
    exist.

    Results of an older version are brought up to date in memory, and stay on disk as they are.
    """
    with _in_this_process, _worded(path):
        _refuse_other_formats(path)
        connection = _open(path, True, patience_s, into)
        try:
            if _known_version(connection, path) < len(schema.MIGRATIONS):
                connection.close()
                connection = _newer_copy(path, patience_s, into)
            yield connection
        finally:
            connection.close()


def check(path: Path, patience_s: float = PATIENCE_SECONDS) -> None:
    """Raises `InputError` if the file is no results file, or none can be made there."""
    _place(path)
    if exists(path):
        with reading(path, patience_s):
            pass
    check_target(path, force=True)


def _refuse_foreign(path: Path, patience_s: float) -> None:
    """What DuckDB itself has left in a log beside the file is written where a connection may write:
    so such a file is looked at without that right first."""
    if not exists(path):
        return
    _refuse_other_formats(path)
    if not exists(path.with_name(f"{path.name}.wal")):
        return
    connection = _open(path, True, patience_s)
    try:
        _known_version(connection, path)
    finally:
        connection.close()


def _refuse_other_formats(path: Path) -> None:
    """DuckDB opens files of other products too, and goes to the network for what it needs to."""
    check_regular(path, OURS)
    try:
        with path.open("rb") as file:
            head = file.read(MAGIC_AT + len(MAGIC))
    except OSError as error:
        raise InputError(path, None, reason(error), OURS) from error
    if head[MAGIC_AT:] != MAGIC:
        raise InputError(path, None, "something else than results", OURS)


def _known_version(connection: duckdb.DuckDBPyConnection, path: Path) -> int:
    """The version of our tables in this file. Raises `InputError` if it holds other tables."""
    version = schema.version_of(connection)
    if version is None:
        raise InputError(path, None, "a DuckDB file of something else", OURS)
    known = len(schema.MIGRATIONS)
    if version > known:
        raise InputError(
            path,
            None,
            f"results of a newer tunebench (version {version})",
            f"results of version {known} or older",
        )
    return version


def _open(
    path: Path, read_only: bool, patience_s: float, into: Path | None = None
) -> duckdb.DuckDBPyConnection:
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {}
    if read_only and into is None:
        config["enable_external_access"] = False
    place = _place(path)
    connection = _patiently(
        lambda: duckdb.connect(place, read_only=read_only, config=config), patience_s
    )
    if into is not None:
        _shut_in(connection, into)
    return connection


def _shut_in(connection: duckdb.DuckDBPyConnection, into: Path | None) -> None:
    """Leaves a connection no file but this one. DuckDB takes the list only while all are open."""
    if into is not None:
        connection.execute("SET allowed_paths = [?]", [_place(into)])
    connection.execute("SET enable_external_access = false")


def _place(path: Path) -> str:
    """The path as DuckDB takes it: from the root, because `:memory:` and `md:x` are no files to it,
    and in UTF-8."""
    place = str(path.absolute())
    if "\0" in place or place.encode(errors="ignore").decode() != place:
        raise InputError(path, None, "no name of a file", "a name in UTF-8")
    return place


def _newer_copy(path: Path, patience_s: float, into: Path | None) -> duckdb.DuckDBPyConnection:
    """What an older file holds, in memory and up to date."""
    import duckdb

    connection = duckdb.connect()
    try:
        source = _place(path).replace("'", "''")
        attach = f"ATTACH '{source}' AS older (READ_ONLY)"
        _patiently(lambda: connection.execute(attach), patience_s)
        connection.execute("COPY FROM DATABASE older TO memory")
        connection.execute("DETACH older")
        _shut_in(connection, into)
        _bring_up_to_date(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _patiently(attempt: Callable[[], T], patience_s: float) -> T:
    """Tries again while another process keeps the file."""
    import duckdb

    give_up = time.monotonic() + patience_s
    while True:
        try:
            return attempt()
        except duckdb.IOException as error:
            if "Could not set lock" not in str(error) or time.monotonic() >= give_up:
                raise
        time.sleep(random.uniform(0.01, 0.1))


def _bring_up_to_date(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    version = _known_version(connection, path)
    if version < len(schema.MIGRATIONS):
        schema.migrate(connection, version)


def _roll_back(connection: duckdb.DuckDBPyConnection, refused: type[Exception]) -> None:
    try:
        connection.execute("ROLLBACK")
    except refused:
        # After a fatal error DuckDB has rolled back by itself and answers nothing more.
        return


def _make_folder(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        found = f"a folder that cannot be made ({reason(error)})"
        raise InputError(path, None, found, WRITABLE) from error


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
    if any(sign in message for sign in ("not a valid DuckDB database", "Could not read enough")):
        return InputError(path, None, "a damaged DuckDB file", OURS)
    if "cannot encode str as UTF-8" in message:
        return InputError(path, None, "a name that is not UTF-8", "the name of a study or a run")
    if "encrypted" in message:
        return InputError(path, None, "an encrypted DuckDB file", OURS)
    if any(
        sign in message for sign in ("No space left", "File too large", "disk full", "Disk quota")
    ):
        return WorkError(f"{path}: the disk is full; what was stored before is kept")
    if "Cannot open file" in message or "Permission denied" in message:
        return InputError(path, None, _first_line(message), WRITABLE)
    return WorkError(f"{path}: {_first_line(message)}")


def _first_line(message: str) -> str:
    return message.strip().splitlines()[0]
