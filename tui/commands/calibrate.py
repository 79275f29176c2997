"""`tunebench doctor --calibrate`: measure this CPU and its storage, and keep what was found as the
hardware `this-machine`."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from advisor.calibration import Calibration

BUSY_RATIO = 0.9
"""A run that only computes has less of a core than this where other programs take their share."""


def calibrate(path: Path | None, force: bool, as_json: bool) -> None:
    """Measure, write the profile, and say what was found."""
    from advisor import calibration
    from advisor.atomic import check_target, write_text
    from advisor.hardware import user_folder
    from advisor.trial import THIS_MACHINE
    from tui.narration import LiveLine
    from tui.output import narrate, print_json

    target = path or user_folder() / f"{THIS_MACHINE}.toml"
    check_target(target, force)
    narrate("calibrating: about a minute; other programs should rest meanwhile")
    with LiveLine() as line:
        found = calibration.calibrate(
            on_run=lambda number, count, name: line.show(f"{number} of {count} · {name}")
        )
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


def _document(found: "Calibration", target: Path) -> dict[str, object]:
    costs = found.fit.work_ns
    return {
        "file": target,
        "processor": found.processor,
        "calibrated": found.measured,
        "busy_ratio": found.busy_ratio,
        "work_ns": costs,
        "determined": sorted(found.fit.determined),
        "open_ratio": found.fit.open_ratio,
        "runs": found.fit.ratios,
        "sync_us": found.storage.sync_us,
        "write_mb_per_s": found.storage.write_mb_per_s,
    }


def _print(found: "Calibration", target: Path) -> None:
    from tui import format as fmt
    from tui.output import Column, print_table

    columns = [Column("work"), Column("ns per unit", right=True), Column("determined")]
    determined = found.fit.determined
    rows = [
        [name, f"{cost:.3g}", "yes" if name in determined else "only with others"]
        for name, cost in sorted(found.fit.work_ns.items())
    ]
    print_table(columns, rows)
    name, ratio = found.worst
    misses = sorted(abs(ratio - 1) for ratio in found.fit.ratios.values())
    typer.echo(
        f"\nthe {len(misses)} CPU times of clients and background jobs by these costs: within "
        f"{misses[len(misses) // 2]:.0%} for half of them; the furthest off, {name}, "
        f"{ratio:.2f} times what was measured"
    )
    storage = found.storage
    typer.echo(
        f"storage in {storage.folder}: a sync takes {fmt.latency(storage.sync_us)}, "
        f"{storage.write_mb_per_s:.0f} MB/s become durable"
    )
    typer.echo(f"wrote {target}; simulate this machine with --hardware this-machine --simulate")
