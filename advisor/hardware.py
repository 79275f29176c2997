"""Machines in the terms of the simulated devices: what a device is and what computing costs there,
at full size. `scale.machine` makes specs of them.

A machine is a TOML file of `profiles/hardware/`. Each figure there has a source or is marked as an
assumption; none is fitted to a benchmark that is replayed on the machine.
"""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from platformdirs import user_config_path
from pydantic import Field, field_validator, model_validator

from advisor import files
from advisor.data import data_path
from advisor.documents import Count, Ratio, Size, Table, find, is_name, read, validated
from advisor.errors import InputError
from advisor.workload import refused

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]

Call = Literal[
    "statement",
    "transaction_control",
    "sorted_result",
    "sorted_row",
    "point_read",
    "range_start",
    "range_step",
    "row_insert",
    "row_change",
    "key_change",
    "commit",
    "memtable_switch",
    "memtable_miss",
    "merged_entry",
    "merged_byte",
    "block_fetch",
    "cold_work",
    "snapped_byte",
    "snapped_match",
    "unsnapped_byte",
    "zipped_byte",
    "zipped_block",
    "unzipped_byte",
    "unzipped_block",
]
"""Pieces of CPU work that are calls of a product."""

Work = Literal[
    "call",
    "compare",
    "memtable_step",
    "memtable_next",
    "filter_probe",
    "cache_lookup",
    "iterator_step",
    "record",
    "copy_byte",
    "checksum_byte",
    "compress_fast_byte",
    "compress_fast_match",
    "compress_zstd_byte",
    "compress_zstd_block",
    "compress_zlib_byte",
    "compress_zlib_block",
    "decompress_fast_byte",
    "decompress_zstd_byte",
    "decompress_zlib_byte",
    "decompress_zlib_block",
    "cache_miss",
    "memory_miss",
    "page_touch",
    "tree_transaction",
    "tree_change",
    "storage_call",
    "storage_wait",
    "storage_write",
    "storage_sync",
    "storage_read_byte",
    "storage_write_byte",
    "operation",
    "round_trip",
    Call,
]
"""Named pieces of CPU work, as the core counts them."""

Costs = dict[Call, Annotated[float, Field(ge=0, allow_inf_nan=False)]]

SHORT_READ = 4 << 10
FIGURES_VERSION = 15
"""Of a calibration. It is raised when figures measured before no longer mean the same: when the
core charges a kind of work that was in another's cost or in none, waits once more for what was
measured, or the device is the drive where it was the page cache; when what was measured was
something else, as writers that turned idly were, the least of a server's clients, or a server whose
own defaults were not those of its simulation; or when nobody had measured what then cost next to
nothing, as zlib of InnoDB."""


class _Device(Table):
    source: str = ""
    """Where each figure comes from."""


class DiskArray(_Device):
    """Disks behind RAID 0."""

    kind: Literal["disk_array"]
    disks: Count
    capacity_bytes: Size
    """Of the whole array; it bounds the seeks."""
    stripe_bytes: Size
    max_seek_us: Positive
    """Full stroke; a shorter seek costs less, with the square root of the distance."""
    min_seek_us: Positive
    rpm: Positive
    mb_per_s: Positive
    """Sequential transfer of one disk."""
    write_cache_bytes: Size | Literal[0]
    """Battery-backed cache of the controller; 0 for none."""


