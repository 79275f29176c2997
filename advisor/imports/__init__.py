"""What the user has: settings read from a my.cnf or an OPTIONS file, in engine knobs."""

from __future__ import annotations

from pathlib import Path

from advisor.errors import InputError
from advisor.imports.imported import WEIGHTS, Ignored, Imported, Weight
from advisor.imports.mycnf import read_mycnf
from advisor.imports.options_file import newest_options, read_options

__all__ = [
    "WEIGHTS",
    "Ignored",
    "Imported",
    "Weight",
    "read",
    "read_mycnf",
    "read_options",
]


def read(path: str | Path, *, root: str | Path | None = None) -> Imported:
    """Reads a my.cnf, an OPTIONS file, or the newest OPTIONS file of a RocksDB directory.

    The content decides which it is. `root` is where absolute paths of includes start.
    """
    path = Path(path)
    if path.is_dir():
        return read_options(newest_options(path))
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(path, None, error.strerror or str(error), "a readable file") from error
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line.startswith("[")), "")
    if first.startswith(("[Version", "[DBOptions", "[CFOptions")):
        return read_options(path)
    return read_mycnf(path, root=root)
