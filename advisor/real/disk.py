"""Whether a disk holds what a real engine will write."""

from __future__ import annotations

import shutil
from pathlib import Path

from advisor.errors import WorkError
from advisor.sizes import format_size

SPACE = 3.0
"""Free bytes for each byte of data: an LSM whose every level is rewritten at once has its data
twice, and its log and memtables besides. An assumption, on the safe side."""


def check_disk(directory: Path, data_bytes: int) -> None:
    """Raises `WorkError` if the disk under a folder is too small for data of this size."""
    free, needed = shutil.disk_usage(directory).free, round(SPACE * data_bytes)
    if free < needed:
        raise WorkError(
            f"{directory}: {format_size(free)} free on the disk, and {format_size(needed)} wanted "
            f"for {format_size(data_bytes)} of data; --data takes less"
        )
