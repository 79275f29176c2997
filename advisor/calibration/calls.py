"""What calls of the real engines of this machine cost beyond the core's own work: the same runs on
the product and simulated, everything cached but for one run, which says what a wait for the drive
leaves cold.

A run of the product says how much CPU time an operation takes there, with as many clients as keep
the machine busy, or alone where clients would wait for one another: a thread of RocksDB that waits
for another to write turns and yields until it may, on any core that has nothing better to do
(`WriteThread::AwaitState`). Buffered puts of one client took 5.6 us of CPU time on an idle machine
with two cores, those of four 13.7, and 6.3 where another program kept one core busy, at no higher
rate than those of one. The same run, simulated at this machine's own costs, says how much of it is
work that the core does too, and how often each call is made. What is left is the calls', and is
shared among them by runs that make them in different proportions (`fit`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from advisor import core as bridge
from advisor import scratch
from advisor.calibration.fit import Fit, Observation, fit
from advisor.core import Core
from advisor.hardware import calls, hardware
from advisor.knobs import Engine, Settings
from advisor.real import ProcessCore, RealEngine, Server, engine_of, real_spec
from advisor.real.server import ENGINE_OF
from advisor.scale import machine_spec
from advisor.spec import Spec

SECONDS = 2.5
CLIENTS_PER_CORE = 2
SEED = 1
ROWS, MANY_ROWS = 50_000, 200_000
KEYS = 200_000
GRAPH_IDS = 20_000
SIMULATED_OPERATIONS = 20_000
MOST_SIMULATED = 1_500_000
"""Operations of a library's load, where the simulation makes as many as the product did."""
SHIPPED = "nvme-2024"
"""The machine whose calls a calibration starts from."""
LEAST_NS = 50.0
"""Where those have none: a fit in proportions cannot start from nothing."""
PAGE_CACHE_BYTES = 4 << 30
"""As a machine that has room for all of it, as this one has."""
BUILT_IN: Mapping[str, float] = {
    "block_fetch": 500.0,
    "snapped_byte": 0.6,
    "unsnapped_byte": 0.2,
    "zipped_byte": 7.0,
    "zipped_block": 10_000.0,
    "unzipped_byte": 1.2,
    "unzipped_block": 4000.0,
}
"""Where the fit of what shipped figures leave out begins. Of a codec with as much again as the
core's own: whether it is optimized is the build's, and that of the Java archive is not; zlib itself
takes longer than what the core has in its place. Of a block that is fetched: assumption, a few
allocations."""
COLD_WAIT_NS = 5000.0
"""Where the fit of what a wait costs begins, for every product: assumption, some fifty lines that
are not in the caches."""

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
    """On the product; as many as it makes in `SECONDS` if absent."""
    options: Settings = field(default_factory=dict)
    """Beside those of `CACHED`."""
    clients: int | None = None
    """As many as keep the machine busy if absent."""
    waits: bool = False
    """Whether its data is larger than the cache, and read past that of the operating system."""


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
FEW_KEYS, MANY_KEYS = 40_000, 1_500_000
"""In a memtable of 8 MB and in one of 300, where most of a search misses the caches."""
BLOCK, LARGE_BLOCK = 4 << 10, 32 << 10
"""RocksDB's default, and one beside it by which what a block of a codec costs is told from what its
bytes do."""


def _buffered(keys: int, batch: int) -> Load:
    load = _benchmark("overwrite", NO_FLUSH, batch=batch)
    return replace(load, name=f"{keys:,} keys buffered, batch {batch}", real_operations=keys)


def _merged(codec: str, memtable: int, block: int = BLOCK) -> Load:
    """Overwrites whose flushes and compactions take more than the writes."""
    options: Settings = {"write_buffer_size": memtable, "compression": codec, "block_size": block}
    return _benchmark("overwrite", options, batch=10)


def _uncached(codec: str, block: int = BLOCK) -> Load:
    """Reads that find their blocks in the page cache alone."""
    options: Settings = {"block_cache": MIB, "compression": codec, "block_size": block}
    return _benchmark("readrandom", options)


