"""Both engines along an axis: at every step the same settings, fitted to the memory there, or the
best that a search of that step finds; and where the better engine changes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event

from advisor import engines
from advisor.core import Cancelled, Core
from advisor.errors import InputError
from advisor.evaluate import Setup, choose_scale, needed_memory
from advisor.goal import Goal, refuse_several
from advisor.knobs import Engine, Settings
from advisor.noise import Noise, Spread
from advisor.profile import Profile
from advisor.scale import Scale
from advisor.search import Bounds, Question, Study
from advisor.search.ranking import best
from advisor.search.runner import Job, Runner
from advisor.search.seeds import seeds
from advisor.search.squeeze import with_full_cache
from advisor.store import Store, SweepPoint, SweepRecord
from advisor.sweep.axis import Axis
from advisor.sweep.crossover import Crossover, crossovers, gain
from advisor.trial import Clock, Trial

RUNS = 2
"""Runs of each engine at each step, with seeds of their own: they tell the noise."""
SECONDS = 1.25
"""Length of the measured phase, as in a study of the usual bounds."""


Begin = Callable[[Callable[[], None]], None]
"""Told what drops the step that begins."""


@dataclass(frozen=True)
class Asked:
    """What is swept."""

    name: str
    profile: Profile
    axis: Axis
    engines: tuple[Engine, ...]
    current: Mapping[Engine, Settings] = field(default_factory=dict)
    """The user's settings, as far as they are known; else a rule of thumb is fitted."""
    clock: Clock = "simulated"
    seed: int = 1
    seconds: float = SECONDS
    runs: int = RUNS
    scale: float | None = None
    retune: int | None = None
    """Trials of the search at every step; absent where settings stay what they are."""


@dataclass(frozen=True)
class Point:
    """One engine at one step."""

    value: float
    engine: Engine
    settings: Settings
    trials: tuple[Trial, ...]
    """Finished ones; none where no settings fit the memory, or all runs failed."""
    error: str = ""

    def spread(self, metric: str) -> Spread | None:
        """Median and extremes of a metric."""
        values = [trial.metrics[metric] for trial in self.trials if metric in trial.metrics]
        return Spread.of(values) if values else None


@dataclass(frozen=True)
class Sweep:
    """The answer."""

    asked: Asked
    points: tuple[Point, ...]
    is_whole: bool
    """Whether every step was made."""

    @property
    def goal(self) -> Goal:
        return self.asked.profile.goal

    @property
    def noise(self) -> Noise:
        """Of the goal's metric, from all points."""
        metric = self.goal.metric
        return Noise.pooled(
            [trial.metrics[metric] for trial in point.trials if metric in trial.metrics]
            for point in self.points
        )

    def at(self, value: float, engine: Engine) -> Point | None:
        """The point of an engine at a step."""
        found = (one for one in self.points if (one.value, one.engine) == (value, engine))
        return next(found, None)

    def crossovers(self) -> list[Crossover]:
        """Where the better engine changes; none for a sweep of one engine."""
        if len(self.asked.engines) != 2:
            return []
        one, other = self.asked.engines
        compared = []
        for value in self.asked.axis.values:
            scores = [self.score(value, engine) for engine in (one, other)]
            if scores[0] and scores[1]:
                better = gain(scores[0], scores[1], maximize=self.goal.direction == "maximize")
                compared.append((value, better))
        bound = math.log1p(self.noise.bound(self.asked.runs, self.asked.runs))
        return crossovers([v for v, _ in compared], [g for _, g in compared], bound, (one, other))

    def score(self, value: float, engine: Engine) -> float | None:
        """The median of the goal's metric of an engine at a step."""
        point = self.at(value, engine)
        spread = point.spread(self.goal.metric) if point else None
        return None if spread is None else spread.median


def record(asked: Asked) -> SweepRecord:
    """What was asked, as it is stored."""
    profile = asked.profile
    document = {
        "profile": profile.model_dump(mode="json", by_alias=True, exclude_none=True),
        "values": list(asked.axis.values),
        "of": asked.axis.engine,
        "engines": list(asked.engines),
        "current": {engine: dict(settings) for engine, settings in asked.current.items()},
        "seconds": asked.seconds,
        "runs": asked.runs,
        "scale": asked.scale,
        "retune": asked.retune,
    }
    return SweepRecord(
        asked.name, asked.axis.name, str(profile.goal), asked.clock, asked.seed, document
    )


