"""The shapes that pass between this library and the core: the spec of a run goes in, its report and
its intervals come out.

Sizes are bytes, times microseconds where a name ends in `_us` and seconds where it ends in `_s` or
`seconds`, ratios plain numbers. The core refuses unknown fields of a spec by name; what was not
measured is absent from a report. `docs/spec.md` is made of these types.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired

# pydantic, which holds reports against these types, takes no others before Python 3.12.
from typing_extensions import TypedDict

from advisor.engines.description import Engine

Value = bool | int | float | str
"""Of an option of an engine, or of a parameter of a workload."""


class ScaleSpec(TypedDict):
    """What a smaller copy stands for. Engines, workloads, storage and devices ask it for what does
    not shrink by itself: the seeks and syncs of background jobs, InnoDB's second, the processor's
    caches, the skew of requests, the rows that clients wait for, the indexes of table files."""

    stands_for: float
    """How many times larger the data is that this run speaks for, at least 1."""
    second_us: NotRequired[int]
    """Length of InnoDB's second in microseconds; one part in `stands_for` of a second if absent,
    and at least 1,000."""
    only_draws: NotRequired[bool]
    """Whether draws of keys alone stand for the full size: so it is for a run of the product
    itself, and for one that is held beside it. False if absent."""


class CostSpec(TypedDict, total=False):
    """What computing costs on a machine. A unit of work costs what `work_ns` says; else what the
    product's call says, or the core's own figure, times `slowdown`."""

    work_ns: dict[str, float]
    """Nanoseconds of a unit of work, by its kind (`work_kinds` of the core lists them)."""
    slowdown: float
    """How much longer than the core's own figures everything else takes; 1 if absent."""
    calls: dict[str, dict[str, float]]
    """Nanoseconds that calls of a product take beyond the engine's own work, by product (`rocksdb`,
    `myrocks`, `innodb`) and call. Empty: the machine speaks for the engines here."""
    statement_wait_us: float
    """What each round trip to a SQL server waits without a core, because who is spoken to has to
    wake; 0 if absent."""
    statement_cold_us: float
    """What the client's part of a statement takes beyond `round_trip` where nothing of what it
    needs is left in the caches of its core; 0 if absent."""
    statement_cools_us: float
    """The server's CPU time for a statement that leaves one part in e of that there; with 0, as if
    absent, nothing is ever left."""
    write_turning_us: float
    """How long a writer of RocksDB whose turn has not come turns on its core before it offers that
    to others; 0, where it waits on no core, if absent."""


class HardwareSpec(TypedDict):
    """The machine of a simulated run."""

    cores: int
    """As the operating system counts them, hardware threads included."""
    page_cache_bytes: NotRequired[int]
    """Memory of the operating system's page cache; 0 if absent."""
    device: dict[str, Any]
    """Where the files are: its `kind` (`disk_array`, `flash`, `cloud_volume`) and its figures."""
    cost: NotRequired[CostSpec]
    """What computing costs."""


class WarmupSpec(TypedDict, total=False):
    """The budget of a warm-up, of which at least one bound is given. It ends when nothing changes
    any more, or where `cache_share` is given, when that much of the cache is in use."""

    cache_share: float
    """Part of the block cache or buffer pool, from 0.01 to 1. InnoDB keeps `innodb_lru_scan_depth`
    pages free for each instance. Where no cache is, the warm-up ends at once."""
    most_seconds: float
    """Seconds of the run's clock."""
    most_operations: int
    """Operations of all clients."""


class LoadSpec(TypedDict):
    """How the data is loaded where the run itself does not do it. The engine is loaded with these
    options, settles and closes; then it opens with those of the run, on the same files and device,
    with empty caches. The core keeps what a load left: runs whose engine, workload, clients, scale,
    binary log, hardware and `load` are the same start from it, and report what they would have
    reported after a load of their own."""

    options: NotRequired[dict[str, Value]]
    """Of the engine while it is loaded, those that differ from the defaults."""
    page_cache_bytes: NotRequired[int]
    """Memory of the page cache meanwhile; that of the hardware if absent."""
    seed: NotRequired[int]
    """Of the data, and of what all clients share; the run's if absent. That of the run is then
    left with the draws of its clients."""


