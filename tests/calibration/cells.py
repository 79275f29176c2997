"""Studies of servers, their files on real ones: `python -m tests.calibration.cells --file FILE`.

Each cell is a workload of tables, a memory and what a commit waits for. It is searched on the
calibrated machine, and the file of each engine runs beside what the user had. What FILE has is not
run again, so that it goes on where it ended; the trials are in the results beside it. A cell takes
half an hour, in which nothing else should run.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from advisor.engines import ENGINES
from advisor.verify.contenders import RECOMMENDED

LOADS = {
    "sysbench": 'kind = "sysbench"\nscript = "oltp_read_write"\n',
    "linkbench": 'kind = "linkbench"\n',
}
DATA_MIB = 400
SERVER_MIB = 112
"""What a server takes beside its caches."""
PERCENTS = (10, 25, 50, 105)
"""Caches in parts of the data."""
COMMITS = (1, 2)
"""`flush_log_at_trx_commit` of both engines."""
STUDY_MINUTES, REAL_MINUTES = 1.5, 12.0
"""Of a study, and of the real runs of an engine: in 4 minutes each measured 2 seconds behind 30 of
loading, and one compaction more or less decided."""
APART = 0.1
"""Engines whose real rates differ by more have a winner."""


@dataclass(frozen=True)
class Cell:
    """One question."""

    load: str
    percent: int
    commit: int

    @property
    def name(self) -> str:
        return f"{self.load}-{self.percent}-commit{self.commit}"

    @property
    def profile(self) -> str:
        memory = SERVER_MIB + DATA_MIB * self.percent // 100
        return (
            f'data = "{DATA_MIB}MiB"\nmemory = "{memory}MiB"\nclients = 4\n'
            'hardware = "this-machine"\ngoal = "maximize ops_per_s"\n'
            f"engines = {json.dumps(list(ENGINES))}\n\n[workload]\n{LOADS[self.load]}"
        )

    @property
    def current(self) -> str:
        names = "innodb_flush_log_at_trx_commit", "rocksdb_flush_log_at_trx_commit"
        return "\n".join(["[mysqld]", *(f"{name} = {self.commit}" for name in names), ""])


@dataclass(frozen=True)
class Row:
    """One contender of a cell on a real server."""

    cell: str
    winner: str
    """The engine that the study names; empty where it leaves that open."""
    engine: str
    contender: str
    """The first of an engine is what the others are compared with."""
    predicted_ops_per_s: float
    ops_per_s: float
    """Geometric means of the runs; 0 where none finished."""
    runs: int
    ratio: float
    low: float
    high: float
    """`ops_per_s` over that of the first, and its interval; 0 of the first and where too few
    finished."""
    error: str
    size_decides: str = ""
    """That all of the data is predicted to answer otherwise than what ran."""

    @property
    def loses(self) -> bool:
        """Whether it was told from the first, and does less."""
        return 0.0 < self.high < 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--server", help="of `tunebench verify`")
    parser.add_argument("--minutes", type=float, default=REAL_MINUTES, help="of each engine's runs")
    parser.add_argument("cells", nargs="*", metavar="CELL", help="such as linkbench-25-commit2")
    asked = parser.parse_args()
    every = [Cell(load, part, one) for load in LOADS for part in PERCENTS for one in COMMITS]
    if unknown := set(asked.cells) - {cell.name for cell in every}:
        parser.error(f"no such cell: {', '.join(sorted(unknown))}")
    rows = read(asked.file)
    done = {row.cell for row in rows}
    for cell in every:
        if cell.name in done or (asked.cells and cell.name not in asked.cells):
            continue
        print(cell.name, flush=True)
        results = asked.file.with_suffix(".duckdb")
        rows += tried(cell, results, asked.minutes, asked.server)
        write(asked.file, rows)
    report(rows)


def tried(cell: Cell, results: Path, minutes: float, server: str | None) -> list[Row]:
    """A study of the cell, and its files on the real servers."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        profile, current = place / "cell.toml", place / "current.cnf"
        profile.write_text(cell.profile)
        current.write_text(cell.current)
        kept = ["--results", str(results), "--json"]
        found = tunebench(
            *("tune", str(profile), "--from", str(current), "--simulate", "--study", cell.name),
            *("--minutes", str(STUDY_MINUTES), *kept),
        )
        rows: list[Row] = []
        for engine in ENGINES:
            judged = tunebench(
                *("verify", cell.name, "--engine", engine, "--runners-up", "0"),
                *("--minutes", str(minutes), *kept),
                *(["--server", server] if server else []),
            )
            rows += rows_of(cell, found["winner"], engine, judged)
        return rows


