"""What is run: workloads of keys and values on RocksDB, workloads of tables on a server with InnoDB
or MyRocks, and settings around the products' defaults.

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
from advisor.knobs import Engine, Settings
from advisor.profile import Profile
from advisor.real import ENGINE
from advisor.real.server import ENGINE_OF
from advisor.scale import Scale
from advisor.search import Bounds, Question
from advisor.search.fit import space_of
from advisor.search.seeds import seeds
from advisor.workload import Workload

MIB = 1 << 20
SEED = 17
"""Of the drawn settings: a table goes on where it was left."""
DATA_BYTES = 256 * MIB
FITTING_BYTES = 40 * MIB
"""Data that fits into the memory beside memtables."""
TABLE_BYTES = 192 * MIB
CLIENTS = 4
_MACHINE = "nvme-2024"
"""Whose memory and cores decide nothing here: every case names its own memory."""

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
TEXTBOOK_OF_ROWS: Settings = {
    **TEXTBOOK,
    "target_file_size_base": 8 * MIB,
    "write_buffer_size": 6 * MIB,
    "block_cache": 16 * MIB,
}
"""The same for small rows, of which a file of the usual size has so many that the filter that a
compaction builds for it takes more than the memory has."""
SMALL_POOL: Settings = {"innodb_buffer_pool_size": 32 * MIB, "innodb_log_buffer_size": 4 * MIB}
"""The defaults of InnoDB, shrunk to fit the memory."""
FULL_POOL: Settings = {
    "innodb_buffer_pool_size": 56 * MIB,
    "innodb_log_buffer_size": 4 * MIB,
    "innodb_redo_log_capacity": 256 * MIB,
}
"""What `innodb_dedicated_server` would do of it: most of the memory, and a long log."""


@dataclass(frozen=True)
class Case:
    """One workload."""

    name: str
    text: str
    workload: Mapping[str, object]
    metric: str
    """What decides which settings are better."""
    data_bytes: int = DATA_BYTES

    def profile(self, suite: Suite, machine: str) -> Profile:
        """The case on a machine."""
        return Profile(
            name=self.name,
            workload=Workload.model_validate({"kind": "key_value", **self.workload}),
            data=self.data_bytes,
            memory=suite.memory_bytes,
            clients=CLIENTS,
            hardware=hardware(machine),
            engines=(suite.engine,),
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


@dataclass(frozen=True)
class Suite:
    """What is run on one product."""

    product: str
    """`rocksdb`, `innodb` or `myrocks`."""
    engine: Engine
    """Whose settings it takes."""
    memory_bytes: int
    cases: tuple[Case, ...]
    by_hand: Mapping[str, Settings]
    """Settings that people start from, over the defaults; the first is repeated for the noise."""
    size: int
    """Settings of each case."""

    @property
    def file(self) -> str:
        """The name of the table that ships."""
        return f"{self.product}.csv"

    def configurations(self) -> tuple[Configuration, ...]:
        """The settings of every case, the first few by hand; all fit the memory of all cases."""
        return _configurations(self.product)


_OVERWRITE = {"reads": 0, "overwrites": 1}
_READ = {"reads": 1, "overwrites": 0}
_OF_KEYS: tuple[Case, ...] = (
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


_OF_TABLES: tuple[Case, ...] = (
    Case("linkbench", "the social graph", {"kind": "linkbench"}, "ops_per_s", TABLE_BYTES),
    Case(
        "sysbench-read-write",
        "transactions of 18 statements, 4 of which write",
        {"kind": "sysbench", "script": "oltp_read_write"},
        "ops_per_s",
        TABLE_BYTES,
    ),
    Case(
        "sysbench-point-select",
        "one row by its key",
        {"kind": "sysbench", "script": "oltp_point_select"},
        "ops_per_s",
        TABLE_BYTES,
    ),
    Case(
        "insert-benchmark",
        "batches of 50 rows with three secondary indexes",
        {"kind": "insert_benchmark", "rows_per_commit": 50, "data_bytes": 100},
        "ops_per_s",
        TABLE_BYTES,
    ),
)
SUITES: Mapping[str, Suite] = {
    suite.product: suite
    for suite in (
        Suite(
            "rocksdb",
            ENGINE,
            64 * MIB,
            _OF_KEYS,
            {"squeezed defaults": SQUEEZED, "textbook": TEXTBOOK},
            24,
        ),
        Suite(
            "innodb",
            ENGINE_OF["innodb"],
            # The server itself, connections and a reserve take what is more than the pool.
            184 * MIB,
            _OF_TABLES,
            {"small pool": SMALL_POOL, "full pool": FULL_POOL},
            16,
        ),
        Suite(
            "myrocks",
            ENGINE_OF["myrocks"],
            64 * MIB,
            _OF_TABLES,
            {"squeezed defaults": SQUEEZED, "textbook": TEXTBOOK_OF_ROWS},
            16,
        ),
    )
}
"""By product."""


@cache
def _configurations(product: str) -> tuple[Configuration, ...]:
    suite = SUITES[product]
    defaults = knobs.defaults(suite.engine)
    found = [Configuration(name, {**defaults, **own}) for name, own in suite.by_hand.items()]
    profiles = [case.profile(suite, _MACHINE) for case in suite.cases]
    question = Question(profiles[0], engines=(suite.engine,), clock="simulated")
    question = question.settled(Bounds(), None)
    space = space_of(question, suite.engine, seeds(question), Scale(1.0))
    draw = random.Random(SEED)
    while len(found) < suite.size:
        places = {axis.name: draw.randrange(len(axis.values)) for axis in space.axes}
        settings = space.decode(places)
        needed = max(needed_memory(profile, suite.engine, settings) for profile in profiles)
        if needed <= suite.memory_bytes:
            found.append(Configuration(f"drawn {len(found) - 1}", settings))
    return tuple(found)
