"""Trials beside 16 times their size: `python -m tests.calibration.scale [--minutes N]`.

Every case is a workload, an engine, a size of memory and settings. Each runs on the copy that a
study looks at first, on the copy that decides, and on one 16 times as large as the first, with as
many operations per byte as on the first. What is printed is by how much the copies err, whether
they put two candidates in the order in which the largest puts them, and whether they name the same
engine. The rows are kept as CSV; what is there is not made again.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

from advisor import knobs
from advisor.documents import validated
from advisor.evaluate import Setup, choose_scale, evaluate
from advisor.knobs import ENGINES, Engine, Setting
from advisor.profile import Profile
from advisor.scale import MIB, RUNGS, Ladder, Scale
from advisor.scale.ladder import STEP
from advisor.search.rules import rules
from advisor.search.squeeze import squeezed

STEPS = (1, STEP, STEP * STEP)
"""Data of a copy over that of the smallest."""
SHARES = (0.1, 0.25, 0.6)
"""Memory / data."""
TUNED: Mapping[Engine, str] = {"lsm": "tuning guide", "btree": "the five settings"}
METRICS = ("ops_per_s", "p99_us", "reads_per_op", "write_kb_per_op", "space_amp")
SEED, SECONDS = 1, 0.8
AT_ONCE = 2
DIFFERENT = 0.10
"""Candidates that differ by less have no order."""
WORKLOADS: Mapping[str, Mapping[str, Any]] = {
    "linkbench": {"kind": "linkbench"},
    "tpcc": {"kind": "tpcc"},
    "ycsb-a": {"kind": "ycsb", "mix": "A"},
    "ycsb-b": {"kind": "ycsb", "mix": "B"},
    "overwrite": {"kind": "key_value", "reads": 0, "overwrites": 1},
    "insert_benchmark": {"kind": "insert_benchmark"},
}
DATA_BYTES = 20 << 30
COLUMNS = ("workload", "engine", "memory", "settings", "step")
Key = tuple[str, str, float, str, int]


@dataclass(frozen=True)
class Case:
    """One run."""

    workload: str
    engine: Engine
    memory: float
    settings: str
    step: int

    @property
    def key(self) -> Key:
        return self.workload, self.engine, self.memory, self.settings, self.step

    def metrics(self) -> Mapping[str, float] | None:
        """What the run gives; None where the settings do not fit the memory or it fails."""
        profile = profile_of(self.workload, self.memory)
        settings = settings_of(profile, self.engine, self.settings)
        if settings is None:
            return None
        lowest = choose_scale(profile, "simulated")
        # The largest runs for as many operations per byte as the smallest, the rung that decides
        # for more.
        ladder = Ladder.above(lowest, profile.data_bytes, RUNGS)
        times = ladder.work(ladder.top) if self.step == STEP else float(self.step)
        factor = min(1.0, lowest.factor * self.step)
        setup = Setup(profile, Scale(factor), SECONDS, "simulated", times=times)
        began = time.monotonic()
        trial = evaluate(setup, self.engine, settings, seed=SEED)
        took = time.monotonic() - began
        print(*self.key, trial.outcome, trial.error or "", f"{took:.1f} s", flush=True)
        return {name: trial.metrics[name] for name in METRICS} if trial.finished else None


def profile_of(workload: str, memory: float) -> Profile:
    """The question of a case."""
    given = {
        "name": workload,
        "text": workload,
        "data": DATA_BYTES,
        "memory": int(memory * DATA_BYTES / MIB) * MIB,
        "clients": 16,
        "hardware": "nvme-2024",
        "goal": "maximize ops_per_s",
        "engines": list(ENGINES),
        "workload": dict(WORKLOADS[workload]),
    }
    return validated(Profile, given, workload)


def settings_of(profile: Profile, engine: Engine, name: str) -> dict[str, Setting] | None:
    """The defaults in the memory, or an experienced person's."""
    stock = knobs.defaults(engine)
    if name == "default":
        return squeezed(profile, engine, stock)
    rule = next(one for one in rules(engine) if one.name == TUNED[engine])
    return rule.settings(profile, stock)


