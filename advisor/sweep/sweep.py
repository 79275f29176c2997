"""The walk of a sweep: at every place both engines with the same settings, fitted to the memory
there, or with the best that a search of that place finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from threading import Event

from advisor import engines
from advisor.core import Cancelled, Core
from advisor.evaluate import Setup, choose_scale, fits_memory
from advisor.knobs import Engine, Settings
from advisor.scale import Scale
from advisor.search import Bounds, Question, Study
from advisor.search.ranking import best
from advisor.search.runner import Job, Runner
from advisor.search.seeds import seeds
from advisor.search.squeeze import with_full_cache
from advisor.store import Store, SweepPoint
from advisor.store.lease import leased
from advisor.sweep.answer import Point, Sweep
from advisor.sweep.asked import Asked, Place
from advisor.sweep.stored import so_far
from advisor.trial import Trial

Begin = Callable[[Callable[[], None]], None]
"""Told what drops the step that begins."""


def sweep(
    asked: Asked,
    store: Store,
    *,
    on_step: Callable[[Place, Callable[[], None]], None] = lambda place, drop: None,
    on_point: Callable[[int, Point], None] = lambda number, point: None,
    stopped: Callable[[], bool] = lambda: False,
    core: Core | None = None,
) -> Sweep:
    """Walks the axis, a map line by line, and keeps every run; a stored sweep of this name goes on
    where it ended. `on_step` is told of each place before it begins, with what drops it, which any
    thread may call; `on_point` of each point with its number, from 1. Once `stopped` says so, no
    further place begins.

    Raises what `Asked.check` raises, before anything runs; `InputError` where the stored sweep of
    this name was asked something else, or another process makes it, and for what the profile, an
    engine or the core does not accept at a place, what `evaluate` raises, and `Cancelled` for a
    step that was dropped.
    """
    asked.check()
    with leased(store.path, asked.name, "sweep"):
        return _walked(asked, store, on_step, on_point, stopped, core)


def _walked(
    asked: Asked,
    store: Store,
    on_step: Callable[[Place, Callable[[], None]], None],
    on_point: Callable[[int, Point], None],
    stopped: Callable[[], bool],
    core: Core | None,
) -> Sweep:
    known = so_far(asked, store)
    points: list[Point] = []

    def add(point: Point) -> None:
        points.append(point)
        on_point(len(points), point)

    for place in asked.places:
        made = [known[place, engine] for engine in asked.engines if (place, engine) in known]
        if len(made) == len(asked.engines):
            for point in made:
                add(point)
            continue
        if stopped():
            break
        begin = partial(on_step, place)
        if asked.retune:
            found = _retuned(asked, place, store, begin, core)
        else:
            found = _fixed(asked, place, begin, core)
        for point in found:
            before = known.get((place, point.engine))
            if before is None:
                _keep(asked, store, point)
            add(before or point)
    return Sweep(asked, tuple(points), len(points) == asked.planned)


def _keep(asked: Asked, store: Store, point: Point) -> None:
    made = SweepPoint(point.value, point.engine, point.settings, point.error, point.across)
    store.add_swept(asked.name, made, _labels(asked, point.place), point.trials)


def _labels(asked: Asked, place: Place) -> tuple[str, str | None]:
    """A place of each axis as people write it."""
    return asked.axis.label(place.value), asked.line_label(place.across)


def _question(asked: Asked, place: Place) -> Question:
    return Question(
        asked.profile_at(place),
        engines=asked.engines,
        current=asked.current,
        clock=asked.clock,
        seed=asked.seed,
        seconds=asked.seconds,
        scale=asked.scale,
    ).settled(Bounds(), None)


def _fixed(asked: Asked, place: Place, begin: Begin, core: Core | None) -> Iterator[Point]:
    question = _question(asked, place)
    profile = question.profile
    scale = Scale(asked.scale) if asked.scale else choose_scale(profile)
    setup = Setup(
        profile,
        scale,
        asked.seconds,
        asked.clock,
        core=core,
        direct_io=profile.holds_page_cache_out(asked.clock),
    )
    wanted = {engine: _settings(asked, question, engine, place) for engine in asked.engines}
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
        yield _point(place, engine, settings, made[engine])


def _point(place: Place, engine: Engine, settings: Settings | None, made: Sequence[Trial]) -> Point:
    if settings is None:
        return _at(place, engine, {}, (), "no settings fit the memory")
    finished = tuple(trial for trial in made if trial.finished)
    error = next((trial.error or "" for trial in made if not trial.finished), "")
    return _at(place, engine, settings, finished, error)


def _at(
    place: Place, engine: Engine, settings: Settings, trials: tuple[Trial, ...], error: str = ""
) -> Point:
    return Point(place.value, engine, settings, trials, error, place.across)


def _settings(asked: Asked, question: Question, engine: Engine, place: Place) -> Settings | None:
    """The user's settings or a rule of thumb, with the cache that the memory at this step has room
    for; None if none has. What the user set stays, unless the memory is what changes, or does not
    hold it; a cache that is swept stays too."""
    own = asked.settings_at(engine, place)
    if engine in question.current:
        base: Settings = question.current[engine]
    else:
        ruled = [one for one in seeds(question) if one.engine == engine and one.role == "rule"]
        base = ruled[0].settings if ruled else question.defaults(engine)
    settings = {**base, **own}
    fits = fits_memory(question.profile, engine, settings)
    if engines.of(engine).cache_knob in own:
        return settings if fits else None
    if fits and engine in question.current and "memory" not in [axis.name for axis in asked.axes]:
        return settings
    return with_full_cache(question.profile, engine, settings)


def _retuned(
    asked: Asked, place: Place, store: Store, begin: Begin, core: Core | None
) -> Iterator[Point]:
    # A step that knew of those before it would be searched better than they were.
    question = replace(_question(asked, place), seconds=asked.seconds, cold=True)
    study = Study(
        asked.study_name(place), question, store, bounds=Bounds(trials=asked.retune), core=core
    )
    dropped = Event()

    def drop() -> None:
        dropped.set()
        study.cancel()

    begin(drop)
    study.run()
    if dropped.is_set():
        raise Cancelled(f"the step at {asked.label(place)} was dropped")
    for engine in asked.engines:
        own = [trial for trial in study.evidence if trial.engine == engine]
        found = best(own, study.goal)
        if found is None:
            refused = "no settings that were tried keep the goal's limits"
            yield _at(place, engine, {}, (), refused)
        else:
            yield _at(place, engine, found.settings, found.judged)
