"""What the screens show and ask for, as plain values.

A screen knows these and a `Session`, never the library behind it; so a test can drive the whole
workbench with a session of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True)
class ProfileView:
    """A profile in the list. One that cannot be read has a `problem` and nothing else."""

    name: str
    text: str = ""
    workload: str = ""
    hardware: str = ""
    data_bytes: int | None = None
    memory_bytes: int | None = None
    clients: int | None = None
    goal: str = ""
    engines: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class UsualBounds:
    """What bounds a study when the form says nothing."""

    trials: int | None
    seconds: float


@dataclass(frozen=True)
class StudyForm:
    """What the user typed, as typed. An empty text leaves the profile's own value."""

    profile: str
    data: str = ""
    memory: str = ""
    clients: str = ""
    goal: str = ""
    trials: str = ""
    minutes: str = ""
    seconds: str = ""
    current: str = ""
    engine: str = "both"
    durability: bool = False
    rebuild: bool = False
    cold: bool = False


class FormProblems(Exception):
    """What is wrong with a form: a message per field name."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(problems.values()))
        self.problems = dict(problems)


@dataclass(frozen=True)
class Plan:
    """A study that is ready to start. `details` is the session's own."""

    title: str
    metric: str
    goal: str
    clock: str
    trials: int | None
    less_is_better: bool = False
    details: Any = None


@dataclass(frozen=True)
class TrialView:
    """One trial. `score` orders trials, higher is better; None when it failed or broke a limit of
    the goal."""

    number: int
    engine: str
    score: float | None
    metrics: Mapping[str, float]
    changed: str
    note: str = ""
    steady: bool | None = None
    """None where that was not judged."""
    beyond: float = 0.0
    """How far beyond the limits of the goal; infinite where that is not known."""


@dataclass(frozen=True)
class Change:
    """One line of the recommendation."""

    knob: str
    current: str
    recommended: str
    evidence: str
    alone: float | None = None
    """What it buys of the goal's metric on its own, relatively, above 0 for the better; None where
    that was not measured."""
    company: float | None = None
    """What it buys beside the other changes."""


@dataclass(frozen=True)
class NumberColumn:
    """The numbers of one configuration."""

    title: str
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class ContenderView:
    """Settings on a real engine, by the goal's metric."""

    name: str
    value: str
    real: str
    """Times the base of comparison, with the interval; empty for the base."""
    predicted: str
    verdict: str


@dataclass(frozen=True)
class VerificationView:
    """What a real engine said of a study."""

    product: str
    metric: str
    how: str
    """Size and number of the runs, in words."""
    contenders: tuple[ContenderView, ...]


@dataclass(frozen=True)
class RobustView:
    """What the recommended settings and the robust choice do at the neighbours of what was
    asked."""

    choice: str
    """Who has the best worst case at a bearable price."""
    points: tuple[str, ...]
    """What was asked, its neighbours, and last the worst of them."""
    candidates: tuple[tuple[str, tuple[str, ...]], ...]
    """The recommended settings and the choice, with what each has of the best at every point."""
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What a study found out."""

    study: str
    engine: str
    verdict: str
    goal: str
    clock: str
    trials: int
    tried: str
    """How many trials of which engine, in words."""
    metrics: tuple[str, ...] = ()
    """What the goal speaks of."""
    columns: tuple[NumberColumn, ...] = ()
    """What was compared; the recommended settings last."""
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    warning: str = ""
    """What must be known before anything else; empty if there is nothing."""
    verified: VerificationView | None = None
    importance: tuple[tuple[str, float], ...] = ()
    """Knobs of the engine with their share in good scores, the largest first."""
    robust: RobustView | None = None
    less_is_better: bool = False
    details: Any = None


@dataclass(frozen=True)
class StudyView:
    """A stored study in the list of results."""

    name: str
    workload: str
    created: str
    trials: int
    clock: str
    goal: str
    verified: str = ""
    """The product that its advice ran on; empty if none did."""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class SideView:
    """One of the things compared."""

    name: str
    what: str
    how: str
    """On what and how it was run, in words."""


@dataclass(frozen=True)
class ComparedLine:
    """A metric or a setting of all sides."""

    name: str
    values: tuple[str, ...]
    """By side; empty where it has none."""
    verdicts: tuple[str, ...] = ()
    """Of every side but the first; empty where there is none to give."""


@dataclass(frozen=True)
class ComparisonView:
    """Studies side by side, the first of which the others are compared with."""

    sides: tuple[SideView, ...]
    metrics: tuple[ComparedLine, ...]
    settings: tuple[ComparedLine, ...]
    """Those that differ within an engine."""
    notes: tuple[str, ...]


@dataclass(frozen=True)
class AnswerView:
    """The answer to a query, or as much of it as is shown."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[bool, ...]
    """Which columns hold numbers alone."""
    is_cut: bool = False
    """Whether more rows were found than are shown."""


