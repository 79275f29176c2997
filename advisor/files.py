"""Reads the files that a user names: regular files of a bounded size.

A name may stand for anything: a pipe that never answers, a device without an end, a loop of links,
no possible path at all. Nothing here waits, none of it is read, and all of it is an `InputError`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from advisor.errors import InputError
from advisor.sizes import format_size

MOST_BYTES = 16 << 20

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """The content of a regular file. Raises `InputError`."""
    accepted = f"a readable file of at most {format_size(most)}"
    check_regular(path, accepted)
    try:
        # Without waiting: what is at this name may be a pipe by now.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        with os.fdopen(descriptor, "rb") as file:
            _check_kind(path, os.fstat(descriptor), accepted)
            content = file.read(most + 1)
    except OSError as error:
        raise InputError(path, None, reason(error), accepted) from error
    if len(content) > most:
        raise InputError(path, None, f"a file of more than {format_size(most)}", accepted)
    return content


def read_text(path: Path, most: int = MOST_BYTES, *, errors: str = "strict") -> str:
    """The content of a regular file in UTF-8. Raises `InputError`."""
    try:
        return read_bytes(path, most).decode("utf-8", errors)
    except UnicodeDecodeError as error:
        raise InputError(path, None, "bytes that are not UTF-8", "text in UTF-8") from error


def check_regular(path: Path, accepted: str) -> None:
    """Refuses what is no regular file, without opening it."""
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        raise InputError(path, None, reason(error), accepted) from error
    _check_kind(path, found, accepted)


def is_file(path: Path) -> bool:
    """Whether a regular file is there; False too for what cannot be a path."""
    return _has(path, stat.S_ISREG)


def is_folder(path: Path) -> bool:
    """Whether a folder is there; False too for what cannot be a path."""
    return _has(path, stat.S_ISDIR)


def expanded(text: str) -> Path:
    """What was typed as a path, with `~` as the shell takes it: a user that nobody knows stays."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def members(folder: Path) -> list[Path]:
    """What is in a folder, by name. Raises `InputError`."""
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise InputError(folder, None, reason(error), "a readable folder") from error


def exists(path: Path) -> bool:
    """Whether anything is there; False too for what cannot be a path."""
    return _has(path, lambda _mode: True)


def reason(error: OSError | ValueError) -> str:
    """Why the operating system refused, in its words."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _has(path: Path, kind: Callable[[int], bool]) -> bool:
    try:
        return kind(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def _check_kind(path: Path, found: os.stat_result, accepted: str) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for test, name in _KINDS if test(found.st_mode)), "no regular file")
        raise InputError(path, None, kind, accepted)
