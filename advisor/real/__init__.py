"""Real engines: what is found on this machine, and how a run of the core is one of theirs."""

from contextlib import suppress
from pathlib import Path

from advisor.engines import Engine
from advisor.errors import InputError
from advisor.knobs import Settings
from advisor.real.disk import check_disk
from advisor.real.library import Library, find
from advisor.real.process import ProcessCore
from advisor.real.rocksdb import DIALECT, ENGINE, as_opened, check_settings, library_spec
from advisor.real.server import ENGINE_OF, Server, as_served, find_server, server_spec
from advisor.real.trial_run import product_of
from advisor.spec import Spec
from advisor.workload import Workload

__all__ = [
    "DIALECT",
    "ENGINE",
    "Library",
    "ProcessCore",
    "RealEngine",
    "Server",
    "as_run",
    "check_disk",
    "check_settings",
    "engine_of",
    "find",
    "find_server",
    "judge_of",
    "on_this_machine",
    "product_of",
    "real_spec",
]

RealEngine = Library | Server
"""What a real run runs."""


def engine_of(real: RealEngine) -> Engine:
    """Whose settings it takes."""
    return real.engine if isinstance(real, Server) else ENGINE


def judge_of(
    engine: Engine, workload: Workload, rocksdb: Path | None = None, server: Path | None = None
) -> RealEngine:
    """The real engine that takes an engine's settings and runs the workload: a server where it is
    of tables, unless a RocksDB is named. Raises `InputError` if there is none."""
    if engine == ENGINE and (rocksdb is not None or not workload.info.has_tables):
        return find(rocksdb)
    if not workload.info.has_tables:
        accepted = "one of tables, as servers speak SQL, or the LSM, which RocksDB runs"
        raise InputError("workload", None, f"{workload.kind}, of plain keys", accepted)
    storage = next(storage for storage, takes in ENGINE_OF.items() if takes == engine)
    return find_server(storage, server)


def on_this_machine() -> list[RealEngine]:
    """The real engines that are found without being named."""
    found: list[RealEngine] = []
    for look in (find, lambda: find_server("innodb"), lambda: find_server("myrocks")):
        with suppress(InputError):
            found.append(look())
    return found


def real_spec(spec: Spec, real: RealEngine) -> tuple[Spec, list[str]]:
    """The measured run of one of our engines as a real one, and notes on what runs otherwise."""
    if isinstance(real, Server):
        return server_spec(spec, real)
    return library_spec(spec, real)


def as_run(settings: Settings, real: RealEngine) -> tuple[Settings, list[str]]:
    """The settings that a real engine has when it is asked for these, and notes on where they are
    others. Raises `InputError` for what RocksDB has not."""
    if isinstance(real, Server):
        return as_served(settings, real)
    return as_opened(settings)
