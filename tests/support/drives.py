"""Drives of known figures, as a probe would have found them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from advisor.calibration.device import IN_FLIGHT, READ_SIZES, Drive, Reads, Storage
from advisor.calibration.place import Place

GIB = 1 << 30
PLACE = Place("ext4", "/dev/nvme0n1p2", ("nvme0n1 (Abacus 9000)",))


def drive(
    latency_us: float = 80.0,
    most_per_s: float = 100_000.0,
    read_mb_per_s: float = 2000.0,
    cpu_us: float = 0.1,
    beside_us: float = 140.0,
) -> Drive:
    """One that serves reads of any size in the same time, as many at once as it can, until their
    number or their bytes per second end it."""
    reads = tuple(
        Reads(
            size,
            depth,
            min(depth * 1e6 / latency_us, most_per_s, read_mb_per_s * 1e6 / size),
            cpu_us,
        )
        for size in READ_SIZES
        for depth in IN_FLIGHT
    )
    return Drive(
        file_bytes=GIB,
        reads=reads,
        beside_us=beside_us,
        beside_mb_per_s=read_mb_per_s,
        read_mb_per_s=read_mb_per_s,
        write_mb_per_s=1500.0,
        write_us=20.0,
        sync_us=400.0,
        grown_sync_us=900.0,
    )


def storage(found: Drive | None = None, unmeasured: str = "") -> Storage:
    """A folder on such a drive, or on none that could be measured."""
    return Storage(Path("/var/tmp"), PLACE, 500 * GIB, found, unmeasured)


def probed(_: Path | None, pause: Callable[[], None]) -> Storage:
    """In place of a probe, which takes its time: it could be cancelled, and finds the drive."""
    pause()
    return storage(drive())
