"""What is run: workloads of keys and values on RocksDB, workloads of tables on a server with InnoDB
or MyRocks, each with the settings of `datasets/validation/settings.toml`.

Data is several times what engines cache and, in one case, fits into the memory.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from advisor import knobs
from advisor.data import data_path
from advisor.hardware import hardware
from advisor.knobs import Engine, Settings
from advisor.profile import Profile
from advisor.real import ENGINE
from advisor.real.server import ENGINE_OF
from advisor.workload import Workload

MIB = 1 << 20
DATA_BYTES = 256 * MIB
FITTING_BYTES = 40 * MIB
"""Data that fits into the memory beside memtables."""
TABLE_BYTES = 192 * MIB
FITTING_TABLE_BYTES = 16 * MIB
CLIENTS = 4
SERVER_MEMORY_BYTES = 184 * MIB
"""Memory of either engine in a server, which takes more than half of it for itself, its connections
and a reserve."""


def _digest(whole: Mapping[str, object]) -> str:
    text = json.dumps(whole, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Case:
    """One workload."""

    name: str
    text: str
    workload: Mapping[str, object]
    metric: str
    """What decides which settings are better."""
    operations: int
    """Of the measured phase, which begins and ends settled."""
    data_bytes: int = DATA_BYTES

    def digest(self, suite: Suite) -> str:
        """Of all that a run does besides its settings: a case may come to stand for another."""
        whole = {
            "workload": dict(self.workload),
            "operations": self.operations,
            "data": self.data_bytes,
            "memory": suite.memory_bytes,
            "clients": CLIENTS,
        }
        if suite.empties_level0:
            whole["empties_level0"] = True
        return _digest(whole)

    def profile(self, suite: Suite, machine: str) -> Profile:
        """The case on a machine."""
        return Profile(
            name=self.name,
            workload=Workload.model_validate(self.workload),
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
        return _digest(dict(self.settings))


@dataclass(frozen=True)
class Suite:
    """What is run on one product."""

    product: str
    """`rocksdb`, `innodb` or `myrocks`."""
    engine: Engine
    """Whose settings it takes."""
    memory_bytes: int
    cases: tuple[Case, ...]
    empties_level0: bool = False
    """Whether what is measured begins with no file in level 0, where an engine has one. In a server
    the writes of loading are not the driver's alone, and one file more or less decides whether
    little data is compacted within the run."""

    @property
    def file(self) -> str:
        """The name of the table that ships."""
        return f"{self.product}.csv"

    def configurations(self) -> tuple[Configuration, ...]:
        """The settings of every case; the first is repeated for the noise."""
        defaults = knobs.defaults(self.engine)
        return tuple(
            Configuration(name, {**defaults, **knobs.check(self.engine, own, name)})
            for name, own in _settings()[self.product].items()
        )


_KEYS = {"kind": "key_value"}
_OVERWRITE = {**_KEYS, "reads": 0, "overwrites": 1}
_READ = {**_KEYS, "reads": 1, "overwrites": 0}
_MIXED = {**_KEYS, "reads": 1, "overwrites": 1}
_OF_KEYS: tuple[Case, ...] = (
    Case("overwrite", "random overwrites, flat out", _OVERWRITE, "ops_per_s", 600_000),
    Case(
        "read",
        "uniform reads, a tenth of absent keys",
        {**_READ, "absent_share": 0.1},
        "ops_per_s",
        120_000,
    ),
    Case("hot-read", "zipfian reads", {**_READ, "distribution": "zipfian"}, "ops_per_s", 200_000),
    Case("mixed", "half reads and half overwrites", _MIXED, "ops_per_s", 600_000),
    Case(
        "scan",
        "short scans with a tenth of inserts",
        {**_KEYS, "reads": 0, "overwrites": 0, "inserts": 1, "scans": 9},
        "ops_per_s",
        60_000,
    ),
    Case(
        "paced",
        "overwrites at a fixed rate: what they cost, free of the noise of a shared machine",
        {**_OVERWRITE, "requests_per_second": 30_000},
        "write_amp",
        300_000,
    ),
    Case(
        "fitting-mixed",
        "half reads and half overwrites of data that fits",
        _MIXED,
        "ops_per_s",
        400_000,
        FITTING_BYTES,
    ),
)
_READ_WRITE = {"kind": "sysbench", "script": "oltp_read_write"}


_OF_TABLES: tuple[Case, ...] = (
    Case("linkbench", "the social graph", {"kind": "linkbench"}, "ops_per_s", 40_000, TABLE_BYTES),
    Case(
        "sysbench-read-write",
        "transactions of 18 statements, 4 of which write",
        _READ_WRITE,
        "ops_per_s",
        6_000,
        TABLE_BYTES,
    ),
    Case(
        "sysbench-point-select",
        "one row by its key",
        {"kind": "sysbench", "script": "oltp_point_select"},
        "ops_per_s",
        100_000,
        TABLE_BYTES,
    ),
    Case(
        "insert-benchmark",
        "batches of 50 rows with three secondary indexes",
        {"kind": "insert_benchmark", "rows_per_commit": 50, "data_bytes": 100},
        "ops_per_s",
        100_000,
        TABLE_BYTES,
    ),
    Case(
        "fitting-read-write",
        "the same transactions on data that fits",
        _READ_WRITE,
        "ops_per_s",
        6_000,
        FITTING_TABLE_BYTES,
    ),
)
SUITES: Mapping[str, Suite] = {
    suite.product: suite
    for suite in (
        Suite(
            "rocksdb",
            ENGINE,
            96 * MIB,
            _OF_KEYS,
        ),
        Suite(
            "innodb",
            ENGINE_OF["innodb"],
            SERVER_MEMORY_BYTES,
            _OF_TABLES,
            empties_level0=True,
        ),
        Suite(
            "myrocks",
            ENGINE_OF["myrocks"],
            SERVER_MEMORY_BYTES,
            _OF_TABLES,
            empties_level0=True,
        ),
    )
}
"""By product."""


@cache
def _settings() -> dict[str, dict[str, Settings]]:
    """By product and name, over the defaults."""
    path = data_path("datasets", "validation") / "settings.toml"
    settings: dict[str, dict[str, Settings]] = tomllib.loads(path.read_text(encoding="utf-8"))
    return settings
