"""Writing a file whole or not at all: write beside it, make it durable, rename it over."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

from advisor.errors import InputError, WorkError


def write_text(path: Path | str, text: str, force: bool) -> None:
    """Writes `text` as UTF-8 to `path`.

    Raises `InputError` if the file exists and `force` is false, or if the path cannot be written;
    `WorkError` if the disk is full. In every case the old content, or its absence, is kept.
    """
    target = Path(path)
    if target.is_dir():
        raise InputError(target, None, "a folder", "the name of a file")
    if target.exists() and not force:
        raise InputError(target, None, "a file that exists already", "a new name, or --force")
    # A link keeps pointing where it pointed: its target is replaced.
    target = target.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, text.encode())
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise WorkError(f"{path}: {_reason(error)}") from error
        raise InputError(path, None, _reason(error), "a path that can be written") from error


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


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
