"""Writing a file whole or not at all: write beside it, make it durable, rename it over."""

from __future__ import annotations

import errno
import os
import secrets
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from advisor import files
from advisor.errors import InputError, TunebenchError, WorkError


def check_target(path: Path | str, force: bool) -> None:
    """Refuses what `write_text` would refuse, before long work whose result it is to keep.

    Raises `InputError` if `path` is a folder, exists while `force` is false, or lies where nothing
    can be written.
    """
    target = Path(path)
    if not target.name or files.is_folder(target):
        raise InputError(target, None, "a folder", "the name of a file")
    if files.exists(target):
        files.check_regular(target, "the name of a file")
        if not force:
            raise InputError(target, None, "a file that exists already", "a new name, or --force")
    try:
        _check_writable(_resolved(target))
    except (OSError, ValueError) as error:
        raise _failure(path, error) from error


def write_text(path: Path | str, text: str, force: bool) -> None:
    """Writes `text` as UTF-8 to `path`; what was read as bytes of another encoding is written as
    them.

    Raises `InputError` as `check_target` does, `WorkError` if the disk is full. In every case the
    old content, or its absence, is kept.
    """
    check_target(path, force)
    # A link keeps pointing where it pointed: its target is replaced.
    try:
        target = _resolved(Path(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, _writing(text.encode("utf-8", "surrogateescape")))
    except (OSError, ValueError) as error:
        raise _failure(path, error) from error


def write_by(path: Path | str, write: Callable[[Path], None], force: bool) -> None:
    """Has `write` make a file beside `path`, and moves it there. Raises as `write_text` does, and
    what `write` raises."""
    check_target(path, force)
    try:
        target = _resolved(Path(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, write)
    except (OSError, ValueError) as error:
        raise _failure(path, error) from error


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file of this program's own, over what may be there. Raises as `write_text` does."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, _writing(content))
    except OSError as error:
        raise _failure(path, error) from error


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except RuntimeError as error:  # what Python 3.11 says of links in a circle
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from error


def _check_writable(target: Path) -> None:
    """Raises `OSError` if no file of this name could be made, or replaced."""
    folder = target.parent
    while not folder.exists():
        folder = folder.parent
    with tempfile.TemporaryFile(dir=folder):
        pass
    with suppress(FileNotFoundError):
        (folder / _beside(target).name).lstat()


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}")


def _writing(content: bytes) -> Callable[[Path], None]:
    def write(beside: Path) -> None:
        with beside.open("xb") as file:
            file.write(content)

    return write


def _replace(target: Path, write: Callable[[Path], None]) -> None:
    beside = _beside(target)
    try:
        write(beside)
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        if target.exists():
            beside.chmod(target.stat().st_mode & 0o777)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _failure(path: Path | str, error: OSError | ValueError) -> TunebenchError:
    reason = files.reason(error).lower()
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return WorkError(f"{path}: {reason}")
    return InputError(path, None, reason, "a path that can be written")
