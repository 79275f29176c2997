"""`tunebench robust`: a study's advice at the neighbours of what was asked."""

from threading import Event
from typing import Annotated

import typer

from tui import completions
from tui.leaving import INTERRUPTED, on_interrupt
from tui.options import FORCE, JSON, MINUTES, OUTPUT, RESULTS, TO


def robust(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[STUDY]",
            help="The stored study; the newest without it.",
            show_default=False,
            autocompletion=completions.studies,
        ),
    ] = None,
    radius: Annotated[
        float,
        typer.Option(
            "--radius",
            min=0.0,
            max=10.0,
            help="How far a mix of operations may be from what was asked: its Kullback-Leibler "
            "divergence, in nats.",
        ),
    ] = 1.0,
    runs: Annotated[
        int,
        typer.Option("--runs", min=1, max=100, help="Runs of each candidate at each neighbour."),
    ] = 2,
    minutes: MINUTES = None,
    to: TO = None,
    output: OUTPUT = None,
    force: FORCE = False,
    results: RESULTS = None,
    as_json: JSON = False,
) -> None:
    """Run recommended and rival settings with less memory, more data, more clients, other mixes.

    Prints which has the best worst case, and what it loses as asked. With -o writes that one's
    file, and a report beside it. Ctrl-C ends it with the neighbours that were done.
    """
    from advisor import handover
    from advisor.robust import robust as run
    from advisor.search import Study
    from advisor.store import Store
    from tui import delivery, problem
    from tui.output import narrate, print_json
    from tui.robust_report import document, point_words, print_robustness

    store = Store(results)
    store.check()
    study = Study.load(name or problem.newest_study(store), store)
    target = delivery.checked_target(to, output, force, study.engines, study.name)
    current = handover.own_file(study)
    advice = handover.advice_for(study, None, current, measure=False)
    if to is not None:
        delivery.check_dialect(to, (advice.engine,))
    stop = Event()
    with study.alone(), on_interrupt(stop.set):
        found = run(
            study,
            store,
            radius=radius,
            runs=runs,
            minutes=minutes,
            on_point=lambda number, of, point: narrate(point_words(number, of, point)),
            stopped=stop.is_set,
        )
    written, dialect = [], None
    if target is not None:
        dialect = to or handover.usual_dialect(advice, current, target.path)
        written = handover.write_files(
            advice, dialect, target.path, current, robust=found, force=force
        )
    if as_json:
        print_json({**document(found), "dialect": dialect, "written": written})
    else:
        print_robustness(found)
        if dialect is not None:
            narrate(delivery.wrote(dialect, written))
    if found.ending == "interrupted":
        raise typer.Exit(INTERRUPTED)