@dataclass(frozen=True)
class SweepForm:
    """What the user typed for a sweep, as typed. An empty text leaves what is usual."""

    profile: str
    over: str
    steps: str = ""
    retune: str = ""
    data: str = ""
    memory: str = ""
    clients: str = ""
    goal: str = ""
    seconds: str = ""


@dataclass(frozen=True)
class SweepPlan:
    """A sweep that is ready to start. `details` is the session's own."""

    title: str
    details: Any = None


@dataclass(frozen=True)
class SweepRow:
    """A stored sweep in the list."""

    name: str
    axis: str
    created: str
    points: int
    planned: int | None
    """Points of the whole; None where that is not known any more."""
    clock: str
    goal: str


@dataclass(frozen=True)
class SweepStep:
    """A value of the axis, and what each engine reached there."""

    label: str
    medians: tuple[float | None, ...]
    """By engine; None where it was not measured."""
    lead: str
    """By how much which engine leads; empty for a sweep of one."""
    crossing: str
    """Where between here and the next step one engine overtakes the other; mostly empty."""


@dataclass(frozen=True)
class SweepCell:
    """A place of a map."""

    text: str
    """Which engine leads and by how much, or why none does."""
    engine: str
    """The one that leads or has runs alone; empty where none does."""


@dataclass(frozen=True)
class SweepGrid:
    """A sweep over two axes: a line of cells for each value of the second one."""

    axis: str
    across: str
    labels: tuple[str, ...]
    """Values of the first axis, the columns."""
    lines: tuple[tuple[str, tuple[SweepCell, ...]], ...]
    """Values of the second axis with their cells."""

    @property
    def corner(self) -> str:
        """The head of the column of the second axis' values."""
        return f"{self.across} \\ {self.axis}"


@dataclass(frozen=True)
class SweepView:
    """A sweep, whole or as far as it is."""

    name: str
    profile: str
    axis: str
    metric: str
    goal: str
    clock: str
    engines: tuple[str, ...]
    steps: tuple[SweepStep, ...]
    sentences: tuple[str, ...]
    points: int
    planned: int
    grid: SweepGrid | None = None
    """Of a map, which has no steps."""


@dataclass(frozen=True)
class ExperimentRow:
    """A published experiment in the list."""

    name: str
    runs: int
    text: str


@dataclass(frozen=True)
class FigureView:
    """A published figure beside the simulated one; empty where there is none, or none yet."""

    metric: str
    published: str
    simulated: str
    ratio: str


@dataclass(frozen=True)
class ClaimView:
    """What a post says, and whether it holds in the simulation."""

    id: str
    verdict: str
    text: str
    why: str


