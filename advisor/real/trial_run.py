"""Whether a library is a real engine that runs here, found out by running it for a moment."""

from __future__ import annotations

from pathlib import Path

from advisor import core, scratch
from advisor.errors import InputError, WorkError
from advisor.real.library import OPTION, Library
from advisor.real.process import ProcessCore
from advisor.spec import Spec

_SPEC: Spec = {
    "engine": "rocksdb",
    "clock": "real",
    "workload": {"kind": "key_value", "keys": 100},
    "operations": 100,
}


def product_of(library: Library, directory: Path | None = None) -> str:
    """Name and version of what a library is, which takes a tenth of a second. Raises `InputError`
    for one that does not run."""
    with scratch.folder(directory) as folder:
        options = {"library": library.path, "options_file": ""}
        spec: Spec = {**_SPEC, "options": {**options}, "directory": str(folder)}
        try:
            product = core.run(spec, core=ProcessCore(core.load()))["product"]
        except (InputError, WorkError) as error:
            told = error.found if isinstance(error, InputError) else str(error)
            raise InputError(OPTION, None, told, "a library of RocksDB that runs here") from error
    return f"{product['name']} {product['version']}"
