"""`tunebench tune`: search, recommend, and write the file."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import typer

from tui.leaving import INTERRUPTED, on_interrupt
from tui.options import (
    CLIENTS,
    CLUSTER,
    COLD,
    DATA,
    DIRECTORY,
    DURABILITY,
    ENGINES,
    FINALIST_MINUTES,
    FINALISTS,
    FORCE,
    FROM,
    GOAL,
    HARDWARE,
    JSON,
    MEMORY,
    MINUTES,
    OUTPUT,
    PROFILE,
    REBUILD,
    RESULTS,
    ROCKSDB,
    SCALE,
    SECONDS,
    SEED,
    SERVER,
    SET,
    SIMULATE,
    STUDY,
    TO,
    TRIALS,
)

if TYPE_CHECKING:
    from pathlib import Path

    from advisor.recommend import Recommendation
    from advisor.search import Study


def tune(
    ctx: typer.Context,
    profile: PROFILE,
    engine: ENGINES = None,
    settings: SET = None,
    current: FROM = None,
    data: DATA = None,
    memory: MEMORY = None,
    clients: CLIENTS = None,
    hardware: HARDWARE = None,
    goal: GOAL = None,
    trials: TRIALS = None,
    minutes: MINUTES = None,
    seconds: SECONDS = None,
    scale: SCALE = None,
    simulate: SIMULATE = None,
    cluster: CLUSTER = None,
    durability: DURABILITY = False,
    rebuild: REBUILD = False,
    cold: COLD = False,
    finalists: FINALISTS = None,
    finalist_minutes: FINALIST_MINUTES = None,
    rocksdb: ROCKSDB = None,
    server: SERVER = None,
    directory: DIRECTORY = None,
    seed: SEED = 1,
    study: STUDY = None,
    to: TO = None,
    output: OUTPUT = None,
    force: FORCE = False,
    results: RESULTS = None,
    as_json: JSON = False,
) -> None:
    """Search for the best engine and settings.

    Prints the recommendation; with -o also writes the file, and a report beside it.

    Ctrl-C ends the search after the running trial, recommends from what was measured, and says how
    to go on; a second Ctrl-C drops the running trial. During the finalists it ends these alone.
    """
    from advisor import dialects, knobs
    from advisor.errors import InputError
    from advisor.search import Bounds, Question, Study
    from advisor.search.cluster import connected
    from advisor.store import Store
    from tui import again, delivery, finals, problem
    from tui.output import narrate
    from tui.study_narration import StudyNarration

    changes = {
        "data": data,
        "memory": memory,
        "clients": clients,
        "hardware": hardware,
        "goal": goal,
    }
    chosen = problem.changed_profile(profile, changes)
    clock = problem.clock_of(simulate, chosen, hardware)
    engines = problem.chosen_engines(engine, chosen)
    store = Store(results)
    store.check()
    name = store.free_name(chosen.name) if study is None else study
    overwrite = force and (output is not None or current is None)
    target = delivery.checked_target(to, output, overwrite, engines, name)
    question = Question(
        chosen,
        engines=engines,
        current=problem.current_by_engine(current, settings or (), engines, force=force),
        opened=knobs.durability_knobs(engines) if durability else (),
        rebuild=rebuild,
        clock=clock,
        seed=seed,
        seconds=seconds,
        scale=scale,
        cold=cold,
        wanted=dialects.engine_of(to) if to is not None else None,
        dialect=to,
        source=current.resolve() if current else None,
    )
    problem.refuse_unanswerable(question)
    judge = finals.asked_for(finalists, finalist_minutes, rocksdb, server, directory, question, to)
    if cluster is not None and clock != "simulated":
        raise InputError("--cluster", None, f"a {clock} study", "a simulated one")
    with StudyNarration(chosen.goal) as narration, connected(cluster) as afar:
        searched = Study(
            name,
            question,
            store,
            bounds=Bounds(trials, minutes),
            watcher=narration.tell,
            afar=afar,
        )
        with searched.alone(), _stopping_on_interrupt(searched) as presses:
            searched.run()
            advice = _advice(searched, to, current, presses)
    interrupted, error = bool(presses), None
    if judge is not None and advice is not None and not interrupted:
        with searched.alone():
            ended = finals.run(judge, searched, store, advice, to, current, seed)
        advice, interrupted, error = ended.advice, ended.is_interrupted, ended.error
    if advice is not None:
        delivery.deliver(advice, target, current, as_json=as_json)
    if error is not None:
        raise error
    if interrupted:
        # What was written is in the way of the next time.
        written = {"force": True} if target is not None and advice is not None else {}
        narrate(f"to go on: {again.command(ctx, study=name, **written)}")
        raise typer.Exit(INTERRUPTED)


def _advice(
    study: "Study", to: str | None, current: "Path | None", presses: list[str]
) -> "Recommendation | None":
    """The advice; none where an interrupt came before a trial could tell anything."""
    from advisor.errors import WorkError
    from tui import delivery
    from tui.output import narrate

    try:
        return delivery.advice_for(study, to, current)
    except WorkError as error:
        if not presses:
            raise
        narrate(str(error))
        return None


@contextmanager
def _stopping_on_interrupt(study: "Study") -> Iterator[list[str]]:
    """Inside the block Ctrl-C stops the study; what is yielded is empty until it was pressed."""
    from tui.output import narrate

    presses: list[str] = []

    def stop() -> None:
        presses.append("Ctrl-C")
        study.stop()
        # Python refuses to write where the interrupt met a line that is being written.
        with suppress(RuntimeError):
            narrate("stopping after this trial; Ctrl-C again drops it")

    with on_interrupt(stop, study.cancel):
        yield presses
