"""What the drive under a folder does, asked past the page cache: random reads of several sizes, one
and many at a time and beside long ones, reads and writes in sequence, single writes, and syncs.

The file of the probe is as large as time and room allow, because drives and the hosts of virtual
machines keep what was written lately; its bytes can neither be compressed nor told to be the same.
It has no name, so that it is gone with this process, whatever ends it. Each rate is the median of
rounds that lie apart in time, since a shared drive has better and worse moments.

A file system that has no drive, refuses direct I/O or answers it from memory is not measured, and
the reason is the answer.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count, product
from math import log
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import Protocol, cast

from advisor import core as bridge
from advisor.calibration.place import Place, place_of
from advisor.errors import InputError
from advisor.sizes import format_size

MIB = 1 << 20
BLOCK = 4096
READ_SIZES = (4 << 10, 16 << 10, 64 << 10)
"""A block of most file systems and of RocksDB, a page of InnoDB, and one as large as it can be."""
IN_FLIGHT = (1, 4, 16, 64)
SOME_IN_FLIGHT = IN_FLIGHT[1]
LONG = 2 * MIB
"""What a read of a compaction asks for at once: RocksDB's compaction_readahead_size."""
P99_DEVIATIONS = 2.326
"""Of a normal distribution."""
STREAMS = 4
"""Pieces of 1 MiB in flight where reads and writes are in sequence: one alone waits in between."""
PART_OF_FREE = 4
"""The file takes at most this part of what is free."""
LEAST_FILE_BYTES = 64 * MIB
NO_DRIVE_US = 5.0
"""A read of 4 KiB that takes less was answered by memory: the fastest drives need twice as long,
and a copy within memory takes about 1 us."""
PROBE_BUSY = 0.85
"""Of all processors: from here on they may be what ends a rate."""
NEAR = 0.9

Pause = Callable[[], None]


@dataclass(frozen=True)
class Effort:
    """What a probe may cost."""

    file_bytes: int = 1 << 30
    fill_s: float = 8.0
    """A file that is not full by then stays smaller."""
    turn_s: float = 0.4
    """Of each rate, in each round."""
    rounds: int = 3
    syncs: int = 24
    """Of a kind, in each round, at most."""


FULL = Effort()


@dataclass(frozen=True)
class Reads:
    """Random reads."""

    bytes: int
    in_flight: int
    per_s: float
    cpu_us: float
    """CPU time of a thread for one: nearly all of it the operating system's."""
    spread: float = 0.0
    """Standard deviation of the logarithm of what one takes, by median and 99th percentile."""

    @property
    def busy_cores(self) -> float:
        """Processors that these reads kept busy."""
        return self.per_s * self.cpu_us / 1e6

    @property
    def drive_us(self) -> float:
        """What one takes beside that: of the drive, or in wait for a processor."""
        return max(0.1, self.mean_us - self.cpu_us)

    @property
    def met(self) -> float:
        """How many reads one is in flight with, itself counted: the other threads are at the drive
        for that part of their time."""
        return 1 + (self.in_flight - 1) * self.drive_us / self.mean_us

    @property
    def mean_us(self) -> float:
        """What one takes, by Little's law."""
        return 1e6 * self.in_flight / self.per_s

    @property
    def mb_per_s(self) -> float:
        """Megabytes of 10^6 bytes."""
        return self.bytes * self.per_s / 1e6