class Flash(_Device):
    """A flash device: SATA, PCIe or NVMe by its figures."""

    kind: Literal["flash"]
    capacity_bytes: Size
    """What the host may address."""
    over_provisioning: Positive
    """Physical bytes / addressable bytes - 1."""
    fullness: Ratio
    """Share of the capacity that holds data of others."""
    channels: Count
    """Pages read or programmed at once: random reads per second = channels / read latency."""
    read_latency_us: Positive
    read_us_in_flight: tuple[tuple[Positive, Positive, Positive], ...] = ()
    """How long reads were seen to take: their bytes, how many were in flight, and microseconds, all
    growing; empty for a drive of which only the channels hold reads back."""
    read_cpu_us_in_flight: tuple[tuple[Positive, Positive, Positive], ...] = ()
    """CPU time of a core that such a read takes, likewise; empty where the cost of work
    (`storage_wait`) says it, whatever is in flight."""
    read_spread: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """Standard deviation of the logarithm of what reads take, about those means; 0 where it is not
    known, and all take the same."""
    turn_bytes: Size = 128 << 10
    """Of a long transfer, what a short one waits for that comes during it."""
    program_us: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """Programming a page, during which its die serves no read; 0 for dies that interrupt it."""
    write_latency_us: Positive
    """Acknowledgement of a buffered write."""
    sync_us: Annotated[float, Field(ge=0)]
    sync_alone: bool = False
    """Whether a sync waits for all that the drive has and holds all that follows, as on SATA."""
    read_mb_per_s: Positive
    write_mb_per_s: Positive
    """Sequential, without garbage collection."""
    link_mb_per_s: Positive
    """Reads and writes together."""
    link_command_us: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """What each command takes of the link beside its bytes."""
    buffer_bytes: Size
    page_bytes: Size
    """What the translation layer maps."""
    superblock_bytes: Size
    """What is erased together."""
    victim: Literal["greedy", "cost_benefit"]
    """How garbage collection picks."""
    moved_pages: Literal["apart", "together"] = "apart"
    """Whether it writes what it moves into superblocks of their own, or behind the host's pages."""
    rated_cycles: Positive
    """Times that each superblock can be programmed and erased."""

    @field_validator("read_us_in_flight", mode="before")
    @classmethod
    def _with_bytes(cls, seen: object) -> object:
        """Calibrations of before version 8, and studies of that time, have them of 4 KiB alone."""
        if not isinstance(seen, (list, tuple)):
            return seen
        return [
            (SHORT_READ, *row) if isinstance(row, (list, tuple)) and len(row) == 2 else row
            for row in seen
        ]


class CloudVolume(_Device):
    """A network volume with limits."""

    kind: Literal["cloud_volume"]
    capacity_bytes: Size
    iops: Positive
    mb_per_s: Positive
    request_bytes: Size
    """The largest request that counts as one."""
    read_latency_us: Positive
    write_latency_us: Positive


Device = Annotated[DiskArray | Flash | CloudVolume, Field(discriminator="kind")]


class Calls(Table):
    """What calls of real products cost beyond the core's own work, in nanoseconds where the core's
    own figures hold: a file of `profiles/calls/`."""

    source: str
    """How they were measured."""
    rocksdb: Costs | None = None
    myrocks: Costs | None = None
    innodb: Costs | None = None

    @property
    def by_product(self) -> dict[str, dict[str, float]]:
        """As the core takes them: product, call, nanoseconds; those that were measured."""
        return self.model_dump(exclude={"source"}, exclude_none=True)


