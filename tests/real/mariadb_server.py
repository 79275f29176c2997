"""A private MariaDB: its own directory, its own socket, no network, gone when the test ends."""

from __future__ import annotations

import getpass
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SERVER = shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin")
INSTALL = shutil.which("mariadb-install-db")
CLIENT = shutil.which("mariadb")

MISSING = "mariadb-server is not installed: no mariadbd, mariadb-install-db or mariadb"
MARKS = [pytest.mark.real, pytest.mark.skipif(None in (SERVER, INSTALL, CLIENT), reason=MISSING)]
"""Of the tests that it judges."""
_TIME = re.compile(r"^\d+-\d+-\d+\s+\d+:\d+:\d+ \d+ ")


def has_rocksdb() -> bool:
    """Whether the MyRocks plugin is installed beside the server."""
    folders = (Path("/usr/lib/mysql/plugin"), Path("/usr/lib/mariadb/plugin"))
    return any((folder / "ha_rocksdb.so").is_file() for folder in folders)


def has_provider(name: str) -> bool:
    """Whether a compression provider is installed."""
    return Path(f"/usr/lib/mysql/plugin/provider_{name}.so").is_file()


def install(directory: Path, *options: str) -> Path:
    """A fresh data directory."""
    data = directory / "data"
    subprocess.run(
        [
            str(INSTALL),
            "--no-defaults",
            f"--datadir={data}",
            f"--user={getpass.getuser()}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            *options,
        ],
        check=True,
        capture_output=True,
    )
    return data


def complaints(output: str) -> list[str]:
    """Warnings and errors, without their time stamps."""
    lines = (_TIME.sub("", line) for line in output.splitlines())
    return [line for line in lines if "[Warning]" in line or "[ERROR]" in line]


def help_output(cnf: Path, empty: Path, *options: str) -> tuple[int, list[str]]:
    """What the server says about a file without starting an engine: exit code, complaints."""
    empty.mkdir(exist_ok=True)
    done = subprocess.run(
        [
            str(SERVER),
            f"--defaults-file={cnf}",
            f"--user={getpass.getuser()}",
            f"--datadir={empty}",
            *options,
            "--verbose",
            "--help",
        ],
        capture_output=True,
        text=True,
    )
    return done.returncode, complaints(done.stderr)


def own_defaults(*options: str) -> dict[str, str]:
    """What the server says of its variables without any file, names with underscores."""
    command = [str(SERVER), "--no-defaults", *options, "--verbose", "--help"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = (line.split(maxsplit=1) for line in listed.splitlines())
    return {row[0].replace("-", "_"): row[1].strip() for row in rows if len(row) == 2}


class RunningServer:
    """A server that takes queries. `log` is what it said while starting."""

    def __init__(self, socket: Path, log: str) -> None:
        self.socket = socket
        self.log = log

    def rows(self, query: str) -> list[list[str]]:
        """The answer, as text."""
        done = subprocess.run(
            [str(CLIENT), "--no-defaults", f"--socket={self.socket}", "-NB", "-e", query],
            check=True,
            capture_output=True,
            text=True,
        )
        return [line.split("\t") for line in done.stdout.splitlines()]

    def pages_in_pool(self, table: str, index: str) -> int:
        """Pages of an index in the buffer pool, less the root."""
        query = (
            "select count(*) from information_schema.innodb_buffer_page"
            f" where table_name like '%{table}%' and index_name = '{index}'"
        )
        return max(0, int(self.rows(query)[0][0]) - 1)

    def sysbench(self, rows: int, *arguments: str) -> None:
        """sysbench on one table of so many rows, whose keys are drawn uniformly."""
        own = ("--db-driver=mysql", f"--mysql-socket={self.socket}", "--mysql-user=root")
        command = ["sysbench", *own, f"--table-size={rows}", "--rand-type=uniform", *arguments]
        subprocess.run(command, check=True, capture_output=True)

    def pairs(self, query: str) -> dict[str, str]:
        """The answer of a query for names and values."""
        return {name: value for name, value, *_ in self.rows(query)}


@contextmanager
def running(cnf: Path, data: Path, *options: str) -> Iterator[RunningServer]:
    """A server with this file, until the block ends. Fails with its log if it does not start."""
    socket = data.parent / "s.sock"
    process = subprocess.Popen(
        [
            str(SERVER),
            f"--defaults-file={cnf}",
            f"--user={getpass.getuser()}",
            f"--datadir={data}",
            f"--socket={socket}",
            f"--pid-file={data.parent / 'pid'}",
            "--skip-networking",
            "--skip-grant-tables",
            "--skip-log-error",
            *options,
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    log = []
    try:
        for line in process.stderr:
            log.append(line)
            if "ready for connections" in line:
                break
        else:
            raise AssertionError("the server did not start:\n" + "".join(log))
        yield RunningServer(socket, "".join(log))
    finally:
        process.terminate()
        process.communicate(timeout=120)


@contextmanager
def cold(directory: Path, data: Path) -> Iterator[RunningServer]:
    """A server with an empty buffer pool, that leaves nothing to do behind."""
    cnf = directory / "my.cnf"
    cnf.write_text("[mysqld]\ninnodb_fast_shutdown = 0\n")
    options = ("--innodb-buffer-pool-dump-at-shutdown=0", "--innodb-stats-auto-recalc=0")
    with running(cnf, data, *options) as server:
        yield server
