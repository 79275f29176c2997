"""Filling the table: whatever run it lacks is made and kept at once, so that it goes on where it
was left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from advisor.core import Core
from advisor.evaluate import Refused
from advisor.real import RealEngine, as_run
from advisor.trial import THIS_MACHINE
from advisor.validation.cases import Case, Configuration, Suite
from advisor.validation.dataset import add, read
from advisor.validation.run import (
    Bench,
    Progress,
    Wanted,
    alone,
    host,
    refuse_other,
    rows_of,
)

REPEATS = 3
"""Runs of the first configuration, which tell the noise."""


def fill(
    path: Path,
    suite: Suite,
    real: RealEngine,
    *,
    cases: Sequence[Case],
    configurations: Sequence[Configuration],
    minutes: float | None = None,
    machine: str = THIS_MACHINE,
    directory: Path | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_failure: Callable[[Progress, str], None] = lambda progress, why: None,
    core: Core | None = None,
) -> int:
    """Makes the runs that the table lacks, as far as the time goes, and returns how many it made.

    A run that fails, or whose settings an engine refuses or has not, leaves no row, and is told.
    Raises `InputError` for a table of another machine or another version of the product.
    """
    ends = None if minutes is None else time.monotonic() + 60 * minutes
    bench, here = Bench(real, machine, directory, core), host(machine)
    with alone(path):
        known = read(path) if path.stat().st_size else []
        refuse_other("machine", path, {row.host for row in known}, here)
        products = {row.product for row in known if row.product}
        runs = {row.run for row in known}
        wanted = [one for one in _wanted(suite, cases, configurations) if one.run not in runs]
        made = 0
        for one in wanted:
            if ends is not None and time.monotonic() >= ends:
                break
            made += 1
            progress = one.progress(made, len(wanted))
            on_progress(progress)
            if lacking := as_run(one.configuration.settings, real)[1]:
                on_failure(progress, "; ".join(lacking))
                continue
            try:
                trial = bench.trial(one)
            except Refused as refused:
                trial = refused.trial
            if not trial.finished:
                on_failure(progress, trial.error or trial.outcome)
                continue
            if trial.product:
                refuse_other("product", path, products, trial.product)
                products.add(trial.product)
            add(path, rows_of(one, trial, here))
    return made


def _wanted(
    suite: Suite, cases: Sequence[Case], configurations: Sequence[Configuration]
) -> Iterator[Wanted]:
    """Every run, those of one configuration in all cases together: a table that is broken off holds
    whole configurations."""
    for place, configuration in enumerate(configurations):
        for case in cases:
            yield Wanted(suite, case, configuration, "predicted", 1)
            for repeat in range(1, (REPEATS if place == 0 else 1) + 1):
                yield Wanted(suite, case, configuration, "real", repeat)
