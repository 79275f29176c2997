"""Filling the table: whatever run it lacks is made and kept at once, so that it goes on where it
was left."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from advisor.core import Core
from advisor.errors import InputError
from advisor.evaluate import Setup, evaluate
from advisor.hardware import processor
from advisor.real import RealEngine
from advisor.scale import Scale
from advisor.trial import THIS_MACHINE, Trial
from advisor.validation.cases import Case, Configuration, Suite
from advisor.validation.dataset import Row, add, read

SECONDS = 4.0
REPEATS = 3
"""Runs of the first configuration, which tell the noise."""
METRICS = (
    "ops_per_s",
    "p99_us",
    "reads_per_op",
    "read_kb_per_op",
    "write_kb_per_op",
    "write_amp",
    "space_amp",
    "memory_bytes",
    "process_memory_bytes",
    "cpu_us_per_op",
)


@dataclass(frozen=True)
class Progress:
    """What is about to run."""

    number: int
    of: int
    case: str
    configuration: str
    source: str


@dataclass(frozen=True)
class _Wanted:
    case: Case
    configuration: Configuration
    source: str
    repeat: int

    @property
    def run(self) -> tuple[str, str, str, str, int]:
        settings = self.configuration.digest
        return self.case.name, self.configuration.name, settings, self.source, self.repeat


def fill(
    path: Path,
    suite: Suite,
    real: RealEngine,
    *,
    cases: Sequence[Case],
    configurations: Sequence[Configuration],
    seconds: float = SECONDS,
    minutes: float | None = None,
    machine: str = THIS_MACHINE,
    directory: Path | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_failure: Callable[[Progress, str], None] = lambda progress, why: None,
    core: Core | None = None,
) -> int:
    """Makes the runs that the table lacks, as far as the time goes, and returns how many it made.

    A run that fails leaves no row, and is told. Raises `InputError` for what the engine refuses,
    and for a table of another machine or another version of the product.
    """
    ends = None if minutes is None else time.monotonic() + 60 * minutes
    with _alone(path):
        known = read(path) if path.stat().st_size else []
        _refuse_other("machine", path, {row.host for row in known}, processor())
        products = {row.product for row in known if row.product}
        runs = {row.run for row in known}
        wanted = [one for one in _wanted(cases, configurations) if one.run not in runs]
        made = 0
        for one in wanted:
            if ends is not None and time.monotonic() >= ends:
                break
            made += 1
            progress = Progress(
                made, len(wanted), one.case.name, one.configuration.name, one.source
            )
            on_progress(progress)
            trial = _run(one, suite, real, seconds, machine, directory, core)
            if not trial.finished:
                on_failure(progress, trial.error or trial.outcome)
                continue
            if trial.product:
                _refuse_other("product", path, products, trial.product)
                products.add(trial.product)
            add(path, _rows(one, trial))
    return made


def _refuse_other(what: str, path: Path, known: set[str], found: str) -> None:
    if known and found not in known:
        raise InputError(path, what, found, f"{', '.join(sorted(known))} as in the table")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Refuses a table that another process fills."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            accepted = "a table that no process fills"
            raise InputError(path, None, "another process that fills it", accepted) from error
        yield


def _wanted(cases: Sequence[Case], configurations: Sequence[Configuration]) -> Iterator[_Wanted]:
    """Every run, those of one configuration in all cases together: a table that is broken off holds
    whole configurations."""
    for place, configuration in enumerate(configurations):
        for case in cases:
            yield _Wanted(case, configuration, "predicted", 1)
            for repeat in range(1, (REPEATS if place == 0 else 1) + 1):
                yield _Wanted(case, configuration, "real", repeat)


def _run(
    one: _Wanted,
    suite: Suite,
    real: RealEngine,
    seconds: float,
    machine: str,
    directory: Path | None,
    core: Core | None,
) -> Trial:
    profile = one.case.profile(suite, machine)
    setup = Setup(
        profile,
        Scale(1.0),
        seconds,
        "real" if one.source == "real" else "simulated",
        directory,
        core=core,
        real=real,
        to_the_end=True,
        direct_io=True,
    )
    return evaluate(setup, suite.engine, one.configuration.settings, seed=one.repeat)


def _rows(one: _Wanted, trial: Trial) -> Iterator[Row]:
    for metric in METRICS:
        if metric in trial.metrics:
            yield Row(
                case=one.case.name,
                configuration=one.configuration.name,
                settings=one.configuration.digest,
                source=one.source,
                repeat=one.repeat,
                metric=metric,
                value=float(trial.metrics[metric]),
                product=trial.product,
                host=processor(),
            )
