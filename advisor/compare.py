"""Stored runs, studies and configurations side by side: what each measured, where another is better
than the first and by how much, and which settings differ.

A study stands for the settings that it recommends, with the trials by which its report shows them.
A configuration (`advisor/configured.py`) is run first.
Numbers of different clocks or of different workloads get no verdict, and none comes from a single
run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from advisor import engines, handover, hardware, knobs
from advisor.configured import ACCEPTED, On, is_configuration
from advisor.configured import run as run_configuration
from advisor.configured import told as told_configuration
from advisor.core import Core
from advisor.errors import InputError
from advisor.evaluate import problem_of
from advisor.goal import METRICS, Goal, find_metric, of_operation, percentiles
from advisor.knobs import Engine, Setting, Settings
from advisor.noise import Spread
from advisor.recommend import verdict, wording
from advisor.search import Candidate, Study
from advisor.search.ranking import candidates, noise_of
from advisor.sizes import format_factor, format_size
from advisor.steadiness import NOT_YET
from advisor.store import Store
from advisor.trial import Clock, Problem, Trial
from advisor.workload import kinds

ID_LETTERS = 8
"""Of a run's id, as it is shown."""
LEAST = 2
"""Things that can be compared."""

Outcome = Literal["better", "worse", "within noise", "from a single run", "no ratio"]


@dataclass(frozen=True)
class Side:
    """One of the things compared."""

    name: str
    """A study's name, the beginning of a run's id, or a configuration as it was given."""
    kind: Literal["run", "study", "configuration"]
    candidate: Candidate
    """The settings, with the trials that the numbers are of."""
    repeated: tuple[Candidate, ...]
    """All settings whose repetitions tell its noise."""
    problem: Problem | None
    """Absent for a run from before it was kept."""

    @property
    def engine(self) -> Engine:
        return self.candidate.engine

    @property
    def settings(self) -> Settings:
        return self.candidate.settings

    @property
    def trials(self) -> tuple[Trial, ...]:
        return self.candidate.judged

    @property
    def trial(self) -> Trial:
        """One of the trials: what is asked of it is the same for all."""
        return self.trials[0]

    @property
    def clock(self) -> Clock:
        return self.trial.clock

    @property
    def syncs_commits(self) -> bool:
        """Whether its commits survive a power failure."""
        complete = {**knobs.defaults(self.engine), **self.settings}
        return engines.of(self.engine).syncs_commits(complete)

    @property
    def metrics(self) -> Mapping[str, Spread]:
        """What all its trials measured; empty for a run that failed."""
        found = {name: self.candidate.spread(name) for name in self.candidate.metrics()}
        return {name: spread for name, spread in found.items() if spread is not None}

    @property
    def words(self) -> str:
        """What it is, on what and how it was run."""
        told = [f"{self.trial.product or self.engine} on {self.trial.workload}"]
        told.append(f"{self.clock} on {self.trial.hardware}" if self.trial.hardware else self.clock)
        told.append(
            "at full size"
            if self.trial.scale == 1
            else f"at {format_factor(self.trial.scale)} of the full size"
        )
        if self.problem is not None:
            told.append(f"{format_size(self.problem.data_bytes)} of data")
            told.append(f"{format_size(self.problem.memory_bytes)} of memory")
            told.append(f"clients: {self.problem.clients:,}")
        told.append(f"runs of {self.trial.seconds:g} s: {len(self.trials)}")
        return ", ".join([*told, *([self.remark] if self.remark else [])])

    @property
    def remark(self) -> str:
        """What speaks against its numbers; empty if nothing does."""
        if not self.trial.finished:
            return f"{self.trial.outcome}: {self.trial.error}"
        return NOT_YET if any(trial.steady is False for trial in self.trials) else ""

    @cached_property
    def conditions(self) -> Mapping[str, object]:
        """What it was run on and how, by name."""
        trial, problem = self.trial, self.problem
        found: dict[str, object] = {
            "hardware": trial.hardware,
            "host": trial.host if trial.clock != "simulated" else "",
            f"product of {self.engine}": trial.product,
            "scale": round(trial.scale, 9),
            "seconds": trial.seconds,
        }
        if problem is not None:
            found["data"] = problem.data_bytes
            found["memory"] = problem.memory_bytes
            found["clients"] = problem.clients
        return found