@dataclass(frozen=True)
class Drive:
    """Rates and mean times of direct I/O: of one round, or the medians of several."""

    file_bytes: int
    """Over which reads and writes were spread."""
    reads: tuple[Reads, ...]
    """Every size at every depth."""
    beside_us: float
    """A small read, one at a time, while another thread reads `LONG` pieces in sequence."""
    beside_mb_per_s: float
    """What that other thread reads meanwhile."""
    read_mb_per_s: float
    write_mb_per_s: float
    """In sequence, over what was written before, the sync at the end included."""
    write_us: float
    """One block written over, until the drive acknowledges."""
    sync_us: float
    """An fdatasync after such a write. Some volumes have fast and slow ones."""
    grown_sync_us: float
    """An fdatasync after a block that was appended, which commits the file system's journal."""

    def read(self, size: int, in_flight: int) -> Reads:
        """The reads of this size at this depth."""
        return next(r for r in self.reads if (r.bytes, r.in_flight) == (size, in_flight))

    def most(self, size: int) -> Reads:
        """The reads of this size at the depth that has most of them per second."""
        return max((r for r in self.reads if r.bytes == size), key=lambda reads: reads.per_s)

    @property
    def wait_us(self) -> float:
        """CPU time that the operating system takes for a small read, some being in flight: its way
        to the drive and back, and the thread put to sleep and woken."""
        return self.read(READ_SIZES[0], SOME_IN_FLIGHT).cpu_us

    @property
    def turn_bytes(self) -> int:
        """Bytes of a long read that a small one waits for: what passes while it takes longer than
        alone. At most what was asked for at once, and at least its own."""
        waits_us = self.beside_us - self.read(READ_SIZES[0], 1).mean_us
        bytes_ = int(waits_us * self.beside_mb_per_s) // BLOCK * BLOCK
        return min(max(bytes_, READ_SIZES[0]), LONG)

    @property
    def ended_by_probe(self) -> bool:
        """Whether the drive may read more often than this machine can ask. Many threads take time
        for one another, so it counts how little was needed for about as many reads."""
        most = self.most(READ_SIZES[0])
        near = (r for r in self.reads if r.bytes == most.bytes and r.per_s >= NEAR * most.per_s)
        return min(reads.busy_cores for reads in near) >= PROBE_BUSY * (os.cpu_count() or 1)


@dataclass(frozen=True)
class Storage:
    """What a folder lies on, and what its drive does."""

    folder: Path
    place: Place
    capacity_bytes: int
    """Of the file system."""
    drive: Drive | None
    unmeasured: str = ""
    """Why there is no drive here, in words."""


class _Unmeasured(Exception):
    """The drive cannot be measured, and why."""


def probe(directory: Path | None, pause: Pause, effort: Effort = FULL) -> Storage:
    """Probes the drive under a folder, the system's folder for temporary files if absent. Calls
    `pause` every half second at least, which may raise. Raises `InputError` for a folder that
    cannot be written."""
    folder = Path(directory or tempfile.gettempdir())
    try:
        usage, place = shutil.disk_usage(folder), place_of(folder)
        try:
            drive = _drive(folder, place, usage.free, pause, effort)
        except _Unmeasured as reason:
            return Storage(folder, place, usage.total, None, str(reason))
    except OSError as error:
        raise InputError(
            folder, None, (error.strerror or str(error)).lower(), "a folder that can be written"
        ) from error
    return Storage(folder, place, usage.total, drive)


def _drive(folder: Path, place: Place, free: int, pause: Pause, effort: Effort) -> Drive:
    if place.is_memory:
        raise _Unmeasured(f"{place.file_system} is memory and has no drive")
    size = min(effort.file_bytes, free // PART_OF_FREE) // MIB * MIB
    if size < min(effort.file_bytes, LEAST_FILE_BYTES):
        least = format_size(PART_OF_FREE * LEAST_FILE_BYTES)
        raise _Unmeasured(f"{format_size(free)} are free, and a probe needs {least}")
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        descriptor = file.fileno()
        _make_direct(descriptor, place)
        size = _fill(descriptor, size, pause, effort)
        return _measured(_File(descriptor, size, cast(_Reader, bridge.load())), pause, effort)


def _make_direct(file: int, place: Place) -> None:
    """Lets the file be read and written past the page cache."""
    if not hasattr(os, "O_DIRECT"):
        raise _Unmeasured("this system has no O_DIRECT")
    try:
        fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_DIRECT)
        os.pwritev(file, [_buffer(BLOCK)], 0)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP):
            raise _Unmeasured(f"{place.file_system} refuses direct I/O here") from error
        raise


