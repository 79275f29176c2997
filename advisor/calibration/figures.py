"""From what a drive did to the figures of the device model (`rust_core/src/device/flash.rs`), with
the text that says which figure comes from what.

A drive that is asked from outside shows how long reads take by how many are in flight, not what
they wait for there. So the model has these times, less what the operating system computes for each
read, what it computes, and of channels as many as reads of 4 KiB need, by Little's law.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import ceil
from textwrap import fill

from advisor.calibration.device import (
    IN_FLIGHT,
    LONG,
    READ_SIZES,
    SOME_IN_FLIGHT,
    STREAMS,
    Drive,
    Storage,
)
from advisor.data import data_path
from advisor.hardware import hardware_from
from advisor.sizes import format_size

Figures = Mapping[str, object]
Row = list[float]
"""Bytes, how many are in flight, and microseconds."""

WIDTH = 100
SMALL = READ_SIZES[0]
ASSUMED: Figures = {
    "over_provisioning": 0.28,
    "fullness": 0.0,
    "program_us": 0,
    "buffer_bytes": "64MiB",
    "page_bytes": "4KiB",
    "superblock_bytes": "256MiB",
    "victim": "greedy",
    "moved_pages": "apart",
    "rated_cycles": 3000,
}
"""What no probe from outside shows: usual for flash."""


def figures(storage: Storage) -> Figures:
    """The device as a hardware profile takes it, the source of its figures included."""
    if storage.drive is None:
        return _shipped() | {"source": _assumed_source(storage)}
    return {
        "kind": "flash",
        "source": _filled(_measured_source(storage, storage.drive)) + _table(storage.drive),
        "capacity_bytes": storage.capacity_bytes,
        **_measured(storage.drive),
        **ASSUMED,
    }


def _measured(drive: Drive) -> dict[str, object]:
    single, most = drive.read(SMALL, 1), drive.most(SMALL)
    link_mb_per_s = max(
        drive.read_mb_per_s, drive.write_mb_per_s, *(reads.mb_per_s for reads in drive.reads)
    )
    took, computed = _in_flight(drive)
    return {
        "channels": max(1, ceil(most.per_s * single.drive_us / 1e6)),
        "read_latency_us": took[0][2],
        "read_us_in_flight": took,
        "read_cpu_us_in_flight": computed,
        "read_spread": round(single.spread, 2),
        "turn_bytes": drive.turn_bytes,
        "write_latency_us": round(max(0.1, drive.write_us - drive.wait_us), 1),
        "sync_us": round(drive.sync_us, 1),
        "read_mb_per_s": round(drive.read_mb_per_s, 1),
        "write_mb_per_s": round(drive.write_mb_per_s, 1),
        "link_mb_per_s": round(link_mb_per_s, 1),
        "sync_alone": False,
        "link_command_us": 0.0,
    }


def _in_flight(drive: Drive) -> tuple[list[Row], list[Row]]:
    """How long reads take of the drive and of a core, by their bytes and how many are in flight, up
    to as many as are served the most often."""
    took: list[Row] = []
    computed: list[Row] = []
    for size in READ_SIZES:
        depth, least_us = 0.0, 0.1
        for threads in IN_FLIGHT:
            reads = drive.read(size, threads)
            depth = max(round(reads.met, 2), round(depth + 0.01, 2))
            least_us = max(round(reads.drive_us, 1), least_us)
            took.append([size, depth, least_us])
            computed.append([size, depth, max(round(reads.cpu_us, 1), 0.1)])
            if threads == drive.most(size).in_flight:
                break
    return took, computed


def _measured_source(storage: Storage, drive: Drive) -> Iterator[str]:
    single, most = drive.read(SMALL, 1), drive.most(SMALL)
    yield (
        f"Measured with direct I/O in {storage.folder}, {storage.place.words}, over a file of "
        f"{format_size(drive.file_bytes)}: medians of rounds that lie apart. What a host or a "
        "drive keeps of what was written lately, and bursts that a volume allows for a while, are "
        "in them."
    )
    yield (
        "read_us_in_flight: the mean of random reads by their bytes and how many were in flight, "
        "less read_cpu_us_in_flight, the CPU time that each took; read_latency_us: of 4 KiB, one "
        "at a time. A thread that computes is not in flight. read_spread: by their median and 99th "
        "percentile."
    )
    yield (
        f"turn_bytes: beside reads of {format_size(LONG)} in sequence, "
        f"{drive.beside_mb_per_s:,.0f} MB/s, a read of 4 KiB took {drive.beside_us:.0f} us, and "
        f"{single.mean_us:.0f} alone: the bytes that passed while it waited. That writes are waited"
        " for as long is an assumption."
    )
    yield (
        f"channels: as many as the most of such reads take, {most.per_s:,.0f} per second with "
        f"{most.in_flight} in flight, x what one at a time takes of the drive. "
        + (PROBE_ENDED if drive.ended_by_probe else "")
        + "link_command_us: 0, as what many of them wait for is in read_us_in_flight."
    )
    yield (
        f"read_mb_per_s, write_mb_per_s: in sequence, pieces of 1 MiB, {STREAMS} in flight; a "
        "write counts when it is durable. link_mb_per_s: assumption, the most bytes of any of "
        "these reads and writes: it carries at least that."
    )
    yield (
        "write_latency_us: the mean of writes of 4 KiB over what is there, one at a time, less "
        f"storage_wait, {drive.wait_us:.1f} us of CPU time as reads take with {SOME_IN_FLIGHT} in "
        "flight."
    )
    yield (
        "sync_us: the mean of fdatasyncs after such a write. After a block that was appended they "
        f"took {drive.grown_sync_us:.1f} us, where the simulated file system writes 3 blocks and "
        "syncs twice."
    )
    yield "capacity_bytes: of the file system."
    yield (
        "over_provisioning, program_us, buffer_bytes, page_bytes, superblock_bytes, victim, "
        "moved_pages, rated_cycles: assumptions, usual for flash. fullness: assumption, the "
        "database alone. sync_alone: assumption, the drive queues syncs."
    )


PROBE_ENDED = "They kept all processors busy by then: it is what the drive does at least. "


def _assumed_source(storage: Storage) -> str:
    return _filled(
        [
            f"The drive was not measured: {storage.unmeasured} ({storage.folder}). No figure here "
            "is of this machine.",
            str(_shipped()["source"]),
        ]
    )


def _filled(paragraphs: Iterable[str]) -> str:
    return "".join(fill(text, WIDTH, break_on_hyphens=False) + "\n" for text in paragraphs)


def _table(drive: Drive) -> str:
    lines = [f"Random reads per second with {', '.join(map(str, IN_FLIGHT))} in flight:\n"]
    for size in READ_SIZES:
        rates = ", ".join(f"{drive.read(size, depth).per_s:,.0f}" for depth in IN_FLIGHT)
        lines.append(f"{format_size(size)}: {rates}\n")
    return "".join(lines)


def _shipped() -> dict[str, object]:
    """The device that stands for this machine's as long as nobody measured it."""
    machine = hardware_from(data_path("profiles", "hardware", "this-machine.toml"))
    return machine.device.model_dump(mode="json")