def cases(only: list[str]) -> Iterator[Case]:
    for step in STEPS:
        for workload in only or WORKLOADS:
            for memory in SHARES:
                for engine in ENGINES:
                    for settings in ("default", "tuned"):
                        yield Case(workload, engine, memory, settings, step)


def read(path: Path) -> dict[Key, dict[str, float]]:
    if not path.exists():
        return {}
    with path.open() as lines:
        return {
            (
                row["workload"],
                row["engine"],
                float(row["memory"]),
                row["settings"],
                int(row["step"]),
            ): {name: float(row[name]) for name in METRICS}
            for row in csv.DictReader(lines)
        }


def write(path: Path, rows: Mapping[Key, Mapping[str, float]]) -> None:
    with path.open("w") as lines:
        writer = csv.writer(lines)
        writer.writerow((*COLUMNS, *METRICS))
        for key, values in sorted(rows.items()):
            writer.writerow((*key, *(f"{values[name]:.6g}" for name in METRICS)))


Pair = tuple[Key, Mapping[str, float], Mapping[str, float]]
"""A case of a smaller copy, what it says, and what the largest says."""


def summary(rows: Mapping[Key, Mapping[str, float]]) -> Iterator[str]:
    """What the smaller copies say over what the largest says."""
    truth = STEPS[-1]
    for step in STEPS[:-1]:
        pairs = [
            (key, rows[key], rows[(*key[:4], truth)])
            for key in rows
            if key[4] == step and (*key[:4], truth) in rows
        ]
        yield f"{step}x against {truth}x, {len(pairs)} cases"
        for metric in METRICS:
            yield from errors(metric, pairs)
        yield decisions(pairs)


def errors(metric: str, pairs: list[Pair]) -> Iterator[str]:
    """By how much smaller copies are off in a metric."""
    off = sorted(
        (small[metric] / large[metric], key) for key, small, large in pairs if large[metric] > 0
    )
    if not off:
        return
    found = [abs(ratio - 1.0) for ratio, _ in off]
    within = sum(one <= DIFFERENT for one in found)
    yield (
        f"  {metric}: off by {median(found):.1%} (median), {within} of {len(found)}"
        f" within {DIFFERENT:.0%}, from {off[0][0]:.2f}x {off[0][1][:4]}"
        f" to {off[-1][0]:.2f}x {off[-1][1][:4]}"
    )


def decisions(pairs: list[Pair]) -> str:
    """How often a smaller copy orders candidates, and names the engine, as the largest does."""
    same, told, right = 0, 0, 0
    questions = sorted({(key[0], key[2]) for key, _, _ in pairs})
    for question in questions:
        mine = [one for one in pairs if (one[0][0], one[0][2]) == question]
        for (_, a, a_truth), (_, b, b_truth) in combinations(mine, 2):
            ratio = a_truth["ops_per_s"] / b_truth["ops_per_s"]
            if max(ratio, 1 / ratio) > 1.0 + DIFFERENT:
                told += 1
                same += (a["ops_per_s"] > b["ops_per_s"]) == (ratio > 1.0)
        best = [max(mine, key=lambda one: one[i]["ops_per_s"])[0][1] for i in (1, 2)]
        right += best[0] == best[1]
    return f"  order: {same} of {told} pairs; engine: {right} of {len(questions)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--only", action="append", default=[], choices=list(WORKLOADS))
    parser.add_argument("--file", type=Path, default=Path("scale.csv"))
    asked = parser.parse_args()
    asked.file.parent.mkdir(parents=True, exist_ok=True)
    ends = time.monotonic() + 60.0 * asked.minutes
    rows = read(asked.file)
    wanted = [one for one in cases(asked.only) if one.key not in rows]

    def tried(one: Case) -> Mapping[str, float] | None:
        return one.metrics() if time.monotonic() < ends else None

    with ThreadPoolExecutor(AT_ONCE) as threads:
        for one, found in zip(wanted, threads.map(tried, wanted), strict=True):
            if found is not None:
                rows[one.key] = dict(found)
                write(asked.file, rows)
    print("\n".join(summary(rows)))


if __name__ == "__main__":
    main()
