"""`tunebench doctor --calibrate`: measure this CPU and its drive, and keep what was found as the
hardware `this-machine`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from advisor.calibration import Calibration
    from advisor.calibration.calls import Calls
    from advisor.calibration.clients import Clients
    from advisor.calibration.device import Drive, Storage
    from advisor.real import RealEngine

TOLD = 10
"""Lines about how far it is where nobody watches a terminal."""
BUSY_RATIO = 0.9
"""A run that only computes has less of a core than this where other programs take their share."""


def calibrate(
    path: Path | None,
    force: bool,
    as_json: bool,
    rocksdb: Path | None,
    server: Path | None,
) -> None:
    """Measure, write the profile, and say what was found."""
    from advisor import calibration
    from advisor.atomic import check_target, write_text
    from advisor.hardware import user_folder
    from advisor.trial import THIS_MACHINE
    from tui.narration import LiveLine
    from tui.output import narrate, print_json

    target = path or user_folder() / f"{THIS_MACHINE}.toml"
    check_target(target, force)
    real = _real_engines(rocksdb, server)
    narrate(f"calibrating: {_duration(real)}; other programs should rest meanwhile")
    with LiveLine() as line:

        def tell(number: int, count: int, name: str) -> None:
            text = f"{number} of {count} · {name}"
            line.show(text)
            if not line.is_visible and number * TOLD // count > (number - 1) * TOLD // count:
                narrate(text)

        found = calibration.calibrate(on_run=tell, real=real)
    write_text(target, calibration.to_toml(found), force)
    if found.busy_ratio < BUSY_RATIO:
        narrate(
            f"note: other programs took {1 - found.busy_ratio:.0%} of a core; "
            "figures of an idle machine are better"
        )
    if as_json:
        print_json(_document(found, target))
    else:
        _print(found, target)


def _duration(real: "list[RealEngine]") -> str:
    """How long this takes: it was timed on two cores."""
    from advisor.real import Library

    if not real:
        return "a minute and a half"
    products = sum(6 if isinstance(one, Library) else 3 for one in real)
    return f"about {2 + products} minutes"


def _real_engines(rocksdb: Path | None, server: Path | None) -> "list[RealEngine]":
    """Those that are named, or found, and whose times mean something."""
    from advisor.real import Library, find, find_server, on_this_machine
    from tui.output import narrate

    found = on_this_machine()
    if rocksdb is not None:
        found = [find(rocksdb), *(one for one in found if not isinstance(one, Library))]
    if server is not None:
        named = find_server("innodb", server), find_server("myrocks", server)
        found = [*(one for one in found if isinstance(one, Library)), *named]
    slow = [one for one in found if isinstance(one, Library) and one.has_assertions]
    for one in slow:
        narrate(
            f"note: {one.path} is built with assertions, so that its times say nothing; "
            "--rocksdb PATH names another"
        )
    return [one for one in found if one not in slow]


def _document(found: "Calibration", target: Path) -> dict[str, object]:
    costs = found.fit.work_ns
    return {
        "file": target,
        "processor": found.processor,
        "calibrated": found.measured,
        "busy_ratio": found.busy_ratio,
        "write_turning_us": found.turning_us,
        "work_ns": costs,
        "determined": sorted(found.fit.determined),
        "open_ratio": found.fit.open_ratio,
        "runs": found.fit.ratios,
        "storage": _storage_document(found.storage),
        "clients": found.clients,
        "calls": {
            one.product: {
                "version": one.version,
                "ns": one.fit.work_ns,
                "determined": sorted(one.fit.determined),
                "loads": one.fit.ratios,
                "not_explained": one.fit.far_off,
                "statement_wait_us": one.statement_wait_us,
            }
            for one in found.calls
        },
    }


def _storage_document(storage: "Storage") -> dict[str, Any]:
    drive = storage.drive
    document: dict[str, Any] = {
        "folder": storage.folder,
        "file_system": storage.place.file_system,
        "source": storage.place.source or None,
        "disks": storage.place.disks,
        "unmeasured": storage.unmeasured or None,
        "drive": None,
    }
    if drive is not None:
        document["drive"] = {
            "file_bytes": drive.file_bytes,
            "random_reads": [
                {
                    "bytes": reads.bytes,
                    "in_flight": reads.in_flight,
                    "per_s": reads.per_s,
                    "mean_us": reads.mean_us,
                    "cpu_us": reads.cpu_us,
                }
                for reads in drive.reads
            ],
            "ended_by_probe": drive.ended_by_probe,
            "read_mb_per_s": drive.read_mb_per_s,
            "write_mb_per_s": drive.write_mb_per_s,
            "write_us": drive.write_us,
            "sync_us": drive.sync_us,
            "grown_sync_us": drive.grown_sync_us,
        }
    return document


def _print(found: "Calibration", target: Path) -> None:
    from tui.output import Column, print_table

    columns = [Column("work"), Column("ns per unit", right=True), Column("determined")]
    determined = found.fit.determined
    rows = [
        [name, f"{cost:.3g}", "yes" if name in determined else "only with others"]
        for name, cost in sorted(found.fit.work_ns.items())
    ]
    print_table(columns, rows)
    name, ratio = found.fit.worst
    misses = found.fit.misses
    typer.echo(
        f"\nthe {len(misses)} CPU times of clients and background jobs by these costs: within "
        f"{misses[len(misses) // 2]:.0%} for half of them; the furthest off, {name}, "
        f"{ratio:.2f} times what was measured"
    )
    typer.echo()
    _print_storage(found.storage)
    _print_calls(found.calls, found.clients)
    typer.echo(f"wrote {target}; simulate this machine with --hardware this-machine --simulate")


def _print_calls(measured: "tuple[Calls, ...]", clients: "Clients | None") -> None:
    from advisor.calibration import off_by
    from tui.output import Column, print_table

    if not measured:
        typer.echo("no real engine was measured: this machine speaks for the engines here alone\n")
        return
    names = list(dict.fromkeys(name for one in measured for name in one.fit.work_ns))
    columns = [Column("call, ns beyond our own work")]
    columns += [Column(one.product, right=True) for one in measured]
    rows = [[name, *(_cost(one, name) for one in measured)] for name in names]
    typer.echo()
    print_table(columns, rows)
    for one in measured:
        typer.echo(
            f"{one.product}: {one.version}; its {len(one.fit.misses)} loads by these costs "
            f"{_within(one.fit.misses, 'them')}"
        )
        if one.fit.far_off:
            typer.echo(f"  not explained by these costs: {off_by(one.fit)}")
    _print_clients(clients)
    typer.echo()


def _print_clients(clients: "Clients | None") -> None:
    from tui import format as fmt

    if clients is None:
        return
    grows = ""
    if clients.cold_us:
        grows = (
            f", up to {fmt.latency(clients.cold_us)} more the longer the server computes for each "
            f"(1 part in e less after {fmt.latency(clients.cools_us)})"
        )
    typer.echo(
        f"a server's clients: {fmt.latency(clients.warm_us)} a statement{grows}; "
        f"{_within(clients.misses, 'the loads')}"
    )


def _within(misses: list[float], loads: str) -> str:
    return f"within {misses[len(misses) // 2]:.0%} for half of {loads}, {misses[-1]:.0%} for all"


def _cost(one: "Calls", name: str) -> str:
    cost = one.fit.work_ns.get(name)
    if cost is None:
        return ""
    return f"{cost:,.0f}" if name in one.fit.determined else f"({cost:,.0f})"


def _print_storage(storage: "Storage") -> None:
    place = f"{storage.folder}: {storage.place.words}"
    if storage.drive is None:
        typer.echo(
            f"{place}. The drive was not measured: {storage.unmeasured}. The file has assumptions "
            "in its place, and says so; TMPDIR=FOLDER before the command names another folder"
        )
        return
    typer.echo(f"{place}; direct I/O, past the page cache:")
    _print_reads(storage.drive)
    _print_rest(storage.drive)


def _print_reads(drive: "Drive") -> None:
    from advisor.calibration.device import IN_FLIGHT, READ_SIZES
    from advisor.sizes import format_size
    from tui import format as fmt
    from tui.output import Column, print_table

    columns = [Column("random reads")]
    columns += [Column(f"{depth} in flight", right=True) for depth in IN_FLIGHT]
    rows = []
    for size in READ_SIZES:
        found = [drive.read(size, depth) for depth in IN_FLIGHT]
        cells = [f"{reads.per_s:,.0f}/s, {fmt.latency(reads.mean_us)}" for reads in found]
        rows.append([format_size(size), *cells])
    small = [drive.read(READ_SIZES[0], depth) for depth in IN_FLIGHT]
    rows.append(["CPU time of 4KiB", *(fmt.latency(reads.cpu_us) for reads in small)])
    print_table(columns, rows)
    if drive.ended_by_probe:
        typer.echo("these reads kept all processors busy: the drive may serve more than that")


def _print_rest(drive: "Drive") -> None:
    from tui import format as fmt

    typer.echo(
        f"in sequence: {drive.read_mb_per_s:,.0f} MB/s read, {drive.write_mb_per_s:,.0f} MB/s "
        f"written; a write of 4 KiB {fmt.latency(drive.write_us)}, a sync "
        f"{fmt.latency(drive.sync_us)}, {fmt.latency(drive.grown_sync_us)} where the file grew"
    )
