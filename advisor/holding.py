"""A file that says who holds something. Its process keeps it locked (`flock`) for as long as it
lives, so that what a dead one held is free without anybody cleaning up, and a process number that
was given out again misleads nobody.

A file is written only while it is locked: one that names an owner was locked by that owner.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

MACHINE_FILES = (Path("/etc/machine-id"), Path("/proc/sys/kernel/random/boot_id"))
MOST_BYTES = 4096


@dataclass(frozen=True)
class Owner:
    """A process that holds a file."""

    pid: int
    host: str
    machine: str
    """What tells hosts of one name apart; empty where the system has no such thing."""

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"

    @property
    def is_of_this_machine(self) -> bool:
        """Whether a lock that this process can take was lost by the death of the owner. Of other
        machines nothing is known: their locks may not be seen here."""
        return (self.host, self.machine) == (platform.node(), _machine())


class Held(Exception):
    """Another process holds the file. Its owner is unknown while it writes its name."""

    def __init__(self, owner: Owner | None) -> None:
        super().__init__(str(owner) if owner is not None else "another process")
        self.owner = owner


class Hold:
    """A file that this process holds until `release`, or its end."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path, self._descriptor = path, descriptor

    def release(self) -> None:
        """Removes the file and lets it go."""
        try:
            self._path.unlink(missing_ok=True)
        finally:
            self.leave()

    def leave(self) -> None:
        """Lets the file go and leaves it there, as the death of this process would."""
        os.close(self._descriptor)


def take(path: Path) -> Hold:
    """Takes the file, making it if need be. Raises `Held` if another process has it, and `OSError`
    where no file can be made or locked."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        try:
            if not _lock(descriptor):
                raise Held(_owner(descriptor))
            if _is_still(path, descriptor):
                _sign(descriptor)
                return Hold(path, descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        # Its holder released it between our opening and our locking: ours has no name any more.
        os.close(descriptor)


def take_over(path: Path) -> Hold | None:
    """Takes the file of an owner on this machine that died; `None` if there is no such file, or if
    its owner lives or may live."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        owner = _owner(descriptor)
        dead = owner is not None and owner.is_of_this_machine and _lock(descriptor)
        if dead and _is_still(path, descriptor):
            return Hold(path, descriptor)
    except OSError:
        pass
    os.close(descriptor)
    return None


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _sign(descriptor: int) -> None:
    owner = Owner(os.getpid(), platform.node(), _machine())
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(asdict(owner)).encode(), 0)


def _owner(descriptor: int) -> Owner | None:
    try:
        found = json.loads(os.pread(descriptor, MOST_BYTES, 0))
        return Owner(int(found["pid"]), str(found["host"]), str(found["machine"]))
    except (ValueError, KeyError, TypeError):
        return None


def _machine() -> str:
    for file in MACHINE_FILES:
        try:
            text = file.read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            continue
        if text:
            return text
    return ""