def _waiting(load: Load) -> Load:
    """The same on more data than the cache takes: reads wait for the drive."""
    return replace(load, name=f"{load.name}, from the drive", waits=True)


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
)
ALONE = replace(_script("point_select"), name="point_select, one client", clients=1)
"""A statement at a time, which no other waits for and which waits for no other."""
OF_LIBRARIES = (
    _benchmark("readrandom"),
    _benchmark("seekrandom", seek_nexts=0),
    _benchmark("seekrandom", seek_nexts=50),
    _buffered(FEW_KEYS, 1),
    _buffered(FEW_KEYS, 10),
    _buffered(200_000, 10),
    _buffered(MANY_KEYS, 10),
    _benchmark("fillrandom", NO_FLUSH, batch=1),
    _merged("kLZ4Compression", 4 * MIB),
    _merged("kLZ4Compression", MIB),
    _merged("kSnappyCompression", 4 * MIB),
    _uncached("kLZ4Compression"),
    _uncached("kSnappyCompression"),
    _merged("kZlibCompression", 4 * MIB),
    _merged("kZlibCompression", 4 * MIB, LARGE_BLOCK),
    _uncached("kZlibCompression"),
    _uncached("kZlibCompression", LARGE_BLOCK),
    _waiting(_benchmark("readrandom", {"compression": "kNoCompression"})),
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
PROGRESS = Callable[[str], None]


@dataclass(frozen=True)
class Calls:
    """What the calls of a product cost here."""

    product: str
    """`rocksdb`, `innodb` or `myrocks`."""
    version: str
    """Its name and version, as it says itself."""
    fit: Fit
    round_trip_ns: float | None
    """What a client takes for each statement that it sends to a server; None for a library."""
    statement_wait_us: float | None
    """What a statement of a single client takes beyond CPU time of both sides; None for a
    library."""


def runs_of(real: RealEngine) -> int:
    """How many runs of a product `measure` makes."""
    return len(loads(real)) + isinstance(real, Server)


def loads(real: RealEngine) -> tuple[Load, ...]:
    """The loads of a product: statements where it serves SQL, keys where it is a library."""
    return OF_SERVERS if isinstance(real, Server) else OF_LIBRARIES


def measure(
    real: RealEngine,
    work_ns: Mapping[str, float],
    *,
    cores: int,
    directory: Path | None = None,
    on_run: PROGRESS = lambda name: None,
    cancelled: Callable[[], bool] | None = None,
    core: Core | None = None,
) -> Calls:
    """Measures a product's calls on this machine of so many cores, whose own work costs `work_ns`.

    Raises `InputError` for an engine that cannot be opened, `WorkError` for a run that failed, and
    `Cancelled`.
    """
    core = core or bridge.load()
    product = real.storage if isinstance(real, Server) else "rocksdb"
    known = known_calls(product)
    own = {kind["name"]: float(kind["ns"]) for kind in core.work_kinds()} | dict(work_ns)
    version, observations, of_clients = "", [], []

    def run(load: Load) -> Any:
        on_run(f"{product}: {load.name}")
        with scratch.folder(directory) as folder:
            spec = _measured(real, load, str(folder), cores)
            return bridge.run(spec, cancelled=cancelled, core=ProcessCore(core))

    for load in loads(real):
        report = run(load)
        version = "{name} {version}".format(**report["product"])
        real_ns = 1e3 * report["metrics"]["cpu_us_per_op"]
        cost = {"work_ns": dict(work_ns), "calls": {product: known}}
        operations = load.operations or min(report["operations"], MOST_SIMULATED)
        work = _work(engine_of(real), load, operations, cost, cores, core)
        trips = work.pop("round_trip", 0.0)
        own_ns = sum(units * own[kind] for kind, units in work.items() if kind not in known)
        counts = {kind: units for kind, units in work.items() if kind in known}
        observations.append(Observation(load.name, counts, real_ns, known_ns=own_ns))
        if trips:
            of_clients.append(1e3 * report["metrics"]["client_cpu_us_per_op"] / trips)
    # A client also takes rows in, and more CPU time where it is put aside for others.
    round_trip_ns = min(of_clients, default=None)
    wait_us = _waits_us(run(ALONE)["metrics"]) if isinstance(real, Server) else None
    return Calls(product, version, fit(observations, known), round_trip_ns, wait_us)


def _waits_us(metrics: Mapping[str, float]) -> float:
    """What an operation of a single client takes while neither it nor the server computes."""
    computes_us = metrics["cpu_us_per_op"] + metrics["client_cpu_us_per_op"]
    return max(0.0, 1e6 / metrics["ops_per_s"] - computes_us)


def known_calls(product: str) -> dict[str, float]:
    """What the calls of a product cost elsewhere, nanoseconds."""
    shipped = calls(hardware(SHIPPED).calls).by_product[product]
    per_call = {name: max(ns, LEAST_NS) for name, ns in shipped.items() if not _is_byte(name)}
    per_byte = {name: ns for name, ns in shipped.items() if _is_byte(name)}
    left_out = BUILT_IN if product == "rocksdb" else {}
    return {**per_call, **per_byte, **left_out, "cold_wait": COLD_WAIT_NS}


def _is_byte(call: str) -> bool:
    return call.endswith("_byte")


def _measured(real: RealEngine, load: Load, directory: str, cores: int) -> Spec:
    by_time = {"seconds": SECONDS, "warmup_seconds": SECONDS / 4}
    length = {"operations": load.real_operations} if load.real_operations else by_time
    spec = _spec(engine_of(real), load, cores) | {
        "clock": "measured",
        "directory": directory,
        **length,
    }
    return real_spec(cast(Spec, spec), real)[0]


def _spec(engine: Engine, load: Load, cores: int) -> dict[str, Any]:
    waiting = WAITING[engine] if load.waits else {}
    return {
        "engine": engine,
        "options": {**CACHED[engine], **waiting, **load.options},
        "workload": dict(load.workload),
        "clients": load.clients or cores * CLIENTS_PER_CORE,
        "seed": SEED,
    }


def _work(
    engine: Engine,
    load: Load,
    operations: int,
    cost: Mapping[str, Any],
    cores: int,
    core: Core,
) -> dict[str, float]:
    """Units of work of an operation, simulated on a machine with this cost, which speaks for the
    product."""
    machine = machine_spec(hardware(SHIPPED))
    spec = _spec(engine, load, cores) | {
        "clock": "simulated",
        "operations": operations,
        "hardware": {
            **machine,
            "cores": cores,
            "cost": cost,
            "page_cache_bytes": PAGE_CACHE_BYTES,
        },
    }
    report = bridge.run(cast(Spec, spec), core=core)
    return {kind: units / report["operations"] for kind, units in report["work"].items()}
