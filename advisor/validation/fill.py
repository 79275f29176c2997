"""Filling the table: whatever run it lacks is made and kept at once, so that it goes on where it
was left."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from advisor.core import Core
from advisor.real import RealEngine, as_run
from advisor.trial import THIS_MACHINE, Trial
from advisor.validation.cases import Case, Configuration, Suite
from advisor.validation.dataset import add, read
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

REPEATS = 3
"""Runs of the first configuration, which tell the noise."""
PREDICTED_AT_ONCE = 16
"""Predictions between two looks at the time."""


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
    """Makes the runs that the table lacks, as far as the time goes, and returns how many it made:
    real runs one after the other, then predictions of what has real runs, several at once.

    A table may hold several machines: what one of them ran no other runs again, but for the first
    configuration, which every machine runs. A run that fails, or whose settings an engine refuses
    or has not, leaves no row, and is told. Raises `InputError` for a table of another version of
    the product.
    """
    ends = None if minutes is None else time.monotonic() + 60 * minutes
    bench, here = Bench(real, machine, directory, core), host(machine)
    with alone(path):
        known = read(path) if path.stat().st_size else []
        here = as_in_table({row.host for row in known}, here)
        products = {row.product for row in known if row.product}
        runs = {row.run for row in known if row.host == here}
        of_each = {one.digest for one in configurations[:1]}
        made_before = runs | {row.run for row in known if row.settings not in of_each}
        wanted = [
            one for one in _wanted(suite, cases, configurations) if one.run not in made_before
        ]
        made = 0

        def over() -> bool:
            return ends is not None and time.monotonic() >= ends

        def take(one: Wanted, trial: Trial) -> None:
            if not trial.finished:
                on_failure(one.progress(made, len(wanted)), trial.error or trial.outcome)
                return
            if trial.product and products and trial.product not in products:
                raise not_in_table(path, "product", trial.product, products)
            if trial.product:
                products.add(trial.product)
            add(path, rows_of(one, trial, here))
            runs.add(one.run)

        for one in (one for one in wanted if one.source == "real"):
            if over():
                return made
            made += 1
            on_progress(one.progress(made, len(wanted)))
            if lacking := as_run(one.configuration.settings, real)[1]:
                on_failure(one.progress(made, len(wanted)), "; ".join(lacking))
            else:
                take(one, bench.trial(one))
        unpredicted = [
            one
            for one in wanted
            if one.source == "predicted" and replace(one, source="real").run in runs
        ]
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            for first in range(0, len(unpredicted), PREDICTED_AT_ONCE):
                some = unpredicted[first : first + PREDICTED_AT_ONCE]
                if over():
                    return made
                for one, trial in zip(some, workers.map(bench.trial, some), strict=True):
                    made += 1
                    on_progress(one.progress(made, len(wanted)))
                    take(one, trial)
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