def _fill(file: int, size: int, pause: Pause, effort: Effort) -> int:
    """Writes the file, as far as the time goes, and returns its size. Each piece is another part of
    the same random bytes, from an odd place, so that no two blocks are equal."""
    random, draw = os.urandom(16 * MIB), Random(0)
    buffer = _buffer(MIB)
    end = time.perf_counter() + effort.fill_s
    written = 0
    while written < size and (not written or time.perf_counter() < end):
        pause()
        start = draw.randrange(1, len(random) - MIB, 2)
        buffer[:] = random[start : start + MIB]
        os.pwritev(file, [buffer], written)
        written += MIB
    os.fdatasync(file)
    return written


def _measured(file: _File, pause: Pause, effort: Effort) -> Drive:
    rounds = [_round(file, pause, effort) for _ in range(effort.rounds)]

    def middle(of: Callable[[Drive], float]) -> float:
        return median(map(of, rounds))

    return Drive(
        file_bytes=file.bytes,
        reads=tuple(
            Reads(
                one.bytes,
                one.in_flight,
                per_s=median(drive.reads[n].per_s for drive in rounds),
                cpu_us=median(drive.reads[n].cpu_us for drive in rounds),
                spread=median(drive.reads[n].spread for drive in rounds),
            )
            for n, one in enumerate(rounds[0].reads)
        ),
        beside_us=middle(lambda drive: drive.beside_us),
        beside_mb_per_s=middle(lambda drive: drive.beside_mb_per_s),
        read_mb_per_s=middle(lambda drive: drive.read_mb_per_s),
        write_mb_per_s=middle(lambda drive: drive.write_mb_per_s),
        write_us=middle(lambda drive: drive.write_us),
        sync_us=middle(lambda drive: drive.sync_us),
        grown_sync_us=middle(lambda drive: drive.grown_sync_us),
    )


def _round(file: _File, pause: Pause, effort: Effort) -> Drive:
    """Everything once. The writes in sequence come last, because some volumes let what follows
    many of them wait; so small reads, one at a time, come last of the reads."""

    def turn(threads: int, stream: Stream, finish: Callable[[], None] | None = None) -> _Turn:
        pause()
        return _turn(threads, effort.turn_s, stream, finish)

    reads = []
    for size, depth in reversed(list(product(READ_SIZES, IN_FLIGHT))):
        pause()
        reads.append(file.reads_in_flight(size, depth, effort.turn_s))
        if reads[-1].mean_us < NO_DRIVE_US:
            raise _Unmeasured("direct reads are answered from memory here")
    beside = turn(2, file.reads_beside_long_ones())
    return Drive(
        file_bytes=file.bytes,
        reads=tuple(reversed(reads)),
        beside_us=1e6 / beside.first_per_s,
        beside_mb_per_s=(beside.per_s - beside.first_per_s) * LONG / 1e6,
        read_mb_per_s=turn(STREAMS, file.reads_in_sequence()).per_s * MIB / 1e6,
        write_us=1e6 / turn(1, file.random_writes()).per_s,
        sync_us=_sync_us(file, file.random_writes(), pause, effort),
        grown_sync_us=_sync_us(file, file.appends(), pause, effort),
        write_mb_per_s=turn(STREAMS, file.writes_in_sequence(), file.sync).per_s * MIB / 1e6,
    )


Stream = Callable[[int], Iterator[None]]
"""What the thread with this number does, one access at each step."""


class _Reader(Protocol):
    """What the probe asks of `advisor._core`."""

    RunError: type[Exception]

    def probe_reads(
        self, path: str, read_bytes: int, threads: int, seconds: float, seed: int
    ) -> dict[str, float]: ...