def sweep(
    asked: Asked,
    store: Store,
    *,
    on_step: Callable[[float, Callable[[], None]], None] = lambda value, drop: None,
    on_point: Callable[[int, Point], None] = lambda number, point: None,
    stopped: Callable[[], bool] = lambda: False,
    core: Core | None = None,
) -> Sweep:
    """Walks the axis and keeps every run. `on_step` is told of each step before it begins, with
    what drops it, which any thread may call; `on_point` of each point with its number, from 1. Once
    `stopped` says so, no further step begins.

    Raises `InputError` for a knob that a search would change too, or of an engine that does not
    run, for what the profile, an engine or the core does not accept at a step, what `evaluate`
    raises, and `Cancelled` for a step that was dropped.
    """
    axis = asked.axis
    if asked.retune is not None and axis.engine is not None:
        raise InputError("--retune", None, f"--over {axis.name}", "memory, data or clients")
    if asked.retune is not None:
        # At each step another part of a front would be the answer, and no line would join them.
        refuse_several(asked.profile.goal, "--retune")
    if axis.engine is not None and axis.engine not in asked.engines:
        raise InputError("--over", axis.name, f"a knob of {axis.engine}", "an engine that runs")
    store.add_sweep(record(asked))
    points: list[Point] = []
    for value in asked.axis.values:
        if stopped():
            break
        begin = partial(on_step, value)
        if asked.retune:
            found = _retuned(asked, value, store, begin, core)
        else:
            found = _fixed(asked, value, begin, core)
        for point in found:
            made = SweepPoint(value, point.engine, point.settings, point.error)
            store.add_swept(asked.name, made, asked.axis.label(value), point.trials)
            points.append(point)
            on_point(len(points), point)
    return Sweep(asked, tuple(points), len(points) == len(asked.axis.values) * len(asked.engines))


def _question(asked: Asked, value: float) -> Question:
    profile = asked.axis.profile(asked.profile, value)
    return Question(
        profile,
        engines=asked.engines,
        current=asked.current,
        clock=asked.clock,
        seed=asked.seed,
        seconds=asked.seconds,
        scale=asked.scale,
    ).settled(Bounds(), None)


def _fixed(asked: Asked, value: float, begin: Begin, core: Core | None) -> Iterator[Point]:
    question = _question(asked, value)
    profile = question.profile
    scale = Scale(asked.scale) if asked.scale else choose_scale(profile)
    setup = Setup(profile, scale, asked.seconds, asked.clock, core=core)
    wanted = {engine: _settings(asked, question, engine, value) for engine in asked.engines}
    jobs = [
        Job(engine, settings, "sweep", asked.seed + run, 0)
        for engine, settings in wanted.items()
        if settings is not None
        for run in range(asked.runs)
    ]
    runner = Runner([setup])
    begin(runner.cancel)
    made: dict[Engine, list[Trial]] = {engine: [] for engine in asked.engines}
    for job, answer in runner.answers(iter(jobs)):
        if answer.refusal is not None:
            raise answer.refusal
        made[job.engine].append(answer.trial)
    for engine, settings in wanted.items():
        yield _point(value, engine, settings, made[engine])


def _point(value: float, engine: Engine, settings: Settings | None, made: Sequence[Trial]) -> Point:
    if settings is None:
        return Point(value, engine, {}, (), "no settings fit the memory")
    finished = tuple(trial for trial in made if trial.finished)
    error = next((trial.error or "" for trial in made if not trial.finished), "")
    return Point(value, engine, settings, finished, error)


def _settings(asked: Asked, question: Question, engine: Engine, value: float) -> Settings | None:
    """The user's settings or a rule of thumb, with the cache that the memory at this step has room
    for; None if none has. What the user set stays, unless the memory is what changes, or does not
    hold it; a cache that is swept stays too."""
    own = asked.axis.settings(engine, value)
    if engine in question.current:
        base: Settings = question.current[engine]
    else:
        ruled = [one for one in seeds(question) if one.engine == engine and one.role == "rule"]
        base = ruled[0].settings if ruled else question.defaults(engine)
    settings = {**base, **own}
    fits = needed_memory(question.profile, engine, settings) <= question.profile.memory_bytes
    if engines.of(engine).cache_knob in own:
        return settings if fits else None
    if fits and engine in question.current and asked.axis.name != "memory":
        return settings
    return with_full_cache(question.profile, engine, settings)


def _retuned(
    asked: Asked, value: float, store: Store, begin: Begin, core: Core | None
) -> Iterator[Point]:
    # A step that knew of those before it would be searched better than they were.
    question = replace(_question(asked, value), seconds=asked.seconds, cold=True)
    name = f"{asked.name}: {asked.axis.label(value)}"
    study = Study(name, question, store, bounds=Bounds(trials=asked.retune), core=core)
    dropped = Event()

    def drop() -> None:
        dropped.set()
        study.cancel()

    begin(drop)
    study.run()
    if dropped.is_set():
        raise Cancelled(f"the step at {asked.axis.label(value)} was dropped")
    for engine in asked.engines:
        own = [trial for trial in study.evidence if trial.engine == engine]
        found = best(own, study.goal)
        if found is None:
            yield Point(value, engine, {}, (), "no settings that were tried keep the goal's limits")
        else:
            yield Point(value, engine, found.settings, found.judged)
