"""Replaying a published experiment: scale, run, and put the two tables side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from advisor import core
from advisor.hardware import Hardware, hardware
from advisor.published.claims import Verdict, judge
from advisor.published.experiment import Experiment, Run
from advisor.published.observation import Observation, Observed
from advisor.published.runs import (
    INTERRUPTED,
    WORKERS,
    Carry,
    Failure,
    Outcome,
    Runs,
    in_processes,
    never,
)
from advisor.published.spec import Budget, choose_factor, scaled_run
from advisor.published.tables import Figure
from advisor.scale import Scale, ScaledRun
from advisor.spec import Report, Spec
from advisor.steadiness import NOT_YET

EMPTIEST, FULLEST = 0.0, 0.95
"""Other data on a device that is filled up; full to the brim it could not take the database."""


@dataclass(frozen=True)
class Row:
    """One line of the scorecard."""

    metric: str
    published: Figure | None
    simulated: float | None

    @property
    def ratio(self) -> float | None:
        """Simulated over published."""
        if self.published is None or self.simulated is None or not self.published.value:
            return None
        return self.simulated / self.published.value


@dataclass(frozen=True)
class Replay:
    """A replayed experiment."""

    experiment: Experiment
    factor: float
    """Data of the replay / data of the post."""
    rows: tuple[Row, ...]
    claims: tuple[Verdict, ...]
    notes: tuple[str, ...]
    """Runs that failed, and settings that could not shrink as far as they should."""
    is_whole: bool = True
    """Whether no run is missing because the user interrupted."""

    @property
    def is_empty(self) -> bool:
        """Whether no run gave a figure."""
        return all(row.simulated is None for row in self.rows)

    def document(self) -> dict[str, Any]:
        """The replay as the one JSON shape that it has."""
        return {
            "name": self.experiment.name,
            "scale": self.factor,
            "rows": [
                {
                    "metric": row.metric,
                    "published": None if row.published is None else row.published.value,
                    "simulated": row.simulated,
                    "ratio": row.ratio,
                }
                for row in self.rows
            ],
            "claims": [
                {"id": verdict.claim.id, "text": verdict.claim.text, "holds": verdict.holds}
                for verdict in self.claims
            ],
        }


@dataclass(frozen=True)
class Progress:
    """How far a replay is."""

    experiment: str
    done: int
    runs: int


Watch = Callable[[Progress], None]
Filling = Callable[[Replay], None]
"""Told of what a replay has by now, each time that one of its runs is done."""


def replay(
    experiment: Experiment,
    *,
    budget: Budget | None = None,
    run: Carry = core.run,
    workers: int = WORKERS,
    progress: Watch | None = None,
) -> Replay:
    """Replays one experiment. A run that fails leaves its rows empty and is noted."""
    return next(
        replay_all([experiment], budget=budget, run=run, workers=workers, progress=progress)
    )


def replay_all(
    experiments: Iterable[Experiment],
    *,
    budget: Budget | None = None,
    run: Carry = core.run,
    workers: int = WORKERS,
    progress: Watch | None = None,
    filling: Filling | None = None,
    interrupted: Callable[[], bool] = never,
) -> Iterator[Replay]:
    """Replays experiments one after the other; runs that two have in common are made once.

    Once `interrupted` says so, which is asked about ten times a second, the experiment that is
    being replayed is the last, with the figures of the runs that are done; without any it is left
    out.
    """
    with in_processes(run, workers, interrupted) as runs:
        for experiment in experiments:
            size = budget or Budget(experiment.seconds)
            found = _replay(experiment, size, runs, progress, filling)
            if runs.are_over and found.is_empty:
                return
            yield found
            if runs.are_over:
                return


def unreplayed(experiment: Experiment) -> Replay:
    """What is known before the first run: published figures, and which claims no run decides."""
    return _judged(experiment, choose_factor(experiment, Budget(experiment.seconds)), Observed({}))


def _judged(
    experiment: Experiment,
    factor: float,
    seen: Observed,
    notes: tuple[str, ...] = (),
    *,
    is_whole: bool = False,
) -> Replay:
    rows = tuple(Row(plan.metric, plan.published, plan.simulated(seen)) for plan in experiment.rows)
    values = {row.metric: row.simulated for row in rows}
    verdicts = tuple(judge(claim, values) for claim in experiment.claims)
    return Replay(experiment, factor, rows, verdicts, notes, is_whole)


def _replay(
    experiment: Experiment,
    budget: Budget,
    runs: Runs,
    progress: Watch | None,
    filling: Filling | None,
) -> Replay:
    factor = choose_factor(experiment, budget)
    machine = hardware(experiment.hardware)
    sizing = [replace(run, fill_to=None) for run in experiment.runs if run.fill_to is not None]
    count = _Count(experiment.name, len(sizing) + len(experiment.runs), progress)
    sized, _, _ = _observe(experiment, sizing, factor, {}, machine, runs, count)
    machines = {run.name: _filled(machine, run, sized) for run in experiment.runs}

    def fill(seen: Observed) -> None:
        if filling is not None:
            filling(_judged(experiment, factor, seen))

    seen, notes, is_whole = _observe(
        experiment, experiment.runs, factor, machines, machine, runs, count, fill
    )
    unfilled = tuple(
        f"{run.name}: ran on an empty device, for its sizing run gave no size"
        for run in sizing
        if sized.of("disk_bytes", run.name) is None and seen.of("disk_bytes", run.name) is not None
    )
    return _judged(experiment, factor, seen, notes + unfilled, is_whole=is_whole)


def _observe(
    experiment: Experiment,
    runs: Iterable[Run],
    factor: float,
    machines: Mapping[str, Hardware],
    machine: Hardware,
    carrier: Runs,
    count: _Count,
    fill: Callable[[Observed], None] = lambda seen: None,
) -> tuple[Observed, tuple[str, ...], bool]:
    """What the runs showed, what is to be noted of them, and whether all were carried out."""
    scaled: dict[str, ScaledRun] = {
        run.name: scaled_run(experiment, run, factor, machines.get(run.name, machine))
        for run in runs
    }

    def observed(outcomes: Mapping[str, Outcome | None]) -> Observed:
        return Observed(
            {
                name: Observation(outcome, Scale(factor), machine.cpu_cores)
                for name, outcome in outcomes.items()
                if outcome is not None and not isinstance(outcome, Failure)
            }
        )

    def one_more() -> None:
        count.one_more()
        fill(observed({name: carrier.known(one.spec) for name, one in scaled.items()}))

    made = carrier.outcomes([one.spec for one in scaled.values()], one_more)
    outcomes: dict[str, Outcome] = dict(zip(scaled, made, strict=True))
    is_whole = Failure(INTERRUPTED) not in outcomes.values()
    return observed(outcomes), tuple(_notes(scaled, outcomes)), is_whole


def _notes(scaled: Mapping[str, ScaledRun], outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    """What happened to runs, each thing told once with the runs that it happened to."""
    told: dict[str, list[str]] = {}
    for name, outcome in outcomes.items():
        if isinstance(outcome, Failure):
            told.setdefault(f"no result: {outcome.reason}", []).append(name)
            continue
        if outcome.get("steady") is False:
            told.setdefault(f"{NOT_YET} when the run ended", []).append(name)
        if _cut_short(scaled[name].spec, outcome):
            told.setdefault(f"ended after {outcome['operations']:,} operations", []).append(name)
    for name, one in scaled.items():
        for note in one.notes:
            told.setdefault(note, []).append(name)
    yield from (f"{', '.join(names)}: {note}" for note, names in told.items())


def _cut_short(spec: Spec, report: Report) -> bool:
    """Whether a timed run met its bound on operations."""
    return "seconds" in spec and bool(report.get("operations", 0) >= spec["operations"])


def _filled(machine: Hardware, run: Run, sized: Observed) -> Hardware:
    """The machine with other data beside the database, so that its device is as full as the post
    says. Without a size of the database it stays as it is."""
    size = sized.of("disk_bytes", run.name)
    if run.fill_to is None or size is None or machine.device.kind != "flash":
        return machine
    others = run.fill_to - size / machine.device.capacity_bytes
    return machine.filled(min(FULLEST, max(EMPTIEST, others)))


class _Count:
    """Counts the runs of one experiment for whoever watches."""

    def __init__(self, experiment: str, runs: int, watch: Watch | None) -> None:
        self._experiment, self._runs, self._watch = experiment, runs, watch
        self._done = 0
        self._tell()

    def one_more(self) -> None:
        self._done += 1
        self._tell()

    def _tell(self) -> None:
        if self._watch is not None:
            self._watch(Progress(self._experiment, self._done, self._runs))