class BinaryLogSpec(TypedDict):
    """A server's own log around the engine, in row format, by MySQL's settings."""

    sync_binlog: int
    """Transactions between syncs; 0 leaves syncing to the operating system."""
    max_binlog_size: int
    """Bytes after which a new file begins; at least 4,096."""
    binlog_row_image: Literal["FULL", "MINIMAL"]
    """What a row of the log holds."""


class Length(TypedDict, total=False):
    """How long a run goes, by its own clock. Of `seconds` and `operations` one is given."""

    seconds: float
    """Length of the measured phase, which ends at whichever bound comes first."""
    operations: int
    """Operations of all clients in the measured phase."""
    warmup_seconds: float
    """Length of a warm-up that nobody judges."""
    warmup_operations: int
    """Operations of all clients in it, at most; of the two bounds the first ends it."""
    warmup: WarmupSpec
    """A warm-up until the run is steady, or the cache full, in place of `warmup_seconds` and
    `warmup_operations`; a run that was to be steady is then judged."""
    ends: Literal["running", "settled"]
    """`settled` for a measured phase that begins and ends with a settled engine: the background
    settles before it, and behind it at its cost. `running`, a piece of a run that goes on, if
    absent."""
    empties_level0: bool
    """Whether level 0 of an LSM is merged down before the measured phase, so that what had gathered
    there decides nothing in it; not if absent."""
    interval_ms: int
    """Length of an interval of the report in milliseconds, at least 10; 100 if absent."""


class Spec(Length):
    """One run."""

    engine: Engine | Literal["rocksdb", "innodb", "myrocks"]
    """Which engine runs: `lsm` or `btree`; under the real clock `rocksdb`, whose options are
    `library`, the path of a shared library, `options_file`, the text of an OPTIONS file, and what
    goes beside it: `block_cache`, `sync`, `disable_wal`; or `innodb` or `myrocks`, with
    `server`, the path of a mariadbd or mysqld, `options_file`, the text of a my.cnf without paths,
    and `table_options`, which follow each CREATE TABLE."""
    options: NotRequired[dict[str, Value]]
    """Its options that differ from the defaults, by the names of RocksDB or InnoDB."""
    workload: dict[str, Value]
    """Its `kind` and those of its parameters that differ from the defaults."""
    scale: NotRequired[ScaleSpec]
    """What the run stands for; absent at full size."""
    clients: NotRequired[int]
    """Threads of the workload, 1 to 1,024; 1 if absent."""
    seed: NotRequired[int]
    """Of everything random; 1 if absent."""
    clock: NotRequired[Literal["measured", "simulated", "real"]]
    """`measured`, the wall clock, if absent; `real` for a real engine under the same."""
    directory: NotRequired[str]
    """Measured or real: where the run's files go. It is emptied before and removed afterwards."""
    keep: NotRequired[bool]
    """Measured or real: whether the files stay; false if absent."""
    hardware: NotRequired[HardwareSpec]
    """Simulated: the machine."""
    load: NotRequired[LoadSpec]
    """Simulated: how the data was loaded; absent where this run loads it, with its own options."""
    memory_limit: NotRequired[int]
    """Bytes; the run fails if its engine grows past it."""
    binary_log: NotRequired[BinaryLogSpec]
    """A server's own log, if it keeps one."""


_From = TypedDict("_From", {"from": float})  # No class has a field that is a word of Python's.
"""Its level before."""


class SeriesChange(_From):
    """A series that was on another level in the later part of a phase, in its own unit."""

    series: str
    """A metric, or a share of the engine's shape such as `dirty_pages_share`."""
    to: float
    """Its level afterwards."""


class Steadiness(TypedDict):
    """What kept a run from being steady."""

    is_warm: bool
    """Whether nothing changed any more in the later half of the warm-up."""
    warmup_seconds: float
    """How long it was."""
    warmup_operations: int
    """How many operations it had."""
    changed_in_warmup: list[SeriesChange] | None
    """What still changed; null if the phase was too short to tell."""
    changed_in_run: list[SeriesChange] | None
    """What changed while the run was measured; null if it was too short to tell."""


class Latencies(TypedDict, total=False):
    """Latencies in microseconds, waits for admission included; absent without operations."""

    p50_us: float
    """Median."""
    p95_us: float
    """95th percentile."""
    p99_us: float
    """99th percentile."""
    p999_us: float
    """99.9th percentile."""
    max_us: float
    """The longest."""


