"""What the user has: settings read from a my.cnf or an OPTIONS file, in engine knobs."""

from __future__ import annotations

from pathlib import Path

from advisor import files
from advisor.imports.current import current_settings
from advisor.imports.imported import WEIGHTS, Ignored, Imported, Weight
from advisor.imports.mycnf import read_mycnf
from advisor.imports.options_file import newest_options, read_options

__all__ = [
    "WEIGHTS",
    "Ignored",
    "Imported",
    "Weight",
    "current_settings",
    "read",
    "read_mycnf",
    "read_options",
]


def read(path: str | Path, *, root: str | Path | None = None) -> Imported:
    """Reads a my.cnf, an OPTIONS file, or the newest OPTIONS file of a RocksDB directory.

    The content decides which it is. `root` is where absolute paths of includes start.
    """
    path = Path(path)
    if files.is_folder(path):
        return read_options(newest_options(path))
    text = files.read_text(path, errors="replace")
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line.startswith("[")), "")
    if first.startswith(("[Version", "[DBOptions", "[CFOptions")):
        return read_options(path)
    return read_mycnf(path, root=root)