@dataclass(frozen=True)
class Verdict:
    """One metric of another side against that of the first."""

    outcome: Outcome
    gain: float
    """Relative to the first; above 0 is better."""
    noise: float
    """Relative difference that noise alone explains with 95% confidence."""
    is_more: bool
    """Whether the number grew."""

    def __str__(self) -> str:
        """`better by 34% (noise ±6.0%)`, `within noise (±6.0%)`, `from a single run: +34%`."""
        size = wording.percent(self.gain)
        if self.outcome in ("better", "worse"):
            return f"{self.outcome} by {size} (noise ±{wording.percent(self.noise)})"
        if self.outcome == "within noise":
            return f"within noise (±{wording.percent(self.noise)})"
        if self.outcome == "no ratio":
            return "was 0: no ratio"
        change = f"{'+' if self.is_more else '-'}{size}" if self.gain else "the same"
        return f"{self.outcome}: {change}"


@dataclass(frozen=True)
class Row:
    """One metric of all sides."""

    metric: str
    values: tuple[float | None, ...]
    """Medians; absent where it was not measured."""
    verdicts: tuple[Verdict | None, ...]
    """Of every side but the first; absent where there is none to give."""


@dataclass(frozen=True)
class Apart:
    """Knobs in which sides of one engine differ."""

    engine: Engine
    places: tuple[int, ...]
    """Which of the sides, from 0."""
    knobs: Mapping[str, tuple[Setting | None, ...]]
    """Their values; absent where a side was run before there was such a knob."""


@dataclass(frozen=True)
class SideBySide:
    """The things compared, the first of which the others are compared with."""

    sides: tuple[Side, ...]

    @property
    def first(self) -> Side:
        return self.sides[0]

    @property
    def others(self) -> tuple[Side, ...]:
        return self.sides[1:]

    @cached_property
    def refusals(self) -> tuple[str, ...]:
        """Of every side but the first, why it gets no verdict; empty where it gets some."""
        return tuple(_refusal(self.first, side) for side in self.others)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Every metric that a side measured, in the order of the reports."""
        seen = set().union(*(side.metrics for side in self.sides))
        order = [*(name for name in METRICS if name in seen), *sorted(seen - set(METRICS))]
        return tuple(self._row(metric) for metric in order)

    @cached_property
    def apart(self) -> tuple[Apart, ...]:
        """The settings that differ, for each engine that two sides have."""
        places: dict[Engine, list[int]] = {}
        for place, side in enumerate(self.sides):
            places.setdefault(side.engine, []).append(place)
        return tuple(
            Apart(engine, tuple(found), _differing(engine, [self.sides[p] for p in found]))
            for engine, found in places.items()
            if len(found) > 1
        )

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What the reader must know to judge the verdicts."""
        told = []
        for side, refusal in zip(self.others, self.refusals, strict=True):
            if refusal:
                told.append(f"{side.name} and {self.first.name}: {refusal}")
                continue
            unequal = _unequal(self.first, side)
            if unequal:
                told.append(
                    f"{side.name} and {self.first.name} differ in more than settings: "
                    f"{', '.join(unequal)}"
                )
            if side.engine != self.first.engine and not (
                _has_products(self.first) and _has_products(side)
            ):
                told.append(f"{side.name} and {self.first.name}: {verdict.OWN_ENGINES}")
        lossy = [side.name for side in self.sides if not side.syncs_commits]
        if lossy and len(lossy) < len(self.sides):
            safe = (side.name for side in self.sides if side.syncs_commits)
            told.append(
                f"commits survive a power failure in {', '.join(safe)} and not in "
                f"{', '.join(lossy)}"
            )
        unknown = [side.name for side in self.sides if side.problem is None]
        if unknown:
            told.append(
                f"{', '.join(unknown)}: stored without the parameters of the workload, which may "
                "not be the same"
            )
        return tuple(told)

    def _row(self, metric: str) -> Row:
        spreads = [side.metrics.get(metric) for side in self.sides]
        verdicts = [
            None if refusal else _verdict(metric, self.first, side)
            for side, refusal in zip(self.others, self.refusals, strict=True)
        ]
        values = tuple(None if spread is None else spread.median for spread in spreads)
        return Row(metric, values, tuple(verdicts))


def compare(
    names: Sequence[str], store: Store, on: On | None = None, core: Core | None = None
) -> SideBySide:
    """Stored runs, by the beginning of their id, studies, by name, and configurations, which are
    run `on` a profile and stored. Raises `InputError` for fewer than two, for one of them twice,
    for what is not stored or not the only one, and for a configuration without a profile or a
    profile without one."""
    if len(names) < LEAST:
        found = f"only {names[0]!r}" if names else "no names"
        accepted = "two or more stored studies or runs, or configurations"
        raise InputError("compare", None, found, accepted)
    _check_profile(names, store, on)
    sides: list[Side] = []
    for name in names:
        side = _side(name, store, on, core)
        if any((side.name, side.kind) == (one.name, one.kind) for one in sides):
            found = f"the {side.kind} {side.name!r} twice"
            raise InputError("compare", None, found, "different studies or runs")
        sides.append(side)
    return SideBySide(tuple(_with_percentiles(sides)))


