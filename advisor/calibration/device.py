"""What the storage under a folder costs, as a measured run sees it: through the operating system's
page cache.

Reads of a run find their bytes in the page cache, because a run wrote them a moment ago; what they
cost is CPU time, and the fit finds it. What is left to the device is what a sync waits for.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from advisor.errors import InputError

MIB = 1 << 20
PIECE = os.urandom(MIB)
"""Written to the probe's file: bytes that no layer below can compress."""
BURST_MIB = 32
BURSTS = 3
SYNCS = 24


@dataclass(frozen=True)
class Storage:
    """Medians over a few probes."""

    folder: Path
    sync_us: float
    """One page made durable, written over or appended. An appended page waits for two flushes, one
    of them for the journal of the file system, and counts as two."""
    write_mb_per_s: float
    """Bursts of 32 MiB, made durable at their end."""
    capacity_bytes: int
    """Of the file system."""


def probe(directory: Path | None, pause: Callable[[], None]) -> Storage:
    """Probes the storage of a folder, the system's folder for temporary files if absent. Calls
    `pause` between probes, which may raise."""
    folder = Path(directory or tempfile.gettempdir())
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            rates = [_burst(file.fileno(), pause) for _ in range(BURSTS)]
            end, offsets = BURST_MIB * MIB, range(0, SYNCS // 2 * 4096, 4096)
            syncs = [_sync(file.fileno(), offset, pause) for offset in offsets]
            syncs += [_sync(file.fileno(), end + offset, pause) / 2 for offset in offsets]
    except OSError as error:
        raise InputError(
            folder, None, (error.strerror or str(error)).lower(), "a folder that can be written"
        ) from error
    return Storage(folder, median(syncs), median(rates), shutil.disk_usage(folder).total)


def _burst(file: int, pause: Callable[[], None]) -> float:
    pause()
    began = time.perf_counter()
    for n in range(BURST_MIB):
        os.pwrite(file, PIECE, n * MIB)
    os.fdatasync(file)
    return BURST_MIB * MIB / 1e6 / (time.perf_counter() - began)


def _sync(file: int, offset: int, pause: Callable[[], None]) -> float:
    pause()
    os.pwrite(file, PIECE[:4096], offset)
    began = time.perf_counter()
    os.fdatasync(file)
    return 1e6 * (time.perf_counter() - began)
