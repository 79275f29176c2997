"""How many looks a search needs on the recorded tables, beside random order:
`python -m tests.calibration.judge_search [--seeds N] [--most N]`."""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from tests.support.recorded import TABLES
from tests.support.recorded_study import Table, looks_until_near


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--most", type=int, default=150)
    asked = parser.parse_args()
    print("table: rows, near the best, looks in random order | looks of a search: median, each")
    with tempfile.TemporaryDirectory() as folder:
        for workload, engine in TABLES:
            table = Table.of(workload, engine)
            found = [
                looks_until_near(table, workload, seed, asked.most, Path(folder)) or asked.most
                for seed in range(1, asked.seeds + 1)
            ]
            print(
                f"{workload} {engine}: {len(table.trials)}, {table.near_best},"
                f" {table.random_looks()} | {statistics.median(found):g}, {sorted(found)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