def _with_percentiles(sides: Sequence[Side]) -> Sequence[Side]:
    """The sides, each with the percentiles of single operations that the goal of any speaks of."""
    names = [name for name in set().union(*(side.metrics for side in sides)) if of_operation(name)]
    if not names:
        return sides

    def told(candidate: Candidate) -> Candidate:
        trials = (
            replace(trial, metrics={**trial.metrics, **percentiles(names, trial.by_operation)})
            for trial in candidate.trials
        )
        return replace(candidate, trials=tuple(trials))

    return [
        replace(side, candidate=told(side.candidate), repeated=tuple(map(told, side.repeated)))
        for side in sides
    ]


def _check_profile(names: Sequence[str], store: Store, on: On | None) -> None:
    """Before anything runs."""
    to_run = [name for name in names if store.study(name) is None and is_configuration(name)]
    if to_run and on is None:
        found = f"{to_run[0]} without a profile"
        raise InputError("--profile", None, found, "the profile that it is to run on")
    if on is not None and not to_run:
        found = f"{on.profile.name}, and nothing to run"
        raise InputError("--profile", None, found, f"with {ACCEPTED}")
    for name in to_run:
        if on is not None:
            told_configuration(name, on)


def _side(name: str, store: Store, on: On | None, core: Core | None) -> Side:
    if store.study(name) is not None:
        return _of_study(name, store)
    if on is not None and is_configuration(name):
        ran = run_configuration(name, on, store, core)
        return Side(name, "configuration", ran, (ran,), problem_of(on.profile))
    run = store.trial(name)
    alone = Candidate(run.engine, run.settings, (run,))
    return Side(run.id[:ID_LETTERS], "run", alone, (alone,), run.problem)


def _of_study(name: str, store: Store) -> Side:
    study = Study.load(name, store)
    advice = handover.advice_for(study, None, handover.own_file(study), measure=False)
    shown = Candidate(advice.engine, advice.settings, advice.columns[-1].trials)
    repeated = tuple(candidates(study.evidence))
    return Side(name, "study", shown, repeated, problem_of(study.profile))


def _refusal(first: Side, side: Side) -> str:
    if side.clock != first.clock:
        return f"{side.clock} against {first.clock}: not compared"
    if side.trial.workload != first.trial.workload:
        return f"{side.trial.workload} against {first.trial.workload}: not compared"
    if side.problem is None or first.problem is None:
        return ""
    mine, theirs = side.problem.workload, first.problem.workload
    other = sorted(name for name in {*mine, *theirs} if mine.get(name) != theirs.get(name))
    if not other:
        return ""
    return f"{side.trial.workload} with another {', '.join(other)}: not compared"


def _unequal(first: Side, side: Side) -> list[str]:
    mine, theirs = side.conditions, first.conditions
    return [name for name in theirs if name in mine and mine[name] != theirs[name]]


def _has_products(side: Side) -> bool:
    """Whether its numbers hold what a product's own code takes."""
    if side.clock != "simulated":
        return side.clock == "real"
    try:
        machine = hardware.hardware(side.trial.hardware)
    except InputError:
        # A machine whose file is gone speaks for no product any more.
        return False
    workload = kinds().get(side.trial.workload)
    return workload is not None and verdict.has_products(side.clock, machine, workload)


def _verdict(metric: str, first: Side, side: Side) -> Verdict | None:
    """Absent where one of the two did not measure it, or nobody says which way is better."""
    if find_metric(metric) is None:
        return None
    goal = Goal(metric)
    noise = noise_of([*first.repeated, *side.repeated], metric)
    found = verdict.compare(goal, noise, side.candidate, first.candidate)
    before, after = first.candidate.score(goal), side.candidate.score(goal)
    if found is None or before is None or after is None:
        return None
    return Verdict(_outcome(found, before, after), found.gain, found.bound, after > before)


def _outcome(found: verdict.Comparison, before: float, after: float) -> Outcome:
    if before == 0 != after:
        return "no ratio"
    if not found.decides:
        return "from a single run"
    if found.within_noise:
        return "within noise"
    return "better" if found.gain > 0 else "worse"


def _differing(engine: Engine, sides: Sequence[Side]) -> Mapping[str, tuple[Setting | None, ...]]:
    known = knobs.catalogue(engine)
    seen = set().union(*(side.settings for side in sides))
    order = [*(name for name in known if name in seen), *sorted(seen - set(known))]
    values = {name: tuple(side.settings.get(name) for side in sides) for name in order}
    return {name: found for name, found in values.items() if any(v != found[0] for v in found)}
