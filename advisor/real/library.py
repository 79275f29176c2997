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


@dataclass(frozen=True)
class Library:
    """A shared library with RocksDB's C API. Whether it is one shows when it is opened."""

    path: str
    """A path, or a name that the system's loader resolves."""


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
