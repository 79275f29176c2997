"""Making predictions of a table anew: real runs stay, what the engines of today say of them takes
the place of what was said before."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from advisor.core import Core
from advisor.trial import THIS_MACHINE
from advisor.validation.cases import Case, Suite
from advisor.validation.dataset import Row, read, replace
from advisor.validation.run import (
    Bench,
    Progress,
    Wanted,
    alone,
    as_in_table,
    host,
    not_in_table,
    rows_of,
)


def renew(
    path: Path,
    suite: Suite,
    *,
    cases: Sequence[Case],
    machine: str = THIS_MACHINE,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_failure: Callable[[Progress, str], None] = lambda progress, why: None,
    core: Core | None = None,
) -> int:
    """Predicts what the table has real runs of, several at once, and returns how many predictions
    it has now. The file is written once, at the end: broken off, it stays as it was.

    A prediction that fails leaves no row, and is told; so does one of settings that are no longer
    those of the suite. What other machines ran stays as it is. Raises `InputError` for a table in
    which this machine has run nothing.
    """
    bench, here = Bench(None, machine, None, core), host(machine)
    with alone(path):
        known = read(path)
        hosts = {row.host for row in known if row.source == "real"}
        here = as_in_table(hosts, here)
        if here not in hosts:
            raise not_in_table(path, "machine", here, hosts)
        names = {case.name for case in cases}
        kept = [
            row
            for row in known
            if row.source == "real" or row.case not in names or row.host != here
        ]
        real = {(row.work, row.settings) for row in kept if _is_of(row, here)}
        wanted = [
            Wanted(suite, case, configuration, "predicted", 1)
            for configuration in suite.configurations()
            for case in cases
            if (case.digest(suite), configuration.digest) in real
        ]
        made: dict[tuple[str, str], list[Row]] = {}
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            for number, (one, trial) in enumerate(
                zip(wanted, workers.map(bench.trial, wanted), strict=True), start=1
            ):
                progress = one.progress(number, len(wanted))
                on_progress(progress)
                if not trial.finished:
                    on_failure(progress, trial.error or trial.outcome)
                    continue
                made[one.case.name, one.configuration.name] = list(rows_of(one, trial, here))
        replace(path, _in_order(kept, made, here))
    return len(made)


def _in_order(
    kept: Sequence[Row], made: Mapping[tuple[str, str], list[Row]], here: str
) -> list[Row]:
    """Each prediction before the real runs of its settings on this machine."""
    rows: list[Row] = []
    left = dict(made)
    for row in kept:
        if _is_of(row, here):
            rows.extend(left.pop((row.case, row.configuration), ()))
        rows.append(row)
    return rows


def _is_of(row: Row, here: str) -> bool:
    """Whether it is of a real run on this machine."""
    return row.source == "real" and row.host == here