class OperationLatencies(Latencies):
    """Latencies of one kind of operation."""

    count: int
    """Operations of this kind."""


class Metrics(Latencies, total=False):
    """The numbers of the measured phase, arithmetic on its meters. Rates, bytes, reads and CPU time
    hold what paying its debt took, where there is one; latencies and waits are those of the phase
    itself."""

    ops_per_s: float
    """Operations of all clients per second of the phase and of `debt_s`."""
    debt_s: float
    """Seconds by which paying the phase's debt makes it longer; absent where that takes real time
    and the phase does not end settled."""
    reads_per_op: float
    """Reads from storage: those of the device if simulated, the engine's calls if measured."""
    read_kb_per_op: float
    """KiB read from storage per operation."""
    write_kb_per_op: float
    """KiB written to storage per operation."""
    file_system_kb_per_op: float
    """Simulated: of these, KiB that the file system wrote in the phase on its own account, such as
    commits of its journal. No counter of a real engine has them, nor those of its process."""
    write_amp: float
    """Bytes written to storage / key and value bytes that clients wrote."""
    read_amp: float
    """Blocks or pages asked for per operation."""
    space_amp: float
    """Bytes on disk / live key and value bytes."""
    cpu_us_per_op: float
    """CPU time of the engine, in its clients' threads and in the background, per operation, in
    microseconds; of a SQL server all of the server's and none of its clients'."""
    client_cpu_us_per_op: float
    """CPU time of a server's clients on the same machine per operation, in microseconds."""
    cache_hit_ratio: float
    """Of the engine's cache of blocks or pages."""
    bloom_false_positive_ratio: float
    """Share of the questions about absent keys that a filter did not deny."""
    stall_s: float
    """Seconds that the average client waited for admission; of a real engine, in which it held
    writers up."""
    backlog_s: float
    """How long ago the next operation was due at the end, where operations come at a rate; 0 if it
    was kept."""
    disk_bytes: int
    """Bytes on disk at the end, without a redo log and a doublewrite area."""
    kernel_read_kb_per_op: float
    """Real: KiB that the kernel fetched from devices for this process, per operation."""
    kernel_write_kb_per_op: float
    """Real: KiB that it sends to devices, those of files included that are removed before."""
    memory_bytes: int
    """The most memory that the engine used, by its own count."""
    process_memory_bytes: int
    """Real: the most memory that the process of the run had resident in the measured phase, less
    what it had before the engine was opened: the engine with all that its allocator keeps, its
    library, and the clients; of a server all that its process has. Absent where the kernel does
    not tell."""
    device_bytes: float
    """Flash: bytes that the host wrote to the device."""
    trimmed_bytes: float
    """Flash: bytes that the host trimmed."""
    nand_bytes: float
    """Flash: bytes programmed, garbage collection included."""
    erases: float
    """Flash: superblocks erased."""
    flash_waf: float
    """Flash: bytes programmed / bytes that the host wrote."""
    drive_years: float
    """Flash: years until it is worn out at the rate of this phase: rated cycles x raw size over
    bytes programmed."""


class PurposeCounts(TypedDict, total=False):
    """What storage was asked for on behalf of one purpose. What a real engine does not count is
    absent."""

    written_bytes: int
    """Bytes written."""
    writes: int
    """Writes."""
    read_bytes: int
    """Bytes read."""
    reads: int
    """Reads."""
    syncs: int
    """Syncs."""


class Background(TypedDict):
    """The part of the work that background jobs did."""

    cpu_us: float
    """CPU time in microseconds."""
    work: dict[str, int]
    """Units by kind of work."""


class Debt(TypedDict):
    """What the measured phase left to the background: bytes that it has still to write to flush
    memtables and merge files, or to write dirty pages."""

    before_bytes: NotRequired[int]
    """Owed when the phase began; absent for one that begins settled."""
    after_bytes: NotRequired[int]
    """Owed when it ended; absent for one that ends settled."""
    seconds: float
    """How long the background took for what the phase had added, the clients being stopped."""
    written_bytes: int
    """Bytes that it wrote for that."""


class Load(TypedDict):
    """The load of the data, with what it left to the background."""

    seconds: float
    """How long it took."""
    operations: int
    """Rows written."""
    user_bytes: int
    """Key and value bytes written."""
    written_bytes: int
    """Bytes that reached storage."""
    live_bytes: int
    """Live key and value bytes at its end."""


