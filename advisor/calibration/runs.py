"""The runs that a calibration measures: short, small enough for memory, and different enough in
what they do that the kinds of work can be told apart.

A kind is told from the others by runs that differ in little else: the same reads from a cache and
past it, with 4 KiB and 16 KiB blocks, with each compression; values that compress and that do not;
writes one at a time and in batches, with and without a log, a sync, long values, compactions; scans
of one entry and of hundreds; and the same reads of data that fits into the processor's caches and
of data that does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from advisor.calibration.fit import Observation
from advisor.knobs import Engine
from advisor.spec import Report, Spec

SECONDS = 0.8
KEYS = 150_000
"""Times 116 bytes: 17 MB, loaded in a fraction of a second, and a hundred times the small cache."""
FEW_KEYS = 2_000
MANY_KEYS = 600_000
LEAST_SHARE = 0.05
"""Of a run's CPU time, that its background jobs must take to say something."""
SMALL = 1 << 20
"""A cache or pool that holds next to nothing of the data."""
MIB = 1 << 20

Parameters = Mapping[str, Any]
Options = Mapping[str, Any]


@dataclass(frozen=True)
class Run:
    """One measured run of a calibration."""

    name: str
    engine: Engine
    workload: Parameters
    options: Options = field(default_factory=dict)
    clients: int = 1
    only_computes: bool = False
    """Whether it waits for nothing: on an idle machine it keeps a core busy."""

    def spec(self, directory: str) -> Spec:
        """The run as the core takes it."""
        return {
            "engine": self.engine,
            "options": {**FIXED[self.engine], **self.options},
            "workload": {"kind": "db_bench", "keys": KEYS, **self.workload},
            "clients": self.clients,
            "seconds": SECONDS,
            "warmup_seconds": SECONDS / 4,
            "clock": "measured",
            "directory": directory,
        }


FIXED: Mapping[Engine, Options] = {
    "lsm": {
        "block_cache": 512 * MIB,
        "compression": "kNoCompression",
        "write_buffer_size": 8 * MIB,
        "max_bytes_for_level_base": 32 * MIB,
        "target_file_size_base": 8 * MIB,
    },
    "btree": {
        "innodb_buffer_pool_size": 256 * MIB,
        "innodb_redo_log_capacity": 256 * MIB,
        "innodb_flush_log_at_trx_commit": 2,
        "innodb_io_capacity": 2000,
        "innodb_io_capacity_max": 20_000,
    },
}

GETS = {"benchmark": "readrandom"}
PUTS = {"benchmark": "overwrite"}
IN_ORDER = {"load_order": "sequential"}
"""A load past a small pool that goes through it once."""
FILL = {"benchmark": "fillrandom", "keys": 4_000_000}
MANY = IN_ORDER | {"keys": MANY_KEYS}
LONG = {"value_bytes": 1000, "keys": 20_000}

_LSM_COMPRESSIONS = {"lz4": "kLZ4Compression", "zstd": "kZSTD", "zlib": "kZlibCompression"}


def _seeks(nexts: int) -> Parameters:
    return {"benchmark": "seekrandom", "seek_nexts": nexts}