@dataclass(frozen=True)
class PublishedView:
    """A published experiment, as far as it is replayed."""

    name: str
    about: str
    """Hardware, size of the copy and sources, in words."""
    figures: tuple[FigureView, ...]
    claims: tuple[ClaimView, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class DialectView:
    """A file format that a recommendation can be written in."""

    name: str
    title: str
    file_name: str
    remark: str = ""
    """How the engine of the format fared, where it is not the recommended one."""


@dataclass(frozen=True)
class Watcher:
    """Called from the thread of the study as it goes."""

    attach: Callable[[Callable[[], None], Callable[[], None]], None]
    """Takes, before the study is prepared, what stops it after its running trial, and what ends
    everything at once, so that `tune` answers nothing. Both may be called from any thread."""
    started: Callable[[int, int | None, str], None]
    """Number of the trial, trials at the end if that is known, and engine."""
    interval: Callable[[Mapping[str, Any]], None]
    finished: Callable[[TrialView], None]


@dataclass(frozen=True)
class SweepWatcher:
    """Called from the thread of the sweep as it goes."""

    attach: Callable[[Callable[[], None], Callable[[], None]], None]
    """Takes what stops it after its running step, and what drops that too. Both may be called from
    any thread."""
    step: Callable[[str], None]
    """The value that begins, as people write it."""
    moved: Callable[[SweepView], None]
    """All there is by now."""


@dataclass(frozen=True)
class ReplayWatcher:
    """Called from the thread of the replay as it goes."""

    attach: Callable[[Callable[[], None], Callable[[], None]], None]
    """Takes what ends it with what is done by then, twice. It may be called from any thread."""
    runs: Callable[[int, int], None]
    """Runs that are done, and runs in all."""
    moved: Callable[[PublishedView], None]
    """All there is by now."""


class Session(Protocol):
    """What the workbench asks of the library. All but `tune`, `sweep`, `replay`, `usual_bounds`,
    `preview` and `export` answer quickly."""

    def profiles(self) -> list[ProfileView]:
        """The profiles that ship and those in the current folder."""

    def usual_bounds(self) -> UsualBounds:
        """The bounds of a study whose form leaves them open. Loads the search, which takes a
        moment: not for the thread of the screen."""

    def plan(self, form: StudyForm) -> Plan:
        """Check a form; raises `FormProblems`."""

    def tune(self, plan: Plan, watcher: Watcher) -> Outcome:
        """Run the study in the calling thread, until done or asked to stop."""

    def studies(self) -> list[StudyView]:
        """The stored studies, the newest first."""

    def trials(self, study: str) -> list[TrialView]:
        """The trials of a stored study."""

    def delete(self, study: str) -> None:
        """Remove a stored study and its trials."""

    def tag(self, study: str, name: str) -> tuple[str, ...]:
        """Tag a stored study, or take the tag off where it has it; answers its tags."""

    def compare(self, studies: Sequence[str]) -> ComparisonView:
        """What stored studies recommend, side by side."""

    def sql(self, query: str) -> AnswerView:
        """Ask the results file, which the query cannot change."""

    def tables(self) -> dict[str, tuple[str, ...]]:
        """What a query can read: the columns of every view and table."""

    def outcome(self, study: str) -> Outcome:
        """The recommendation of a stored study."""

    def sweeps(self) -> list[SweepRow]:
        """The stored sweeps, the newest first."""

    def stored_sweep(self, name: str) -> SweepView:
        """A stored sweep."""

    def plan_sweep(self, form: SweepForm) -> SweepPlan:
        """Check the form of a sweep; raises `FormProblems`."""

    def sweep(self, plan: SweepPlan, watcher: SweepWatcher) -> SweepView:
        """Walk the axis in the calling thread, until done or asked to stop."""

    def experiments(self) -> list[ExperimentRow]:
        """The published experiments."""

    def published(self, name: str) -> PublishedView:
        """An experiment as it was last replayed since the program started, or not yet."""

    def replay(self, name: str, watcher: ReplayWatcher) -> PublishedView:
        """Replay an experiment in the calling thread, until done or asked to stop."""

    def dialects(self, outcome: Outcome) -> list[DialectView]:
        """The formats to write in, the most likely one first; those of the engine that is not
        recommended say how it fared."""

    def preview(self, outcome: Outcome, dialect: str) -> str:
        """The file as it would be written, of the best settings of the engine that the format is
        for. Reads the study again where that is the other engine: not for the thread of the
        screen."""

    def export(self, outcome: Outcome, dialect: str, path: Path, *, force: bool) -> str:
        """Write the file and its reports; answers what was written. Draws plots, which takes a
        moment: not for the thread of the screen."""