class DeviceUse(TypedDict):
    """What the simulated device did, from the load on."""

    read_bytes: int
    """Bytes read."""
    written_bytes: int
    """Bytes that the host wrote."""
    trimmed_bytes: int
    """Bytes that the host trimmed."""
    nand_bytes: int
    """Bytes programmed; 0 but for flash."""
    erases: int
    """Superblocks erased; 0 but for flash."""
    busy_s: float
    """Seconds of service, summed over all that serve at once."""


class PageCacheUse(TypedDict):
    """Pages of buffered reads, from the load on."""

    hits: int
    """Pages that the page cache held."""
    misses: int
    """Pages that were read from the device."""


class Interval(TypedDict):
    """A piece of a run."""

    phase: Literal["load", "warmup", "run"]
    """Which phase it belongs to."""
    t_s: float
    """Its end, in seconds since the run began."""
    seconds: float
    """Its length."""
    operations: int
    """Operations that ended in it."""
    ops_per_s: NotRequired[float]
    """Operations per second."""
    p99_us: NotRequired[float]
    """99th percentile of all latencies, in microseconds."""
    read_kb_per_op: NotRequired[float]
    """KiB read per operation."""
    write_kb_per_op: NotRequired[float]
    """KiB written per operation."""
    cache_hit_ratio: NotRequired[float]
    """Of the engine's cache."""
    stall_s: NotRequired[float]
    """Seconds that the average client waited for admission; absent where a real engine ran."""
    disk_bytes: int
    """Bytes on disk at its end."""
    memory_bytes: int
    """Memory of the engine at its end."""
    shape: NotRequired[dict[str, float]]
    """How the engine looked from within at its end, as far as it tells: `level_0_bytes`,
    `level_1_bytes`, ..., `memtable_bytes`; `leaf_fill`, `dirty_pages_share` of the pool and
    `checkpoint_age_share` of the age from which writers make room in the log first, more than 1
    while they do."""


class ProductRun(TypedDict):
    """A real engine."""

    name: str
    """What people call it."""
    version: str
    """By its own word."""


class Report(TypedDict):
    """What one run was and what it measured."""

    clock: Literal["measured", "simulated", "real"]
    """Which clock it ran under."""
    engine: Engine | Literal["rocksdb", "innodb", "myrocks"]
    """Which engine ran."""
    workload: dict[str, Value]
    """Its kind and all its parameters."""
    options: dict[str, Value]
    """All options of the engine."""
    scale: ScaleSpec
    """What the run stands for."""
    clients: int
    """Clients that ran."""
    seed: int
    """The run's seed."""
    steady: bool | None
    """Whether nothing changed any more when it was measured; null if the spec has no `warmup`."""
    steadiness: Steadiness | None
    """Why, or why not; null as `steady` is."""
    seconds: float
    """Length of the measured phase."""
    operations: int
    """Operations of the measured phase."""
    metrics: Metrics
    """The numbers of the measured phase."""
    by_operation: dict[str, OperationLatencies]
    """Latencies by kind of operation."""
    work: dict[str, int]
    """Units of CPU work of clients and background jobs, by kind."""
    background: Background | None
    """What background jobs did of it; null if simulated, where nobody tells."""
    debt: Debt | None
    """What it left to the background, which paid it afterwards; null where that would take real
    time, and if the spec has no `warmup`."""
    bytes: dict[str, PurposeCounts]
    """What storage was asked for in the measured phase, by purpose."""
    load: Load
    """The load of the data."""
    engine_details: dict[str, float]
    """The engine's own gauges and counters at the end; `binary_log_bytes` where there is one."""
    intervals: list[Interval]
    """The run, piece by piece."""
    product: NotRequired[ProductRun]
    """Real: which product it was."""
    statements: NotRequired[dict[str, OperationLatencies]]
    """On a server: latencies by statement of the workload's script, BEGIN and COMMIT among them."""
    hardware: NotRequired[HardwareSpec]
    """Simulated: the machine, with all that the spec left out."""
    device: NotRequired[DeviceUse]
    """Simulated: what the device did."""
    page_cache: NotRequired[PageCacheUse]
    """Simulated: what the page cache did."""