def _lsm() -> list[Run]:
    blocks, past_cache = {"block_size": 16384}, {"block_cache": SMALL}
    bloom = {"filter_policy": "bloomfilter:10"}
    # Tables in level 0 that a read has to look into one by one, or whose filters spare it that.
    tiers = {"disable_auto_compactions": True, "write_buffer_size": 2 * MIB}
    flushes = {
        "disable_auto_compactions": True,
        "level0_slowdown_writes_trigger": 1000,
        "level0_stop_writes_trigger": 1000,
    }
    return [
        Run("cached reads", "lsm", GETS, only_computes=True),
        Run("cached reads, few keys", "lsm", GETS | {"keys": FEW_KEYS}),
        Run("cached reads, many keys", "lsm", GETS | MANY),
        Run("cached reads, 16 KiB", "lsm", GETS, blocks),
        Run("cached reads, many tables", "lsm", GETS, tiers),
        Run("cached reads, many filters", "lsm", GETS, tiers | bloom),
        Run("cached reads, long values", "lsm", GETS | LONG),
        Run("uncached reads", "lsm", GETS | MANY, past_cache),
        Run("uncached reads, 16 KiB", "lsm", GETS, past_cache | blocks),
        *(
            Run(f"uncached reads, {name}", "lsm", GETS, past_cache | blocks | {"compression": word})
            for name, word in _LSM_COMPRESSIONS.items()
        ),
        Run("writes to memory", "lsm", FILL, {"disable_wal": True, "write_buffer_size": 512 * MIB}),
        Run("writes to log", "lsm", FILL, {"write_buffer_size": 512 * MIB}),
        Run("synced writes", "lsm", FILL, {"sync": True}),
        Run("writes", "lsm", PUTS, bloom),
        Run("writes, flushed alone", "lsm", PUTS, flushes),
        Run(
            "writes, flushed alone, lz4", "lsm", PUTS, flushes | {"compression": "kLZ4Compression"}
        ),
        Run("writes in batches", "lsm", PUTS | {"batch": 100}),
        Run("writes of long values", "lsm", PUTS | LONG),
        *(
            Run(f"writes, {name}", "lsm", PUTS | {"batch": 10}, {"compression": word})
            for name, word in _LSM_COMPRESSIONS.items()
        ),
        # What a block costs and what its bytes do is told by blocks of two sizes.
        *(
            Run(
                f"writes, {name}, 32 KiB",
                "lsm",
                PUTS | {"batch": 10},
                {"compression": _LSM_COMPRESSIONS[name], "block_size": 32768},
            )
            for name in ("zstd", "zlib")
        ),
        Run(
            "writes, lz4, nothing to compress",
            "lsm",
            PUTS | LONG | {"compression_ratio": 1.0},
            {"compression": "kLZ4Compression"},
        ),
        Run("seeks", "lsm", _seeks(0)),
        Run("scans", "lsm", _seeks(300)),
        Run("reads and writes", "lsm", {"benchmark": "readwhilewriting"}, clients=2),
    ]


def _btree() -> list[Run]:
    pages, past_pool = {"innodb_page_size": 4096}, {"innodb_buffer_pool_size": SMALL}
    pressed = {"innodb_buffer_pool_size": 8 * MIB}
    return [
        Run("cached reads", "btree", GETS, only_computes=True),
        Run("cached reads, few keys", "btree", GETS | {"keys": FEW_KEYS}),
        Run("cached reads, many keys", "btree", GETS | MANY),
        Run("cached reads, 4 KiB", "btree", GETS, pages),
        Run("cached reads, long values", "btree", GETS | LONG),
        Run("uncached reads", "btree", GETS | MANY, past_pool),
        Run("uncached reads, 4 KiB", "btree", GETS | IN_ORDER, past_pool | pages),
        *(
            Run(
                f"uncached reads, {name}",
                "btree",
                GETS | IN_ORDER,
                past_pool | {"innodb_compression_algorithm": name},
            )
            for name in _LSM_COMPRESSIONS
        ),
        Run("writes to memory", "btree", PUTS, {"innodb_flush_log_at_trx_commit": 0}),
        Run("writes to log", "btree", PUTS),
        Run("synced writes", "btree", PUTS, {"innodb_flush_log_at_trx_commit": 1}),
        Run("writes in batches", "btree", PUTS | {"batch": 100}),
        Run("writes in order", "btree", {"benchmark": "fillseq", "keys": 4_000_000}),
        Run("writes of long values", "btree", PUTS | LONG),
        Run("writes past the pool", "btree", PUTS | IN_ORDER, pressed),
        *(
            Run(
                f"writes past the pool, {name}",
                "btree",
                PUTS | IN_ORDER,
                pressed | {"innodb_compression_algorithm": name},
            )
            for name in _LSM_COMPRESSIONS
        ),
        Run("seeks", "btree", _seeks(0)),
        Run("scans", "btree", _seeks(300)),
        Run("reads and writes", "btree", {"benchmark": "readwhilewriting"}, clients=2),
    ]


RUNS = (*_lsm(), *_btree())


def observed(run: Run, report: Report) -> Iterator[Observation]:
    """What a run's report says about the costs of work: of its clients', and of what its background
    jobs did, if they did enough of it to be measured. How fast one is beside the other decides what
    the jobs find to do."""
    name = f"{run.engine}: {run.name}"
    all_ns = 1e3 * report["metrics"]["cpu_us_per_op"] * report["operations"]
    jobs = report["background"]
    assert jobs is not None, "measured runs tell background work apart"
    jobs_ns, jobs_work = 1e3 * jobs["cpu_us"], jobs["work"]
    work = {kind: units - jobs_work.get(kind, 0) for kind, units in report["work"].items()}
    yield Observation(name, work, all_ns - jobs_ns)
    if jobs_ns >= LEAST_SHARE * all_ns:
        yield Observation(f"{name}, in the background", jobs_work, jobs_ns)
