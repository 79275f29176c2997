"""What is run: workloads of keys and values, and settings of RocksDB around its defaults.

Data is four times the memory and, in one case, fits into it. Settings are drawn from the space that
a search walks, so that they are what it has to tell apart, after those that people start from.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from advisor import knobs
from advisor.evaluate import needed_memory
from advisor.hardware import hardware
from advisor.knobs import Settings
from advisor.profile import Profile
from advisor.real import ENGINE
from advisor.scale import Scale
from advisor.search import Bounds, Question
from advisor.search.fit import space_of
from advisor.search.seeds import seeds
from advisor.workload import Workload

MIB = 1 << 20
CONFIGURATIONS = 24
SEED = 17
"""Of the drawn settings: a table goes on where it was left."""
DATA_BYTES = 256 * MIB
MEMORY_BYTES = 64 * MIB
FITTING_BYTES = 40 * MIB
"""Data that fits into the memory beside memtables."""
CLIENTS = 4

TEXTBOOK: Settings = {
    "write_buffer_size": 8 * MIB,
    "max_write_buffer_number": 2,
    "block_cache": 20 * MIB,
    "filter_policy": "bloomfilter:10:false",
    "compression": "kLZ4Compression",
    "bottommost_compression": "kZSTD",
    "block_size": 16384,
    "max_background_jobs": 4,
}
"""What a book would set in 64 MiB of memory, filters, indexes and compactions reckoned in."""
SQUEEZED: Settings = {
    "write_buffer_size": 8 * MIB,
    "max_bytes_for_level_base": 32 * MIB,
    "target_file_size_base": 8 * MIB,
    "block_cache": 16 * MIB,
}
"""The defaults, with what has to shrink to fit the memory."""


@dataclass(frozen=True)
class Case:
    """One workload."""

    name: str
    text: str
    workload: Mapping[str, object]
    metric: str
    """What decides which settings are better."""
    data_bytes: int = DATA_BYTES

    def profile(self, machine: str) -> Profile:
        """The case on a machine."""
        return Profile(
            name=self.name,
            workload=Workload.model_validate({"kind": "key_value", **self.workload}),
            data=self.data_bytes,
            memory=MEMORY_BYTES,
            clients=CLIENTS,
            hardware=hardware(machine),
            engines=(ENGINE,),
        )


@dataclass(frozen=True)
class Configuration:
    """Settings with a name."""

    name: str
    settings: Settings
    """Complete."""

    @property
    def digest(self) -> str:
        """Of the settings: a name may come to stand for others."""
        text = json.dumps(dict(self.settings), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]


_OVERWRITE = {"reads": 0, "overwrites": 1}
_READ = {"reads": 1, "overwrites": 0}
CASES: tuple[Case, ...] = (
    Case("overwrite", "random overwrites, flat out", _OVERWRITE, "ops_per_s"),
    Case(
        "read", "uniform reads, a tenth of absent keys", {**_READ, "absent_share": 0.1}, "ops_per_s"
    ),
    Case("hot-read", "zipfian reads", {**_READ, "distribution": "zipfian"}, "ops_per_s"),
    Case("mixed", "half reads and half overwrites", {"reads": 1, "overwrites": 1}, "ops_per_s"),
    Case(
        "scan",
        "short scans with a tenth of inserts",
        {"reads": 0, "overwrites": 0, "inserts": 1, "scans": 9},
        "ops_per_s",
    ),
    Case(
        "paced",
        "overwrites at a fixed rate: what they cost, free of the noise of a shared machine",
        {**_OVERWRITE, "requests_per_second": 20_000},
        "write_amp",
    ),
    Case(
        "fitting-mixed",
        "half reads and half overwrites of data that fits",
        {"reads": 1, "overwrites": 1},
        "ops_per_s",
        FITTING_BYTES,
    ),
)


@cache
def configurations() -> tuple[Configuration, ...]:
    """The settings of every case, the first few by hand; all fit the memory of all cases."""
    defaults = knobs.defaults(ENGINE)
    found = [Configuration("squeezed defaults", {**defaults, **SQUEEZED})]
    found.append(Configuration("textbook", {**defaults, **TEXTBOOK}))
    profile = CASES[0].profile("nvme-2024")
    question = Question(profile, engines=(ENGINE,), clock="simulated").settled(Bounds(), None)
    space = space_of(question, ENGINE, seeds(question), Scale(1.0))
    draw = random.Random(SEED)
    while len(found) < CONFIGURATIONS:
        places = {axis.name: draw.randrange(len(axis.values)) for axis in space.axes}
        settings = space.decode(places)
        if needed_memory(profile, ENGINE, settings) <= MEMORY_BYTES:
            found.append(Configuration(f"drawn {len(found) - 1}", settings))
    return tuple(found)
