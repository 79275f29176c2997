"""One run of a validation set, on the real engine or predicted, and its rows of the table."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from advisor.core import Core
from advisor.errors import InputError
from advisor.evaluate import Refused, Setup, evaluate
from advisor.hardware import hardware, processor
from advisor.real import RealEngine
from advisor.scale import Scale
from advisor.trial import THIS_MACHINE, Trial
from advisor.validation.cases import Case, Configuration, Suite
from advisor.validation.dataset import Row

MOST_SECONDS = 60.0
"""A run that takes longer has done less than it was to do."""
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

    suite: Suite
    case: Case
    configuration: Configuration
    source: str
    """`real` or `predicted`."""
    repeat: int

    @property
    def run(self) -> tuple[str, ...]:
        """As `Row.run`."""
        work = self.case.digest(self.suite)
        return work, self.configuration.digest, self.source, str(self.repeat)

    def progress(self, number: int, of: int) -> Progress:
        """The run as the `number`th of so many."""
        return Progress(number, of, self.case.name, self.configuration.name, self.source)


@dataclass(frozen=True)
class Bench:
    """Where runs are made."""

    real: RealEngine | None
    """Needed for real runs alone."""
    machine: str
    """The hardware that is predicted for."""
    directory: Path | None
    core: Core | None

    def trial(self, one: Wanted) -> Trial:
        """Makes the run; one that an engine refuses has failed. Raises what `evaluate` raises
        otherwise."""
        setup = Setup(
            one.case.profile(one.suite, self.machine),
            Scale(1.0),
            MOST_SECONDS,
            "real" if one.source == "real" else "simulated",
            self.directory,
            core=self.core,
            real=self.real,
            operations=one.case.operations,
            direct_io=True,
            empties_level0=one.suite.empties_level0,
        )
        try:
            return evaluate(setup, one.suite.engine, one.configuration.settings, seed=one.repeat)
        except Refused as refused:
            return refused.trial


def host(machine: str = THIS_MACHINE) -> str:
    """The machine, as far as it tells itself from others: its processor, and what the probe of its
    drive found. Machines of one name may be twice as fast as one another."""
    known = hardware(machine)
    drive = known.device.model_dump()
    if computed := drive.get("read_cpu_us_in_flight"):
        # Tables name a machine by all that a read takes which is alone.
        drive["read_latency_us"] += computed[0][2]
    probed = [f"{name} {drive[name]:.0f}" for name in _PROBED if name in drive]
    return ", ".join((processor(), f"{known.cpu_cores} cores", *probed))


_PROBED = ("read_latency_us", "sync_us")
PROBES_AGREE = 1.5
"""A probe finds a shared drive this many times as fast as another hour's, at most. Measured: 62 and
75 us for a read on the machine of the tables, three hours apart."""


def as_in_table(known: set[str], found: str) -> str:
    """The machine as the table calls it, which keeps the name of the first probe; as it was found
    where the table has no such machine."""
    for name in sorted(known):
        (table, mine) = (_told_apart(one) for one in (name, found))
        ratios = [b / a for a, b in zip(table[1], mine[1], strict=False)]
        agree = all(1 / PROBES_AGREE <= ratio <= PROBES_AGREE for ratio in ratios)
        if table[0] == mine[0] and agree:
            return name
    return found


def _told_apart(name: str) -> tuple[list[str], list[float]]:
    """What a machine is, and what was probed of it."""
    parts = [(part, *part.rpartition(" ")[::2]) for part in name.split(", ")]
    probed = [(what, float(number)) for _, what, number in parts if what in _PROBED]
    rest = [part for part, what, _ in parts if what not in _PROBED]
    return rest + [what for what, _ in probed], [number for _, number in probed]


def rows_of(one: Wanted, trial: Trial, machine: str) -> Iterator[Row]:
    """The metrics of a finished run."""
    for metric in METRICS:
        if metric in trial.counted:
            yield Row(
                case=one.case.name,
                work=one.case.digest(one.suite),
                configuration=one.configuration.name,
                settings=one.configuration.digest,
                source=one.source,
                repeat=one.repeat,
                metric=metric,
                value=float(trial.counted[metric]),
                product=trial.product,
                core="" if trial.product else trial.core_version,
                host=machine,
            )


def not_in_table(path: Path, what: str, found: str, known: set[str]) -> InputError:
    """The error of a machine, or a product, that is none of the table's."""
    return InputError(path, what, found, f"{', '.join(sorted(known))} as in the table")


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
