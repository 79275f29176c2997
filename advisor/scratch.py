"""A folder of its own for the files of one run, and the end of those whose process was killed.

A folder holds the files of the run apart from the file that its process holds (`holding`). Only
what has such a file, of a process of this machine that is dead, is removed by others.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from advisor import holding
from advisor.errors import InputError

PREFIX = "tunebench-"
OWNER = "owner"
FILES = "files"


@contextmanager
def folder(directory: Path | None) -> Iterator[Path]:
    """A new folder under `directory`, or where the system keeps temporary files, removed whatever
    happens. Raises `InputError` if none can be made there."""
    sweep(directory)
    try:
        made = Path(tempfile.mkdtemp(prefix=PREFIX, dir=directory))
        hold = _owned(made)
        (made / FILES).mkdir()
    except OSError as error:
        place = directory or tempfile.gettempdir()
        reason = error.strerror or str(error)
        raise InputError(place, None, reason, "a folder for temporary files") from error
    try:
        yield made / FILES
    finally:
        _remove(made, hold)


def sweep(directory: Path | None) -> None:
    """Removes what killed processes left under `directory`, or where the system keeps temporary
    files. Once in a process: who is killed later is the next one's."""
    _sweep(Path(directory or tempfile.gettempdir()).absolute())


@cache
def _sweep(parent: Path) -> None:
    try:
        found = [Path(entry) for entry in os.scandir(parent) if _may_be_ours(entry)]
    except OSError:
        return
    for left in found:
        hold = holding.take_over(left / OWNER)
        if hold is not None:
            _remove(left, hold)


def _may_be_ours(entry: os.DirEntry[str]) -> bool:
    if not entry.name.startswith(PREFIX):
        return False
    try:
        mine = entry.stat(follow_symlinks=False).st_uid == os.getuid()
        return mine and entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _owned(made: Path) -> holding.Hold | None:
    """Where a file system has no locks nobody can tell whether the owner lives: nobody sweeps."""
    try:
        return holding.take(made / OWNER)
    except OSError:
        (made / OWNER).unlink(missing_ok=True)
        return None


def _remove(made: Path, hold: holding.Hold | None) -> None:
    """The owner's file goes last, and stays beside files that cannot be removed now: what is left
    here can be swept later."""
    shutil.rmtree(made / FILES, ignore_errors=True)
    if hold is not None and (made / FILES).exists():
        hold.leave()
        return
    if hold is not None:
        hold.release()
    shutil.rmtree(made, ignore_errors=True)
