"""The loads by which calls of the real engines are measured: statements where a product serves SQL,
keys where it is a library; everything cached but for those that wait for the drive.

As many clients as keep the machine busy make them, or one alone where clients would wait for one
another: a thread of RocksDB that waits for another to write turns and yields until it may, on any
core that has nothing better to do (`WriteThread::AwaitState`). Buffered puts of one client took 5.6
us of CPU time on an idle machine with two cores, those of four 13.7, and 6.3 where another program
kept one core busy, at no higher rate than those of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from advisor.knobs import Engine, Settings
from advisor.real import RealEngine, Server
from advisor.real.server import ENGINE_OF

ROWS, MANY_ROWS = 50_000, 200_000
KEYS = 200_000
GRAPH_IDS = 20_000
SIMULATED_OPERATIONS = 20_000
MIB = 1 << 20
Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Load:
    """One load on a product and in the simulation."""

    name: str
    workload: Parameters
    operations: int | None = None
    """Simulated; as many as on the product if absent."""
    real_operations: int | None = None
    """On the product; as many as it makes in seconds if absent."""
    options: Settings = field(default_factory=dict)
    """Beside those of `CACHED`."""
    clients: int | None = None
    """As many as keep the machine busy if absent."""
    waits: bool = False
    """Whether its data is larger than the cache, and read past that of the operating system."""
    settles: bool = False
    """Whether it runs from one settled state to another, with all of its background work."""


def _script(name: str, operations: int = SIMULATED_OPERATIONS, **parameters: Any) -> Load:
    workload = {"kind": "sysbench", "script": f"oltp_{name}", "table_size": ROWS, **parameters}
    return Load(_named(name, parameters), workload, operations)


def _graph(mix: str) -> Load:
    """Reads of several rows by their keys in one statement, and short lists, beside writes."""
    workload = {"kind": "linkbench", "ids": GRAPH_IDS, "mix": mix}
    return Load(_named("linkbench", {"mix": mix}), workload, SIMULATED_OPERATIONS)


def _inserts(
    rows_per_commit: int, operations: int = SIMULATED_OPERATIONS, **parameters: Any
) -> Load:
    """Rows that come so many a statement, with a look for the key of each."""
    asked = {"rows_per_commit": rows_per_commit, **parameters}
    workload = {"kind": "insert_benchmark", "rows": ROWS, **asked}
    return Load(_named("insert_benchmark", asked), workload, operations)


def _benchmark(name: str, options: Settings | None = None, **parameters: Any) -> Load:
    workload = {"kind": "db_bench", "benchmark": name, "keys": KEYS, **parameters}
    options = options or {}
    clients = None if name in _READING else 1
    name = _named(name, {**parameters, **options})
    return Load(name, workload, options=options, clients=clients)


_READING = ("readrandom", "seekrandom")


def _named(name: str, parameters: Parameters) -> str:
    return ", ".join([name, *(f"{key} {value}" for key, value in parameters.items())])


NO_FLUSH: Settings = {"write_buffer_size": 512 * MIB}
"""What a load writes stays in the memtable: the calls of clients alone."""
UNMERGED: Settings = {
    "write_buffer_size": 2 * MIB,
    "compression": "kNoCompression",
    "level0_file_num_compaction_trigger": 1000,
    "level0_slowdown_writes_trigger": 2000,
    "level0_stop_writes_trigger": 3000,
}
"""Flushes alone, of memtables in the processor's caches. Writes to one memtable as small as that
end before a Java virtual machine has compiled what makes them."""
MANY_KEYS = 1_500_000
"""In a memtable of 300 MB, where most of a search misses the caches."""
BLOCK, LARGE_BLOCK = 4 << 10, 32 << 10
"""RocksDB's default, and one beside it by which what a block of a codec costs is told from what its
bytes do."""


def _buffered(keys: int, batch: int) -> Load:
    load = _benchmark("overwrite", NO_FLUSH, batch=batch)
    return replace(load, name=f"{keys:,} keys buffered, batch {batch}", real_operations=keys)


def _flushed(batch: int) -> Load:
    load = _benchmark("overwrite", UNMERGED, batch=batch)
    return replace(load, name=f"overwrite, flushed, batch {batch}", settles=True)


def _merged(codec: str, memtable: int, block: int = BLOCK, **parameters: Any) -> Load:
    """Overwrites whose flushes and compactions take more than the writes."""
    options: Settings = {"write_buffer_size": memtable, "compression": codec, "block_size": block}
    return replace(_benchmark("overwrite", options, batch=10, **parameters), settles=True)


def _uncached(codec: str, block: int = BLOCK) -> Load:
    """Reads that find their blocks in the page cache alone."""
    options: Settings = {"block_cache": MIB, "compression": codec, "block_size": block}
    return _benchmark("readrandom", options)


def _waiting(load: Load) -> Load:
    """The same on more data than the cache takes: reads wait for the drive."""
    return replace(load, name=f"{load.name}, from the drive", waits=True)


def _with(options: Settings, load: Load) -> Load:
    """The same with these options, and their names in its own."""
    return replace(load, name=_named(load.name, options), options=options)


def _stored_with(codec: str, block: int) -> Load:
    """Rows whose blocks are in the page cache alone."""
    options: Settings = {"block_cache": MIB, "compression": codec, "block_size": block}
    return _with(options, _script("point_select"))


def _merged_with(codec: str, block: int) -> Load:
    """Rows whose flushes and compactions take more than the statements."""
    options: Settings = {"write_buffer_size": MIB, "compression": codec, "block_size": block}
    return _with(options, _inserts(50, 200_000))


def _packed_pages(load: Load) -> Load:
    """The same on pages that InnoDB compresses itself."""
    return _with({"innodb_compression_algorithm": "zlib"}, load)


OF_SERVERS = (
    _script("point_select"),
    # A range of one row is a point select to the optimizer.
    _script("read_only", 2_000, range_size=10),
    _script("read_only", 2_000, range_size=50),
    _script("read_only", 2_000, range_size=200),
    _script("update_index"),
    _script("update_non_index"),
    _script("insert"),
    _script("write_only", 5_000),
    _inserts(1),
    _inserts(50, 200_000),
    _inserts(50, 200_000, secondary_indexes=0),
    _graph("facebook"),
    _graph("fork2020"),
    _waiting(_script("point_select", table_size=MANY_ROWS)),
    # Several waits in one statement, some of them.
    _waiting(_script("read_only", 2_000, table_size=MANY_ROWS)),
)
OF_MYROCKS = (
    _stored_with("kSnappyCompression", BLOCK),
    _stored_with("kSnappyCompression", LARGE_BLOCK),
    _merged_with("kSnappyCompression", BLOCK),
    _stored_with("kLZ4Compression", BLOCK),
    _merged_with("kLZ4Compression", BLOCK),
    _stored_with("kZlibCompression", BLOCK),
    _stored_with("kZlibCompression", LARGE_BLOCK),
    _merged_with("kZlibCompression", BLOCK),
    _merged_with("kZlibCompression", LARGE_BLOCK),
)
"""Beside those of all servers: what comes into the block cache, what flushes and compactions take
in, and the snappy and zlib that it is linked with."""
OF_INNODB = (
    _packed_pages(replace(_inserts(50), operations=None, settles=True)),
    _waiting(_packed_pages(_script("update_non_index", table_size=MANY_ROWS))),
    _waiting(_packed_pages(_script("point_select", table_size=MANY_ROWS))),
)
"""Beside those of all servers: pages that are compressed as they are written, of entries, each of
them once, and of digits, on which zlib takes half as long; and pages that are read."""
ALONE = replace(_script("point_select"), name="point_select, one client", clients=1)
"""A statement at a time, which no other waits for and which waits for no other."""
ROUNDS = 3
"""Of loads that hang on the moment. Those that wait for the drive: the host of a virtual one has
better and worse ones; 22 to 31 us of CPU time for the same read within an hour."""
OF_LIBRARIES = (
    _benchmark("readrandom"),
    _benchmark("seekrandom", seek_nexts=0),
    _benchmark("seekrandom", seek_nexts=50),
    _flushed(1),
    _flushed(10),
    _buffered(200_000, 10),
    _buffered(MANY_KEYS, 10),
    _benchmark("fillrandom", NO_FLUSH, batch=1),
    _merged("kLZ4Compression", 4 * MIB),
    _merged("kLZ4Compression", MIB),
    _merged("kSnappyCompression", 4 * MIB),
    _merged("kNoCompression", 4 * MIB, compression_ratio=1.0, value_bytes=1000),
    # Values in which a codec finds no match, and skips.
    _merged("kLZ4Compression", 4 * MIB, compression_ratio=1.0),
    _merged("kSnappyCompression", 4 * MIB, compression_ratio=1.0),
    _merged("kSnappyCompression", 4 * MIB, compression_ratio=1.0, value_bytes=1000),
    # As many bytes as before, and a match in each hundred.
    _merged("kSnappyCompression", 4 * MIB, value_bytes=1000),
    _uncached("kLZ4Compression"),
    _uncached("kSnappyCompression"),
    _merged("kZlibCompression", 4 * MIB),
    _merged("kZlibCompression", 4 * MIB, LARGE_BLOCK),
    _uncached("kZlibCompression"),
    _uncached("kZlibCompression", LARGE_BLOCK),
    _waiting(_benchmark("readrandom", {"compression": "kNoCompression"})),
    # What follows a wait is cold, and more of it is where a block is also decompressed.
    _waiting(_benchmark("readrandom", {"compression": "kSnappyCompression"})),
)
CACHED: Mapping[Engine, Mapping[str, Any]] = {
    ENGINE_OF["myrocks"]: {
        "block_cache": 512 * MIB,
        "filter_policy": "bloomfilter:10:false",
        # A server's default is to sync.
        "sync": False,
    },
    ENGINE_OF["innodb"]: {
        "innodb_buffer_pool_size": 512 * MIB,
        "innodb_redo_log_capacity": 512 * MIB,
        "innodb_flush_log_at_trx_commit": 2,
    },
}
WAITING: Mapping[Engine, Mapping[str, Any]] = {
    ENGINE_OF["myrocks"]: {
        "block_cache": MIB,
        "use_direct_reads": True,
        "use_direct_io_for_flush_and_compaction": True,
    },
    ENGINE_OF["innodb"]: {"innodb_buffer_pool_size": 8 * MIB},
}
"""Over `CACHED`, of the loads that wait."""


def loads_of(real: RealEngine) -> tuple[Load, ...]:
    """The loads of a product, in their order: those that wait for the drive in rounds that lie
    apart, before, between and after the others."""
    every: tuple[Load, ...] = OF_LIBRARIES
    if isinstance(real, Server):
        every = OF_SERVERS + (OF_MYROCKS if real.storage == "myrocks" else OF_INNODB)
    waiting = [load for load in every if load.waits]
    cached = [load for load in every if not load.waits]
    ordered: list[Load] = []
    for number in range(ROUNDS):
        ordered += [replace(load, name=f"{load.name}, round {number + 1}") for load in waiting]
        first, last = (n * len(cached) // (ROUNDS - 1) for n in (number, number + 1))
        ordered += cached[first:last]
    return tuple(ordered)
