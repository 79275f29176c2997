"""A folder of its own for the files of one run."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from advisor.errors import InputError


@contextmanager
def folder(directory: Path | None) -> Iterator[Path]:
    """A new folder under `directory`, or where the system keeps temporary files, removed whatever
    happens. Raises `InputError` if none can be made there."""
    try:
        made = Path(tempfile.mkdtemp(prefix="tunebench-", dir=directory))
    except OSError as error:
        place = directory or tempfile.gettempdir()
        reason = error.strerror or str(error)
        raise InputError(place, None, reason, "a folder for temporary files") from error
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
