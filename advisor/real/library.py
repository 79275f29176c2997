"""Where a RocksDB is: the shared library of a distribution's package, one that the user names, or
the one inside RocksDB's JNI archive, which exports the C API too."""

from __future__ import annotations

import ctypes.util
import hashlib
import platform
import zipfile
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

from advisor.atomic import write_bytes
from advisor.errors import InputError

OPTION = "--rocksdb"
_IN_ARCHIVE = {"x86_64": "librocksdbjni-linux64.so", "aarch64": "librocksdbjni-linux-aarch64.so"}
"""The library in a JNI archive, by machine; those for musl have other names."""
_LARGEST_BYTES = 256 << 20
"""Of a library in an archive: the largest there is has 18 MB."""


_ASSERTED = b"!= nullptr\0"
_MOST_IN_A_RELEASE = 20
"""Such texts: Debian's 7.8.3, built with assertions, has 249, the release 10.4.2 has one."""
_FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib")


@dataclass(frozen=True)
class Library:
    """A shared library with RocksDB's C API. Whether it is one shows when it is opened."""

    path: str
    """A path, or a name that the system's loader resolves."""

    @property
    def has_assertions(self) -> bool:
        """Whether it was built with assertions, whose texts stand in it: its counters are right
        then, its times are not."""
        file = _file(self.path)
        if file is None:
            return False
        return file.read_bytes().count(_ASSERTED) > _MOST_IN_A_RELEASE


def find(named: Path | None = None) -> Library:
    """The library that the user names, else the system's. Raises `InputError` if there is none."""
    if named is None:
        found = ctypes.util.find_library("rocksdb")
        if found is None:
            raise InputError(
                OPTION,
                None,
                "no RocksDB among the system's libraries",
                "the package librocksdb of your distribution installed, or --rocksdb PATH: a "
                "librocksdb.so, or a rocksdbjni .jar",
            )
        return Library(found)
    if not named.is_file():
        raise InputError(
            OPTION, None, f"{named}: no such file", "a librocksdb.so or rocksdbjni .jar"
        )
    if named.suffix == ".jar":
        return Library(str(_unpacked(named)))
    return Library(str(named.absolute()))


def _file(path: str) -> Path | None:
    """The file behind a path or a loader's name."""
    if "/" in path:
        return Path(path)
    folders = (Path(folder) for folder in _FOLDERS)
    found = (file for folder in folders for file in (folder / path, *folder.glob(f"*/{path}")))
    return next((file for file in found if file.is_file()), None)


def _unpacked(archive: Path) -> Path:
    """The library of this machine in a JNI archive, in the user's folder for caches."""
    wanted = _IN_ARCHIVE.get(platform.machine())
    try:
        with zipfile.ZipFile(archive) as opened:
            if wanted is None or wanted not in opened.namelist():
                accepted = f"an archive with {wanted or 'a library of this machine'}"
                raise InputError(OPTION, None, f"{archive}: none for this machine", accepted)
            if opened.getinfo(wanted).file_size > _LARGEST_BYTES:
                raise InputError(OPTION, None, f"{archive}: a huge library", "one below 256 MiB")
            library = opened.read(wanted)
    except zipfile.BadZipFile as error:
        raise InputError(OPTION, None, f"{archive}: no archive", "a rocksdbjni .jar") from error
    name = f"librocksdb-{hashlib.sha256(library).hexdigest()[:16]}.so"
    target = user_cache_path("tunebench") / name
    if not target.is_file():
        write_bytes(target, library)
    return target
