"""The Rust core: real storage engines, their workloads, and the clocks that they run under."""

from typing import Any, final

VERSION: str
DEBUG_BUILD: bool

class SpecError(ValueError):
    """A field of a spec is unknown or out of range; `args` is `(field, found, accepted)`."""

class RunError(Exception):
    """A run failed; `args` is `(message, is_disk_full)`."""

class RunCancelled(Exception):
    """A run was cancelled."""

def engine_options(engine: str) -> list[dict[str, Any]]:
    """Every option of `"lsm"` or `"btree"`: name, default, what it accepts, text."""

def workload_kinds() -> list[dict[str, Any]]:
    """Every kind of workload: name, text, parameters."""

def work_kinds() -> list[dict[str, Any]]:
    """Every kind of CPU work: name, and the nanoseconds of a unit where a machine does not say."""

def probe_turning() -> float:
    """How long a writer of RocksDB that waits turns on this machine before it offers its core,
    microseconds."""

def probe_reads(
    path: str, read_bytes: int, threads: int, seconds: float, seed: int
) -> dict[str, float]:
    """Direct random reads of a file by so many threads, each waiting for its own, for this long:
    reads of all `per_s`, CPU time of their threads for one (`cpu_us`), `p50_us`, `p99_us`. Raises
    `RunError` for a file that cannot be opened or read, `SpecError` for one that is too short."""

def keep_loads(limit_bytes: int) -> None:
    """Keeps so many bytes of loads for later runs of this process; 0 keeps none."""

def kept_loads() -> dict[str, int]:
    """`loads` that are kept, their `bytes`, the `limit_bytes`, and how many runs found theirs
    (`hits`) or loaded (`misses`)."""

@final
class Run:
    """One run of a workload on an engine, described by a spec."""

    def __init__(self, spec: dict[str, Any]) -> None: ...
    def start(self) -> None: ...
    def poll(self) -> list[dict[str, Any]]: ...
    def cancel(self) -> None: ...
    def wait(self, timeout_s: float | None = None) -> bool: ...
    @property
    def finished(self) -> bool: ...
    def report(self) -> dict[str, Any]: ...
