"""`tunebench doctor`: what this machine can do, in a second or two, and what is missing; with
`--calibrate`, what work costs on it."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Annotated, Literal

import typer

from tui import format as fmt
from tui.options import FORCE, JSON, OUTPUT, RESULTS, ROCKSDB, SERVER

State = Literal["ok", "note", "missing"]
MARKS: dict[State, tuple[str, str]] = {
    "ok": ("ok", "green"),
    "note": ("note", "yellow"),
    "missing": ("missing", "red"),
}
SYNCS = 16
LITTLE_SPACE_BYTES = 5 * 1024**3
PROGRAMS = {
    "mariadbd": "MariaDB server",
    "mysqld": "MySQL server",
    "db_bench": "RocksDB's benchmark",
    "ldb": "RocksDB's file tool",
}


@dataclass(frozen=True)
class Finding:
    """One fact about this machine."""

    what: str
    state: State
    text: str


def doctor(
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Measure for some minutes what work costs on this CPU, what its drive does, and "
            "what calls of the real engines that are found take here, and keep it as the hardware "
            "this-machine, which can then be simulated. The drive is that of the folder for "
            "temporary files (TMPDIR).",
        ),
    ] = False,
    rocksdb: ROCKSDB = None,
    server: SERVER = None,
    output: OUTPUT = None,
    force: FORCE = False,
    results: RESULTS = None,
    as_json: JSON = False,
) -> None:
    """Say what this machine can do and what is missing.

    The exit code is 1 when nothing can be run.
    """
    from tui.output import print_json

    if calibrate:
        from tui.commands.calibrate import calibrate as measure

        measure(output, force, as_json, rocksdb, server)
        return
    given_options = {
        "-o": output is not None,
        "--force": force,
        "--rocksdb": rocksdb is not None,
        "--server": server is not None,
    }
    for option, given in given_options.items():
        if given:
            from advisor.errors import InputError

            raise InputError(option, None, "no --calibrate", "--calibrate, which measures")
    findings = [_core(), _processors(), _calibration(), _memory(), *_disk(), _results(results)]
    findings += _real_engines()
    if as_json:
        print_json({"findings": findings})
    else:
        _print(findings)
    if any(finding.what == "core" and finding.state == "missing" for finding in findings):
        raise typer.Exit(1)


def _print(findings: list[Finding]) -> None:
    from advisor.errors import printable

    wide = max(len(finding.what) for finding in findings)
    for finding in findings:
        word, colour = MARKS[finding.state]
        mark = typer.style(word.ljust(7), fg=colour)
        typer.echo(f"{mark}  {finding.what.ljust(wide)}  {printable(finding.text)}")


def _core() -> Finding:
    from advisor.errors import WorkError

    try:
        from advisor.core import load

        core = load()
    except WorkError as error:
        return Finding("core", "missing", str(error))
    if getattr(core, "DEBUG_BUILD", False):
        text = f"version {core.VERSION}, a debug build: its speeds mean nothing"
        return Finding("core", "note", text)
    return Finding("core", "ok", f"version {core.VERSION}, release build")


def _processors() -> Finding:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Finding("processors", "ok", f"{usable} usable of {os.cpu_count()}")


def _calibration() -> Finding:
    """Whether this machine can be simulated."""
    from advisor.errors import TunebenchError
    from advisor.hardware import hardware
    from advisor.trial import THIS_MACHINE

    try:
        machine = hardware(THIS_MACHINE)
    except TunebenchError as error:
        return Finding("calibration", "missing", str(error))
    if machine.unfit:
        text = f"{machine.unfit}: --calibrate, and it can be simulated"
        return Finding("calibration", "note", text)
    text = f"of {machine.calibrated}, for {machine.processor}"
    if not machine.drive:
        return Finding("calibration", "note", f"{text}; the drive was not measured")
    return Finding("calibration", "ok", f"{text} and {machine.drive}")


def _memory() -> Finding:
    from advisor.sizes import format_size

    page = os.sysconf("SC_PAGE_SIZE")
    whole = format_size(page * os.sysconf("SC_PHYS_PAGES"))
    try:
        free = format_size(page * os.sysconf("SC_AVPHYS_PAGES"))
    except (ValueError, OSError):
        return Finding("memory", "ok", whole)
    return Finding("memory", "ok", f"{whole}, {free} unused")


def _disk() -> Iterator[Finding]:
    """The folder that runs write to."""
    from advisor.sizes import format_size

    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    state: State = "ok" if free >= LITTLE_SPACE_BYTES else "note"
    yield Finding("disk", state, f"{format_size(free)} free in {folder}")
    try:
        took = _sync_latency_us(Path(folder))
    except OSError as error:
        yield Finding("sync", "missing", f"{folder}: {error.strerror}")
    else:
        yield Finding("sync", "ok", f"{fmt.latency(took)} for 4 KiB made durable in {folder}")


def _sync_latency_us(folder: Path) -> float:
    """Median over a few synchronous writes of one page each."""
    page = bytes(4096)
    times = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(SYNCS):
            file.write(page)
            file.flush()
            begun = time.perf_counter()
            os.fsync(file.fileno())
            times.append(1e6 * (time.perf_counter() - begun))
    return median(times)


def _results(path: Path | None) -> Finding:
    from advisor.errors import TunebenchError
    from advisor.files import exists
    from advisor.sizes import format_size
    from advisor.store import Store

    store = Store(path)
    if not exists(store.path):
        return Finding("results", "ok", f"{store.path}, made at the first run")
    try:
        studies = len(store.studies())
    except TunebenchError as error:
        return Finding("results", "missing", str(error))
    size = format_size(store.path.stat().st_size)
    return Finding("results", "ok", f"{store.path}: {studies} studies, {size}")


def _real_engines() -> Iterator[Finding]:
    """What a recommendation could be checked against; none of it is needed for tuning."""
    from advisor.real.server import plugin_folder

    for program, what in PROGRAMS.items():
        place = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/local/sbin")
        yield Finding(program, "ok" if place else "note", place or f"not found ({what})")
    plugin = plugin_folder()
    text = str(plugin) if plugin else "not found (MyRocks plugin of MariaDB)"
    yield Finding("ha_rocksdb", "ok" if plugin else "note", text)
    yield _rocksdb()
    has_rocksdict = find_spec("rocksdict") is not None
    text = "installed" if has_rocksdict else "not found (RocksDB for Python)"
    yield Finding("rocksdict", "ok" if has_rocksdict else "note", text)


def _rocksdb() -> Finding:
    """The library that `run --engine rocksdb` and `verify` open."""
    from advisor.errors import InputError
    from advisor.real import find

    try:
        library = find()
    except InputError:
        text = "not found: `verify` needs it, or --rocksdb PATH"
        return Finding("librocksdb", "note", text)
    text = f"{library.path}, for `run --engine rocksdb` and `verify`"
    if library.has_assertions:
        text += "; built with assertions: its counters judge, its times do not"
    return Finding("librocksdb", "ok", text)
