"""Recorded tables (`datasets/recorded`): random settings of each engine on three workloads with
what trials of them gave. They stand in for trials where a search itself is judged."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import duckdb

from advisor.atomic import write_by
from advisor.data import data_path
from advisor.documents import read, validated
from advisor.knobs import ENGINES, Engine, Setting, catalogue
from advisor.profile import Profile
from advisor.scale import Scale
from advisor.trial import Trial

MACHINE = "nvme-2024"
WORKLOADS = ("linkbench", "overwrite", "ycsb-b")
TABLES: tuple[tuple[str, Engine], ...] = tuple(
    (workload, engine) for workload in WORKLOADS for engine in ENGINES
)
METRICS = ("ops_per_s", "p99_us", "reads_per_op", "write_kb_per_op", "cpu_us_per_op", "space_amp")
DATA_BYTES = 16 << 20
"""Of a trial: half of what a study takes at least."""
DIGITS = 4
"""Significant ones of a metric."""


def profile_of(workload: str) -> Profile:
    """What the trials of a workload were made on."""
    shipped = "fillrandom" if workload == "overwrite" else workload
    # The hardware of some is the machine that this runs on, whose figures are the user's.
    given = read(data_path("profiles", f"{shipped}.toml"))
    given |= {"name": workload, "hardware": MACHINE, "goal": "maximize ops_per_s"}
    if workload == "overwrite":
        given["workload"] = {
            "kind": "key_value",
            "reads": 0,
            "overwrites": 1,
            "load_overwrites": 0,
        }
    return validated(Profile, given, workload)


def scale_of(profile: Profile) -> Scale:
    """The copy that the trials were made on."""
    return Scale.at_most(DATA_BYTES, profile.data_bytes)


def table_path(workload: str, engine: Engine) -> Path:
    """Where a table lies, or would."""
    return data_path("datasets", "recorded") / f"{workload}-{engine}.parquet"


def write(path: Path, trials: Sequence[Trial]) -> None:
    """Writes the trials of one engine as a table: how each ended, its metrics, its settings."""
    knobs = sorted({name for one in trials for name in one.settings})
    columns = {
        "outcome": "VARCHAR", "seed": "INTEGER", "seconds": "DOUBLE", "scale": "DOUBLE",
        "version": "VARCHAR", **dict.fromkeys(METRICS, "FLOAT"),
        **{name: _type([one.settings[name] for one in trials]) for name in knobs},
    }  # fmt: skip
    rows = [
        [one.outcome, one.seed, one.seconds, one.scale, one.core_version]
        + [_rounded(one.metrics.get(name)) for name in METRICS]
        + [one.settings[name] for name in knobs]
        for one in trials
    ]
    with duckdb.connect() as connection:
        declared = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
        connection.execute(f"CREATE TABLE recorded ({declared})")
        places = ", ".join("?" for _ in columns)
        connection.executemany(f"INSERT INTO recorded VALUES ({places})", rows)

        def copy(beside: Path) -> None:
            connection.execute(
                f"COPY recorded TO '{beside}' (FORMAT parquet, COMPRESSION zstd, "
                "COMPRESSION_LEVEL 19)"
            )

        write_by(path, copy, force=True)


@cache
def recorded(workload: str, engine: Engine) -> tuple[Trial, ...]:
    """The trials of a table, in the order in which their settings were drawn."""
    with duckdb.connect() as connection:
        found = connection.execute(
            "SELECT * FROM read_parquet(?)", [str(table_path(workload, engine))]
        )
        names = [column[0] for column in found.description]
        rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    return tuple(_trial(row, workload, engine) for row in rows)


def _trial(row: dict[str, Setting], workload: str, engine: Engine) -> Trial:
    knobs = [name for name in row if name in catalogue(engine)]
    known = {name: row[name] for name in METRICS if row[name] is not None}
    return Trial(
        engine=engine,
        settings={name: row[name] for name in knobs},
        role="search",
        outcome=row["outcome"],
        seed=row["seed"],
        clock="simulated",
        seconds=row["seconds"],
        scale=row["scale"],
        metrics=known,
        workload=workload,
        core_version=row["version"],
        hardware=MACHINE,
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


def _type(values: Sequence[Setting]) -> str:
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds == {int}:
        return "BIGINT"
    return "DOUBLE" if kinds <= {int, float} else "VARCHAR"
