"""The probe of the drive: what it asks of a small real file, when it says that there is nothing to
measure, and the figures that it takes from known answers."""

import errno
import fcntl
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from advisor import core
from advisor.calibration import device
from advisor.calibration.device import IN_FLIGHT, MIB, READ_SIZES, Effort, Storage, probe
from advisor.calibration.figures import figures
from advisor.calibration.place import Place
from advisor.errors import InputError
from advisor.hardware import Flash, Hardware
from advisor.scale import machine_spec
from tests.support.drives import PLACE, drive, storage
from tests.support.fake_core import FakeCore

TINY = Effort(file_bytes=4 * MIB, fill_s=1.0, turn_s=0.005, rounds=1, syncs=2)


def nothing() -> None:
    pass


def as_device(found: Storage) -> Flash:
    return Flash.model_validate(dict(figures(found)))


def test_a_real_file_is_read_at_every_size_and_depth_and_is_gone(tmp_path: Path) -> None:
    found = probe(tmp_path, nothing, TINY)
    assert list(tmp_path.iterdir()) == []
    if found.drive is None:
        pytest.skip(found.unmeasured)
    shapes = [(reads.bytes, reads.in_flight) for reads in found.drive.reads]
    assert shapes == [(size, depth) for size in READ_SIZES for depth in IN_FLIGHT]
    assert all(reads.per_s > 0 for reads in found.drive.reads)
    assert found.drive.file_bytes == TINY.file_bytes
    assert min(found.drive.read_mb_per_s, found.drive.write_mb_per_s, found.drive.write_us) > 0
    assert min(found.drive.sync_us, found.drive.grown_sync_us) > 0


class Reading(FakeCore):
    """A core whose reads are all alike."""

    def probe_reads(self, *_: object) -> dict[str, float]:
        return {"per_s": 10_000.0, "cpu_us": 20.0, "p50_us": 90.0, "p99_us": 180.0}


class _Given(NamedTuple):
    """A file that took direct I/O, and what the probe then did with it."""

    flags: list[int]
    pieces: list[bytes]
    past_end: list[int]
    """How far behind the end of the filled file each append began."""


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> _Given:
    """Any file system passes for one of a drive, and what is written is kept."""
    given = _Given([], [], [])
    written = os.pwritev

    def set_flags(file: int, command: int, flags: int = 0) -> int:
        given.flags.append(flags)
        return 0

    def write(file: int, buffers: list[Any], offset: int) -> int:
        given.pieces.append(bytes(buffers[0]))
        if offset == os.fstat(file).st_size >= TINY.file_bytes:
            given.past_end.append(offset - TINY.file_bytes)
        return written(file, buffers, offset)

    monkeypatch.setattr(device.bridge, "load", Reading)
    monkeypatch.setattr(fcntl, "fcntl", set_flags)
    monkeypatch.setattr(os, "pwritev", write)
    monkeypatch.setattr(device, "place_of", lambda _: PLACE)
    monkeypatch.setattr(device, "NO_DRIVE_US", 0.0)
    return given


def test_the_file_is_direct_and_no_two_of_its_blocks_are_equal(
    watched: _Given, tmp_path: Path
) -> None:
    assert probe(tmp_path, nothing, TINY).drive is not None
    assert watched.flags[-1] & os.O_DIRECT
    filled = b"".join(piece for piece in watched.pieces[1:5])
    blocks = [filled[n : n + 4096] for n in range(0, len(filled), 4096)]
    assert len(set(blocks)) == len(blocks) == 1024


def test_the_syncs_of_a_file_that_grows_are_of_one_that_grows(
    watched: _Given, tmp_path: Path
) -> None:
    probe(tmp_path, nothing, replace(TINY, rounds=2, syncs=1))
    assert watched.past_end == [0, 0]


def test_a_cancelled_probe_ends_between_its_turns_and_leaves_nothing(
    watched: _Given, tmp_path: Path
) -> None:
    asked = 0

    def cancel() -> None:
        nonlocal asked
        asked += 1
        if asked == 9:
            raise core.Cancelled("enough")

    with pytest.raises(core.Cancelled):
        probe(tmp_path, cancel, TINY)
    assert asked == 9
    assert list(tmp_path.iterdir()) == []


