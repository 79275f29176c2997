"""`tunebench tune`: search, recommend, and write the file."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from tui.options import (
    CLIENTS,
    DATA,
    DURABILITY,
    ENGINES,
    FORCE,
    FROM,
    GOAL,
    HARDWARE,
    JSON,
    MEMORY,
    MINUTES,
    OUTPUT,
    PROFILE,
    RESULTS,
    SECONDS,
    SEED,
    SET,
    SIMULATE,
    STUDY,
    TO,
    TRIALS,
)

if TYPE_CHECKING:
    from types import FrameType

    from advisor.search import Study

INTERRUPTED = 130


def tune(
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
    simulate: SIMULATE = None,
    durability: DURABILITY = False,
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

    Ctrl-C ends the search after the running trial and recommends from what was measured; a second
    Ctrl-C drops the running trial.
    """
    from advisor.search import Bounds, Question, Study
    from advisor.store import Store
    from tui import delivery, problem
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
    name = study or problem.new_study_name(chosen.name, store)
    target = delivery.checked_target(to, output, force, engines, name)
    question = Question(
        chosen,
        engines=engines,
        current=problem.current_by_engine(current, settings or (), engines),
        opened=problem.durability_knobs(engines) if durability else (),
        clock=clock,
        seed=seed,
        seconds=seconds,
        source=current.resolve() if current else None,
    )
    with StudyNarration(chosen.goal) as narration:
        searched = Study(
            name,
            question,
            store,
            bounds=Bounds(trials, minutes),
            watcher=narration.tell,
        )
        with _stopping_on_interrupt(searched) as interrupted:
            searched.run()
            advice = delivery.advice_for(searched, to, current)
    delivery.deliver(advice, target, current, as_json=as_json)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


@contextmanager
def _stopping_on_interrupt(study: "Study") -> Iterator[list[str]]:
    """Inside the block Ctrl-C stops the study; what is yielded is empty until it was pressed."""
    from tui.output import narrate

    presses: list[str] = []

    def pressed(_signal: int, _frame: "FrameType | None") -> None:
        presses.append("Ctrl-C")
        if len(presses) == 1:
            narrate("stopping after this trial; Ctrl-C again drops it")
            study.stop()
        else:
            study.cancel()

    before = signal.signal(signal.SIGINT, pressed)
    try:
        yield presses
    finally:
        signal.signal(signal.SIGINT, before)
