"""Where a folder lies: mounts and disks as the kernel shows them, in made-up files."""

from pathlib import Path

import pytest

from advisor.calibration.place import Place, place_of


class Machine:
    """The files of a kernel: mounts, and block devices in the places where `/sys` has them."""

    def __init__(self, root: Path) -> None:
        self.proc, self.sys = root / "proc", root / "sys"
        (self.proc / "self").mkdir(parents=True)
        for folder in ("dev/block", "class/block"):
            (self.sys / folder).mkdir(parents=True)
        self.lines: list[str] = []

    def mount(self, device: str, point: str, rest: str) -> None:
        point = point.replace(" ", "\\040")
        self.lines.append(f"36 27 {device} / {point} rw,relatime shared:1 - {rest} rw")
        (self.proc / "self" / "mountinfo").write_text("\n".join(self.lines) + "\n")

    def disk(self, number: str, path: str, model: str = "") -> Path:
        """A block device: `path` below `/sys/devices`, a partition where it is in another's."""
        folder = self.sys / "devices" / path
        (folder / "slaves").mkdir(parents=True)
        for link in (self.sys / "dev/block" / number, self.sys / "class/block" / folder.name):
            link.symlink_to(folder)
        if model:
            (folder / "device").mkdir()
            (folder / "device" / "model").write_text(f"{model}   \n")
        return folder

    def words(self, folder: Path) -> str:
        return place_of(folder, self.proc, self.sys).words


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "machine")


def test_a_partition_is_on_its_disk(machine: Machine, tmp_path: Path) -> None:
    machine.disk("259:0", "pci0/nvme/nvme0n1", "Samsung SSD 980 PRO")
    machine.disk("259:2", "pci0/nvme/nvme0n1/nvme0n1p2").joinpath("partition").write_text("2\n")
    machine.mount("259:2", "/", "ext4 /dev/nvme0n1p2")
    assert machine.words(tmp_path) == "ext4 on nvme0n1 (Samsung SSD 980 PRO)"


def test_the_deepest_mount_counts_and_the_last_of_two_at_one_point(
    machine: Machine, tmp_path: Path
) -> None:
    inner = tmp_path / "with space"
    inner.mkdir()
    machine.disk("8:0", "pci0/sda")
    machine.disk("8:16", "pci0/sdb")
    machine.mount("8:0", "/", "ext4 /dev/sda")
    machine.mount("8:0", str(inner), "ext4 /dev/sda")
    machine.mount("8:16", str(inner), "xfs /dev/sdb")
    machine.mount("8:0", f"{inner}-other", "ext4 /dev/sda")
    assert machine.words(inner) == "xfs on sdb"
    assert machine.words(tmp_path) == "ext4 on sda"


def test_a_volume_is_on_all_disks_under_it(machine: Machine, tmp_path: Path) -> None:
    volume = machine.disk("253:0", "virtual/block/dm-0")
    array = machine.disk("9:0", "virtual/block/md0")
    (volume / "slaves" / "md0").symlink_to(array)
    for number, name in enumerate(("sda", "sdb")):
        disk = machine.disk(f"8:{number}", f"pci0/{name}", f"Disk {number}")
        (array / "slaves" / name).symlink_to(disk)
    machine.mount("253:0", "/", "xfs /dev/mapper/data")
    assert machine.words(tmp_path) == "xfs on sda (Disk 0) and sdb (Disk 1)"


def test_btrfs_is_found_by_what_was_mounted(machine: Machine, tmp_path: Path) -> None:
    machine.disk("8:0", "pci0/unheard-of")
    machine.mount("0:35", "/", "btrfs /dev/unheard-of")
    assert machine.words(tmp_path) == "btrfs on unheard-of"


def test_a_virtual_disk_says_so(machine: Machine, tmp_path: Path) -> None:
    machine.disk("254:0", "pci0/virtio1/block/vda")
    machine.mount("254:0", "/", "ext4 /dev/vda")
    assert machine.words(tmp_path) == "ext4 on vda (a virtual disk)"


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("overlay overlay", "overlay, on disks that cannot be seen from here"),
        ("zfs tank/data", "zfs of tank/data, on disks that cannot be seen from here"),
        ("nfs4 host:/export", "nfs4 of host:/export, on disks that cannot be seen from here"),
        ("tmpfs tmpfs", "tmpfs, in memory"),
    ],
)
def test_disks_that_the_kernel_does_not_show_are_not_guessed(
    machine: Machine, tmp_path: Path, told: str, words: str
) -> None:
    machine.disk("8:0", "pci0/sda")
    machine.mount("0:50", "/", told)
    assert machine.words(tmp_path) == words


def test_a_kernel_that_says_nothing_leaves_the_file_system_unknown(tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    assert place_of(tmp_path, absent, absent) == Place("unknown")
    (absent / "self").mkdir(parents=True)
    (absent / "self" / "mountinfo").write_text("what is this\n1 2 3 - x\n")
    assert place_of(tmp_path, absent, absent) == Place("unknown")