class Hardware(Table):
    """A machine: its cores as the operating system counts them, its memory and its device."""

    name: str = "inline"
    text: str = ""
    source: str = ""
    """Where the figures of the machine come from."""
    detect: bool = False
    """True for the machine that the program runs on: cores and memory are asked for when loaded."""
    calibrated: str = ""
    """For that machine, the day on which its figures were measured; empty while they are not."""
    processor: str = ""
    """On which processor they were measured."""
    figures_version: int = 0
    """For that machine, the `FIGURES_VERSION` of the program that measured them."""
    drive: str | None = None
    """For that machine, the file system and the disks whose drive was measured; absent where the
    figures of the device are assumed."""
    cpu_cores: Count
    memory_bytes: Size = Field(alias="memory")
    work_ns: dict[Work, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(
        default_factory=dict
    )
    """CPU time per unit of work, where it differs from the core's own figures."""
    slowdown: Annotated[float, Field(ge=0.01, le=100)] = 1.0
    """How much longer than the core's own figures all other work takes."""
    statement_wait_us: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """What passes in each round trip while neither client nor server computes, because the one
    that is spoken to has to be woken first."""
    statement_cold_us: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """What the client's part of a statement takes beyond its `round_trip` where nothing of what it
    needs is left in the caches of its core."""
    statement_cools_us: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """The server's CPU time for a statement that leaves one part in e of that there."""
    write_turning_us: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """How long a writer of RocksDB whose turn has not come turns on its core before it offers that
    to others: 200 `pause` instructions. With 0 it waits on no core."""
    calls: str | Calls = ""
    """The products that the machine speaks for, by themselves or as a file of `profiles/calls/`;
    empty where it speaks for the core's own engines. The slowdown counts for them too."""
    device: Device

    @model_validator(mode="before")
    @classmethod
    def _detect(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("detect") is True:
            memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
            data = {"cpu_cores": os.cpu_count() or 1, "memory": memory} | data
        return data

    @model_validator(mode="before")
    @classmethod
    def _without_handoff(cls, data: Any) -> Any:
        """Calibrations of before version 12, and studies of that time, have a figure that no run
        takes any more."""
        if not isinstance(data, dict):
            return data
        return {name: value for name, value in data.items() if name != "write_handoff_us"}

    @field_validator("calls", mode="after")
    @classmethod
    def _known_calls(cls, value: str | Calls) -> str | Calls:
        if isinstance(value, str) and value:
            try:
                _calls_path(value)
            except InputError as error:
                raise refused(error.found, error.accepted) from error
        return value

    @property
    def tells_wear(self) -> bool:
        """Whether a simulation of it tells what a flash drive does inside, and how long it lasts:
        nobody knows that of the drive of a calibrated machine."""
        return isinstance(self.device, Flash) and not self.detect

    @property
    def unfit(self) -> str:
        """Why a simulation of this machine would say nothing about it, in words; empty if not."""
        if not self.detect:
            return ""
        if not self.calibrated:
            return "this machine, which is not calibrated"
        if self.processor != processor():
            return f"this machine, calibrated on another processor ({self.processor})"
        if self.figures_version != FIGURES_VERSION:
            return "this machine, calibrated by another version of this program"
        return ""

    @property
    def is_known(self) -> bool:
        """Whether a simulation knows all of the machine: any other than this one, and this one once
        its drive and the calls of a product were measured here."""
        return not self.detect or bool(not self.unfit and self.drive and self.calls)

    @property
    def products(self) -> tuple[str, ...]:
        """The products whose calls the machine knows."""
        return tuple(calls(self.calls).by_product) if self.calls else ()

    def filled(self, fullness: float) -> Hardware:
        """The same machine with this share of its flash taken by data of others; a device that does
        not wear is the same however full."""
        if not isinstance(self.device, Flash):
            return self
        device = self.device.model_copy(update={"fullness": fullness})
        return self.model_copy(update={"device": device})


def calls(known: str | Calls) -> Calls:
    """The calls of products, by the name of their file unless they are there. Raises
    `InputError`."""
    if isinstance(known, Calls):
        return known
    path = _calls_path(known)
    return validated(Calls, read(path), str(path))


def _calls_path(name: str) -> Path:
    return find(name, data_path("profiles", "calls"), "calls")


def user_folder() -> Path:
    """The user's own machines: `hardware` in the user's folder for configuration of this program
    (`$XDG_CONFIG_HOME/tunebench` or `~/.config/tunebench` on Linux)."""
    return user_config_path("tunebench", appauthor=False) / "hardware"


def processor() -> str:
    """What the operating system calls this machine's processor."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    match = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    return match[1].strip() if match else platform.processor() or platform.machine()


def hardware(name_or_path: str | Path) -> Hardware:
    """A machine of the user's or a shipped one by its name, or one from a TOML file. Raises
    `InputError`."""
    return hardware_from(hardware_path(name_or_path))


def hardware_path(name_or_path: str | Path) -> Path:
    """The file of a machine. Raises `InputError` if there is none."""
    own = user_folder() / f"{name_or_path}.toml"
    if is_name(str(name_or_path)) and files.is_file(own):
        return own
    return find(name_or_path, data_path("profiles", "hardware"), "hardware")


def hardware_from(path: Path) -> Hardware:
    """A machine from its file. Raises `InputError`."""
    return validated(Hardware, {"name": path.stem} | read(path), str(path))


def shipped_hardware() -> dict[str, Hardware]:
    """The machines that ship with the program, by name."""
    folder = data_path("profiles", "hardware")
    return {path.stem: hardware_from(path) for path in sorted(folder.glob("*.toml"))}
