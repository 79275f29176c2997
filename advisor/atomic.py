"""Writing a file whole or not at all: write beside it, make it durable, rename it over."""

from __future__ import annotations

import errno
import os
import secrets
import tempfile
from pathlib import Path

from advisor.errors import InputError, TunebenchError, WorkError


def check_target(path: Path | str, force: bool) -> None:
    """Refuses what `write_text` would refuse, before long work whose result it is to keep.

    Raises `InputError` if `path` is a folder, exists while `force` is false, or lies where nothing
    can be written.
    """
    target = Path(path)
    if target.is_dir():
        raise InputError(target, None, "a folder", "the name of a file")
    if target.exists() and not force:
        raise InputError(target, None, "a file that exists already", "a new name, or --force")
    folder = target.resolve().parent
    while not folder.exists():
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _failure(path, error) from error


def write_text(path: Path | str, text: str, force: bool) -> None:
    """Writes `text` as UTF-8 to `path`.

    Raises `InputError` as `check_target` does, `WorkError` if the disk is full. In every case the
    old content, or its absence, is kept.
    """
    check_target(path, force)
    # A link keeps pointing where it pointed: its target is replaced.
    target = Path(path).resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, text.encode())
    except OSError as error:
        raise _failure(path, error) from error


def _replace(target: Path, content: bytes) -> None:
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            beside.chmod(target.stat().st_mode & 0o777)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _failure(path: Path | str, error: OSError) -> TunebenchError:
    reason = (error.strerror or str(error)).lower()
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return WorkError(f"{path}: {reason}")
    return InputError(path, None, reason, "a path that can be written")