def refusing(number: int) -> Callable[..., int]:
    def refuse(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    return refuse


def test_a_file_system_that_refuses_direct_io_is_not_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(device, "place_of", lambda _: PLACE)
    monkeypatch.setattr(fcntl, "fcntl", refusing(errno.EINVAL))
    found = probe(tmp_path, nothing, TINY)
    assert (found.drive, found.unmeasured) == (None, "ext4 refuses direct I/O here")
    monkeypatch.setattr(fcntl, "fcntl", refusing(errno.EIO))
    with pytest.raises(InputError, match="input/output error"):
        probe(tmp_path, nothing, TINY)


def test_memory_is_no_drive_whether_it_takes_direct_io_or_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(device, "place_of", lambda _: Place("tmpfs", "tmpfs"))
    assert probe(tmp_path, nothing, TINY).unmeasured == "tmpfs is memory and has no drive"


def test_reads_faster_than_any_drive_are_not_taken_for_one(
    watched: _Given, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(device, "NO_DRIVE_US", 1e9)
    found = probe(tmp_path, nothing, TINY)
    assert (found.drive, found.unmeasured) == (None, "direct reads are answered from memory here")


def test_a_drive_that_fails_to_read_is_an_error_of_its_folder(
    watched: _Given, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(self: Reading, *_: object) -> dict[str, float]:
        raise self.RunError("cannot read /proc/self/fd/5: Input/output error", False)

    monkeypatch.setattr(Reading, "probe_reads", fail)
    with pytest.raises(InputError, match="input/output error"):
        probe(tmp_path, nothing, TINY)
    assert list(tmp_path.iterdir()) == []


class _Usage(NamedTuple):
    total: int
    used: int
    free: int


def test_a_file_system_with_little_room_is_left_alone(
    watched: _Given, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    free = 200 * MIB
    usage = _Usage(total=8 * free, used=7 * free, free=free)
    monkeypatch.setattr(device.shutil, "disk_usage", lambda _: usage)
    found = probe(tmp_path, nothing, Effort())
    assert (found.drive, found.unmeasured) == (None, "200MiB are free, and a probe needs 256MiB")
    assert watched.pieces == []


# figures


def test_channels_and_times_in_flight_follow_from_how_many_reads_a_drive_serves() -> None:
    found = as_device(storage(drive(latency_us=80, most_per_s=100_000, read_mb_per_s=2000)))
    assert (found.channels, found.read_latency_us) == (8, 79.9)
    assert (found.read_mb_per_s, found.write_mb_per_s, found.link_mb_per_s) == (2000, 1500, 2000)
    # 100,000 a second of 4 KiB, and of 64 KiB what 2,000 MB/s are.
    assert found.read_us_in_flight[:3] == ((4096, 1, 79.9), (4096, 4.0, 79.9), (4096, 15.99, 159.9))
    assert found.read_us_in_flight[-1] == (65536, 4.0, 131.0)
    assert found.read_cpu_us_in_flight[0] == (4096, 1, 0.1)
    assert (found.write_latency_us, found.sync_us) == (19.9, 400)


@pytest.mark.parametrize(
    ("beside_us", "kib"),
    # Alone it takes 80 us, and 2,000 MB/s are 2 kB in each.
    [(80.0, 4), (90.0, 16), (340.0, 504), (1_128.6, 2048), (9_000.0, 2048)],
)
def test_what_passes_while_a_small_read_waits_is_a_turn(beside_us: float, kib: int) -> None:
    assert as_device(storage(drive(beside_us=beside_us))).turn_bytes == kib << 10


def test_a_rate_that_the_processors_ended_is_said_to_be_the_least(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    # 100,000 a second of 18 us each.
    found = as_device(storage(drive(cpu_us=18.0)))
    assert found.link_command_us == 0
    assert "what the drive does at least" in " ".join(found.source.split())
    assert "at least" not in as_device(storage(drive())).source.split("link_mb_per_s")[0]


def test_what_the_operating_system_computes_for_a_read_is_no_part_of_the_drives_time() -> None:
    found = as_device(storage(drive(latency_us=80, cpu_us=20.0)))
    # Each of three others is at the drive for 60 of 80 us.
    assert (found.read_latency_us, found.read_us_in_flight[1]) == (60, (4096, 3.25, 60))
    assert found.read_cpu_us_in_flight[:2] == ((4096, 1, 20), (4096, 3.25, 20))


def test_threads_that_take_time_for_one_another_do_not_blame_the_processors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    many = drive(cpu_us=6.0)
    busy = tuple(
        device.Reads(r.bytes, r.in_flight, r.per_s, 19.0) if r.in_flight == 64 else r
        for r in many.reads
    )
    assert not replace(many, reads=busy).ended_by_probe


@pytest.mark.parametrize("name", sorted(set(Flash.model_fields) - {"kind", "source"}))
def test_every_figure_is_named_in_its_source(name: str) -> None:
    assert name in as_device(storage(drive())).source


def test_a_drive_that_was_not_measured_gets_the_shipped_assumptions_and_says_so() -> None:
    found = as_device(storage(unmeasured="tmpfs is memory and has no drive"))
    assert found.source.startswith("The drive was not measured: tmpfs is memory")
    assert "Assumption: a data-centre NVMe drive" in " ".join(found.source.split())


@pytest.mark.parametrize(("clients", "latency_us"), [(1, 80.0), (64, 640.0)])
def test_a_simulated_direct_read_takes_what_the_probe_measured(
    clients: int, latency_us: float
) -> None:
    flash = as_device(storage(drive(latency_us=80, most_per_s=100_000)))
    machine = Hardware(cpu_cores=64, memory=1 << 34, device=flash)
    report = core.run(
        {
            "engine": "lsm",
            "options": {
                "block_cache": 1 << 16,
                "block_size": 4096,
                "use_direct_reads": True,
                "compression": "kNoCompression",
            },
            "workload": {"kind": "db_bench", "benchmark": "readrandom", "keys": 50_000},
            "clients": clients,
            "operations": 4000,
            "clock": "simulated",
            "hardware": machine_spec(machine, page_cache_bytes=1 << 30),
        }
    )
    assert report["metrics"]["p50_us"] == pytest.approx(latency_us, rel=0.3)
