"""A machine as the core takes it, shrunk together with the data on it, and what its wear means for
the machine itself.

What a device holds shrinks with the data: its capacity, the spare and the superblocks of flash.
Latencies, requests and bytes per second stay, and so do what hides latencies (the write buffer of a
drive, the cache of a controller), cores and what computing costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from advisor.goal import FLASH_METRICS
from advisor.hardware import CloudVolume, Device, DiskArray, Flash, Hardware, calls
from advisor.scale.factor import Scale
from advisor.spec import HardwareSpec

PAGES_PER_SUPERBLOCK = 64
"""Below this, garbage collection gets coarse: 64-page blocks already stay 1.5 to 3% under the
closed form of uniform random writes."""
LARGEST_MAP = 1 << 24
"""Pages that a simulated device maps at most; each takes 8 bytes of the machine that simulates.
64 GiB of 4 KiB pages are far more than the data of any run, and a device that is far larger than
its data behaves alike at any size."""
SUPERBLOCKS = 200
"""A device of fewer superblocks has no spare to speak of beside those that are open or reserved."""
FULL_SIZE = Scale(1.0)


def machine_spec(
    machine: Hardware,
    scale: Scale = FULL_SIZE,
    *,
    page_cache_bytes: float = 0,
    batch_bytes: int = 0,
) -> HardwareSpec:
    """The machine for data shrunk by `scale`, with this much memory for the page cache at full
    size, and for an engine that writes so many bytes in one batch at any scale."""
    return {
        "cores": machine.cpu_cores,
        "page_cache_bytes": scaled_cache(scale, page_cache_bytes),
        "device": device_spec(machine.device, scale, batch_bytes),
        "cost": {
            "work_ns": {str(work): ns for work, ns in machine.work_ns.items()},
            "slowdown": machine.slowdown,
            "calls": calls(machine.calls).by_product if machine.calls else {},
            "statement_wait_us": machine.statement_wait_us,
            "statement_cold_us": machine.statement_cold_us,
            "statement_cools_us": machine.statement_cools_us,
            "write_turning_us": machine.write_turning_us,
        },
    }


def scaled_cache(scale: Scale, page_cache_bytes: float) -> int:
    """The memory of the page cache for data shrunk by `scale`; none where the sum is negative."""
    return round(max(0, page_cache_bytes) * scale.factor)


def device_spec(device: Device, scale: Scale = FULL_SIZE, batch_bytes: int = 0) -> dict[str, Any]:
    """The device for data shrunk by `scale`."""
    match device:
        case DiskArray():
            least = device.disks * device.stripe_bytes
            shrunk = {"capacity_bytes": _bytes(device.capacity_bytes, scale.factor, least)}
        case Flash():
            shrunk = _flash(device, scale.factor, batch_bytes)
        case CloudVolume():
            least = device.request_bytes
            shrunk = {"capacity_bytes": _bytes(device.capacity_bytes, scale.factor, least)}
    return device.model_dump(mode="json", exclude={"source"}) | shrunk


def carry_back(
    machine: Hardware, metrics: Mapping[str, float], scaled: Mapping[str, Any]
) -> dict[str, float]:
    """Metrics of a run with the scaled device of `machine_spec`, as of the machine itself.

    Bytes per second stay at any scale. So a whole drive lasts longer than a small one by as much as
    it is larger, and counts its erases in its own superblocks. Where nobody knows how the drive
    wears, nothing is said about it.
    """
    device, told = machine.device, dict(metrics)
    if not isinstance(device, Flash):
        return told
    if not machine.tells_wear:
        return {name: value for name, value in told.items() if name not in FLASH_METRICS}
    multiples = {
        "drive_years": device.capacity_bytes / scaled["capacity_bytes"],
        "erases": scaled["superblock_bytes"] / device.superblock_bytes,
    }
    return {name: value * multiples.get(name, 1) for name, value in told.items()}


def _flash(device: Flash, factor: float, batch_bytes: int) -> dict[str, int]:
    least = PAGES_PER_SUPERBLOCK * device.page_bytes
    capacity = _bytes(device.capacity_bytes, factor, SUPERBLOCKS * least)
    capacity = _whole(min(capacity, LARGEST_MAP * device.page_bytes), device.page_bytes)
    # Files shrink with the data, and a superblock keeps its size relative to them. A batch does
    # not; one that filled superblocks by itself would leave them empty when the next one is
    # written, where the card's mix it with pages that live long.
    superblock = max(device.superblock_bytes * factor, least, batch_bytes)
    superblock = min(superblock, capacity / SUPERBLOCKS)
    return {
        "capacity_bytes": capacity,
        "superblock_bytes": _whole(superblock, device.page_bytes),
    }


def _bytes(full: int, factor: float, floor: int) -> int:
    return min(full, max(round(full * factor), floor))


def _whole(size: float, unit: int) -> int:
    """Rounded down to whole units, at least one."""
    return max(1, int(size // unit)) * unit
