"""One run of a validation set, on the real engine or predicted, and its rows of the table."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from advisor.core import Core
from advisor.errors import InputError
from advisor.evaluate import Setup, evaluate
from advisor.hardware import processor
from advisor.real import RealEngine
from advisor.scale import Scale
from advisor.trial import Trial
from advisor.validation.cases import Case, Configuration, Suite
from advisor.validation.dataset import Row

SECONDS = 4.0
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
class Wanted:
    """A run to make."""

    case: Case
    configuration: Configuration
    source: str
    """`real` or `predicted`."""
    repeat: int

    @property
    def run(self) -> tuple[str, str, str, str, int]:
        """As `Row.run`."""
        settings = self.configuration.digest
        return self.case.name, self.configuration.name, settings, self.source, self.repeat

    def progress(self, number: int, of: int) -> Progress:
        """The run as the `number`th of so many."""
        return Progress(number, of, self.case.name, self.configuration.name, self.source)


@dataclass(frozen=True)
class Bench:
    """Where runs are made."""

    suite: Suite
    real: RealEngine | None
    """Needed for real runs alone."""
    seconds: float
    machine: str
    """The hardware that is predicted for."""
    directory: Path | None
    core: Core | None

    def trial(self, one: Wanted) -> Trial:
        """Makes the run. Raises what `evaluate` raises."""
        setup = Setup(
            one.case.profile(self.suite, self.machine),
            Scale(1.0),
            self.seconds,
            "real" if one.source == "real" else "simulated",
            self.directory,
            core=self.core,
            real=self.real,
            to_the_end=True,
            direct_io=True,
        )
        return evaluate(setup, self.suite.engine, one.configuration.settings, seed=one.repeat)


def rows_of(one: Wanted, trial: Trial) -> Iterator[Row]:
    """The metrics of a finished run."""
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


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Refuses a table that another process fills."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            accepted = "a table that no process fills"
            raise InputError(path, None, "another process that fills it", accepted) from error
        yield


def refuse_other(what: str, path: Path, known: set[str], found: str) -> None:
    """Raises `InputError` for a machine, or a product, that is not the table's."""
    if known and found not in known:
        raise InputError(path, what, found, f"{', '.join(sorted(known))} as in the table")