def tunebench(*arguments: str) -> Any:
    """What the command says in JSON. Raises `CalledProcessError` if it fails."""
    command = [sys.executable, "-m", "tui", *arguments]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def rows_of(cell: Cell, winner: str | None, engine: str, judged: dict[str, Any]) -> Iterator[Row]:
    """The contenders of a verification."""
    for one in judged["verification"]["compared"]:
        predicted = [trial["metrics"]["ops_per_s"] for trial in one["predicted"]]
        rates = [trial["metrics"]["ops_per_s"] for trial in one["real"]]
        difference = one["differences"].get("ops_per_s") or dict.fromkeys(("ratio", "low", "high"))
        yield Row(
            cell=cell.name,
            winner=winner or "",
            engine=engine,
            contender=one["contender"]["name"],
            predicted_ops_per_s=geometric_mean(predicted) if predicted else 0.0,
            ops_per_s=geometric_mean(rates) if rates else 0.0,
            runs=len(rates),
            ratio=difference["ratio"] or 0.0,
            low=difference["low"] or 0.0,
            high=difference["high"] or 0.0,
            error=one["error"] or "",
            size_decides=judged.get("size_decides", ""),
        )


def report(rows: Sequence[Row]) -> None:
    """Gains and winners as told and real, and which files lose to what the user had."""
    for cell in dict.fromkeys(row.cell for row in rows):
        mine = [row for row in rows if row.cell == cell]
        advised = {row.engine: row for row in mine if row.contender == RECOMMENDED}
        for engine, row in advised.items():
            base = next(one for one in mine if one.engine == engine)
            told = row.predicted_ops_per_s / (base.predicted_ops_per_s or math.inf)
            print(
                f"{cell:24} {engine:6} {told:5.2f}x told {row.ratio:5.2f}x real "
                f"[{row.low:.2f}, {row.high:.2f}]{' LOSES' if row.loses else ''} {row.error}"
                f"{row.size_decides}"
            )
        # Where nothing is to be changed, what is recommended is the first.
        first = {row.engine: row for row in reversed(mine)}
        rates = {engine: row.ops_per_s for engine, row in {**first, **advised}.items()}
        if len(rates) == len(ENGINES) and min(rates.values()) > 0:
            best = max(rates, key=lambda engine: rates[engine])
            apart = max(rates.values()) / min(rates.values()) - 1
            named = mine[0].winner
            right = "right" if named == best else "WRONG" if named else "not told"
            right = "equal" if apart <= APART else right
            print(f"{cell:24} winner {named or 'open'}, real {best} by {apart:.0%}: {right}")


def read(file: Path) -> list[Row]:
    """What was measured before."""
    if not file.exists():
        return []
    with file.open(newline="") as lines:
        types = {one.name: one.type for one in fields(Row)}
        casts = {"str": str, "float": float, "int": int}
        return [
            Row(**{name: casts[str(types[name])](value) for name, value in row.items()})
            for row in csv.DictReader(lines)
        ]


def write(file: Path, rows: Sequence[Row]) -> None:
    """All rows, with the names of their columns."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="") as out:
        table = csv.DictWriter(out, [one.name for one in fields(Row)])
        table.writeheader()
        table.writerows(map(asdict, rows))


if __name__ == "__main__":
    main()