@dataclass(frozen=True)
class _File:
    """The probe's file, and ways to go through it. Places are drawn anew each time: those of the
    turn before are what caches would have."""

    descriptor: int
    bytes: int
    core: _Reader

    def reads_in_flight(self, size: int, depth: int, seconds: float) -> Reads:
        """Random reads by so many threads of the core: those of Python take processors for
        themselves and one another."""
        path, seed = f"/proc/self/fd/{self.descriptor}", Random().getrandbits(63)
        try:
            seen = self.core.probe_reads(path, size, depth, seconds, seed)
        except self.core.RunError as error:
            raise OSError(error.args[0]) from error
        spread = log(seen["p99_us"] / seen["p50_us"]) / P99_DEVIATIONS
        return Reads(size, depth, seen["per_s"], seen["cpu_us"], spread)

    def sync(self) -> None:
        os.fdatasync(self.descriptor)

    def random_reads(self, size: int) -> Stream:
        def stream(_: int) -> Iterator[None]:
            buffers, draw, places = [_buffer(size)], Random(), self.bytes // size
            while True:
                os.preadv(self.descriptor, buffers, int(draw.random() * places) * size)
                yield

        return stream

    def reads_in_sequence(self, size: int = MIB, streams: int = STREAMS) -> Stream:
        def stream(number: int) -> Iterator[None]:
            buffers = [_buffer(size)]
            for place in count(number, streams):
                os.preadv(self.descriptor, buffers, place * size % self.bytes)
                yield

        return stream

    def reads_beside_long_ones(self) -> Stream:
        """Small reads of the first thread, and long ones of the other."""
        small, long = self.random_reads(READ_SIZES[0]), self.reads_in_sequence(LONG, streams=1)
        return lambda number: long(0) if number else small(0)

    def writes_in_sequence(self) -> Stream:
        def stream(number: int) -> Iterator[None]:
            buffers = [_buffer(MIB)]
            for place in count(number, STREAMS):
                os.pwritev(self.descriptor, buffers, place * MIB % self.bytes)
                yield

        return stream

    def random_writes(self) -> Stream:
        def stream(_: int) -> Iterator[None]:
            buffers, draw, places = [_buffer(BLOCK)], Random(), self.bytes // BLOCK
            while True:
                os.pwritev(self.descriptor, buffers, int(draw.random() * places) * BLOCK)
                yield

        return stream

    def appends(self) -> Stream:
        def stream(_: int) -> Iterator[None]:
            buffers = [_buffer(BLOCK)]
            os.ftruncate(self.descriptor, self.bytes)
            for place in count():
                os.pwritev(self.descriptor, buffers, self.bytes + place * BLOCK)
                yield

        return stream


@dataclass(frozen=True)
class _Turn:
    """Accesses per second of all threads and of the first."""

    per_s: float
    first_per_s: float


def _turn(threads: int, seconds: float, stream: Stream, finish: Callable[[], None] | None) -> _Turn:
    """Lets threads go through their streams at once for this long; each waits in the kernel, where
    it holds up no other."""
    began = time.perf_counter()

    def go(number: int) -> int:
        done = 1
        for _ in stream(number):
            if time.perf_counter() >= began + seconds:
                break
            done += 1
        return done

    with ThreadPoolExecutor(threads) as pool:
        done = list(pool.map(go, range(threads)))
    if finish is not None:
        finish()
    took = time.perf_counter() - began
    return _Turn(per_s=sum(done) / took, first_per_s=done[0] / took)


def _sync_us(file: _File, stream: Stream, pause: Pause, effort: Effort) -> float:
    """The mean of syncs that each follow one step of the stream; of few where they take long."""
    end = time.perf_counter() + effort.turn_s
    took: list[float] = []
    for _ in stream(0):
        pause()
        began = time.perf_counter()
        file.sync()
        took.append(1e6 * (time.perf_counter() - began))
        if len(took) >= effort.syncs or time.perf_counter() >= end:
            break
    return mean(took)


def _buffer(size: int) -> mmap.mmap:
    """Bytes that nothing compresses, at the start of a page of memory, as direct I/O wants them."""
    buffer = mmap.mmap(-1, size)
    buffer[:] = os.urandom(size)
    return buffer
