"""Digests of the reports of many simulated runs: a change that should change nothing is held
against them.

    python -m tests.support.digests before.json              # record
    python -m tests.support.digests now.json before.json     # record, and name what moved

Every kind of workload runs on both engines, whole and shrunk, on three devices, compressed and not,
with and without a binary log. A report has a digest per section, so that a renamed option does not
hide whether the numbers moved.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from advisor import core as bridge
from advisor import evaluate, profile
from advisor.knobs import Engine, Settings
from advisor.spec import Report, Spec
from advisor.workload import kinds

MIB, GIB = 1 << 20, 1 << 30
DEVICES = ("nvme-2024", "disk-array-2016", "cloud-volume")
DATA = {"whole": 12 * MIB, "shrunk": 4 * GIB}
OPERATIONS = 3_000
PACKED: dict[Engine, Settings] = {
    "lsm": {"compression": "kZSTD", "block_size": 16384},
    "btree": {"innodb_page_size": 16384, "key_block_size": 8192},
}
BINARY_LOG = {"sync_binlog": 1, "max_binlog_size": MIB, "binlog_row_image": "FULL"}
Case = tuple[str, Engine, str, str, bool]


class Recorded:
    """The real core with shorter runs, and the report of the last one."""

    def __init__(self, extra: Spec) -> None:
        self._core: Any = bridge.load()
        self._extra = extra
        self.report: Report = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)

    def Run(self, spec: Spec) -> Any:
        run = self._core.Run(spec | self._extra)
        owner = self

        class Kept:
            def __getattr__(self, name: str) -> Any:
                return getattr(run, name)

            def report(self) -> Report:
                owner.report = run.report()
                return owner.report

        return Kept()


def cases() -> Iterator[Case]:
    """Kind of workload, engine, size, device, compressed; a binary log goes with every other."""
    yield from itertools.product(kinds(), ("lsm", "btree"), DATA, DEVICES, (False, True))


def digests(number: int, case: Case) -> tuple[str, dict[str, str]]:
    """The name of a case, and a digest for each section of its report."""
    kind, engine, size, device, packed = case
    extra: Spec = {
        "operations": OPERATIONS,
        "warmup": {"most_operations": OPERATIONS},
    }
    if number % 2:
        extra["binary_log"] = BINARY_LOG
    core = Recorded(extra)
    question = profile.load("linkbench").with_changes(
        workload={"kind": kind}, hardware=device, data=DATA[size], memory=GIB, clients=4
    )
    setup = evaluate.Setup(
        question, evaluate.choose_scale(question), 1.0, clock="simulated", core=core
    )
    trial = evaluate.evaluate(setup, engine, PACKED[engine] if packed else {}, seed=1)
    name = "/".join((kind, engine, size, device, "packed" if packed else "plain"))
    assert trial.finished, f"{name}: {trial.error}"
    sections = {**core.report, "trial": trial.metrics}
    return name, {section: _digest(value) for section, value in sections.items()}


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def moved(now: dict[str, dict[str, str]], before: dict[str, dict[str, str]]) -> list[str]:
    """What is not the same, a line each."""
    lines = [f"{name}: only once" for name in sorted(now.keys() ^ before.keys())]
    for name in sorted(now.keys() & before.keys()):
        sections = [s for s in before[name] if now[name].get(s) != before[name][s]]
        if sections:
            lines.append(f"{name}: {', '.join(sections)}")
    return lines


def main(path: Path, before: Path | None) -> int:
    """Records, compares if asked to, and answers the exit code."""
    with ProcessPoolExecutor() as pool:
        numbers, all_cases = zip(*enumerate(cases()), strict=True)
        found = dict(pool.map(digests, numbers, all_cases, chunksize=4))
    path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{len(found)} reports")
    if before is None:
        return 0
    lines = moved(found, json.loads(before.read_text(encoding="utf-8")))
    print("\n".join(lines) or "nothing moved")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None))
