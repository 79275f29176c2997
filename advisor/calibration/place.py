"""Where a folder lies: its file system, and the disks under it, as the kernel tells.

Nothing here is needed to measure; it says of what the figures are. What the kernel does not show,
such as the disks under a network's, a container's or ZFS's file system, is not guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

HELD_IN_MEMORY = frozenset({"tmpfs", "ramfs"})
"""File systems without a drive. Linux lets them be opened for direct I/O from 6.6 on, which reads
memory all the same."""
NO_SOURCE = frozenset({"none", "overlay", "rootfs"})
"""What mounts name as their source that have none to speak of."""


@dataclass(frozen=True)
class Place:
    """A file system, and what it is on."""

    file_system: str
    """Its type, such as `ext4`; `unknown` where the kernel does not say."""
    source: str = ""
    """What was mounted, such as `/dev/vda1`, `server:/export` or a pool's data set."""
    disks: tuple[str, ...] = ()
    """Whole disks, with their model where they tell it; empty where none is visible from here."""

    @property
    def is_memory(self) -> bool:
        """Whether it has no drive at all."""
        return self.file_system in HELD_IN_MEMORY

    @property
    def words(self) -> str:
        """`ext4 on nvme0n1 (Samsung SSD 980 PRO)`."""
        if self.is_memory:
            return f"{self.file_system}, in memory"
        if self.disks:
            return f"{self.file_system} on {' and '.join(self.disks)}"
        of = f" of {self.source}" if self.source and self.source not in NO_SOURCE else ""
        return f"{self.file_system}{of}, on disks that cannot be seen from here"


@dataclass(frozen=True)
class _Mount:
    device: str
    """Major and minor number, as in the folder `/sys/dev/block`; of no device for many types."""
    point: Path
    file_system: str
    source: str


def place_of(folder: Path, proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> Place:
    """The place of a folder that exists."""
    mount = _mount_of(folder.resolve(), proc / "self" / "mountinfo")
    if mount is None:
        return Place("unknown")
    # btrfs and others have a number of their own that no block device has; their source is one.
    known = (sys / "dev" / "block" / mount.device, sys / "class" / "block" / _name(mount.source))
    block = next((path for path in known if mount.source and path.is_dir()), None)
    disks = () if block is None else tuple(dict.fromkeys(_disks(block.resolve())))
    return Place(mount.file_system, mount.source, disks)


def _mount_of(folder: Path, mountinfo: Path) -> _Mount | None:
    """The mount that a folder is in: the deepest, and of several at one point the last."""
    try:
        lines = mountinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    mounts = [mount for mount in map(_parsed, lines) if mount and _holds(mount.point, folder)]
    return max(reversed(mounts), key=lambda mount: len(mount.point.parts), default=None)


def _parsed(line: str) -> _Mount | None:
    """A line of `/proc/self/mountinfo` (proc(5)): its optional fields end with a hyphen."""
    own, hyphen, rest = line.partition(" - ")
    fields, told = own.split(" "), rest.split(" ")
    if not hyphen or len(fields) < 5 or len(told) < 2:
        return None
    return _Mount(fields[2], Path(_plain(fields[4])), told[0], _plain(told[1]))


def _plain(text: str) -> str:
    """A field whose spaces and backslashes the kernel wrote as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _holds(point: Path, folder: Path) -> bool:
    return point == folder or point in folder.parents


def _name(source: str) -> str:
    """What the kernel calls the block device of this path; names of volumes are links to it."""
    return Path(source).resolve().name if source.startswith("/dev/") else "-"


def _disks(block: Path) -> list[str]:
    """The whole disks under a partition, a volume or an array, by its folder in `/sys`."""
    if (block / "partition").exists():
        block = block.parent
    slaves = block / "slaves"
    under = sorted(slaves.iterdir()) if slaves.is_dir() else []
    if under:
        return [disk for slave in under for disk in _disks(slave.resolve())]
    return [f"{block.name} ({model})" if (model := _model(block)) else block.name]


def _model(disk: Path) -> str:
    """What a disk calls itself; that it is virtual, where it says nothing more."""
    try:
        return (disk / "device" / "model").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        is_virtual = any(part.startswith("virtio") for part in disk.parts)
        return "a virtual disk" if is_virtual else ""
