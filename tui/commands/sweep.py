"""`tunebench sweep`: both engines over memory, data, clients, a rate or a knob, or over two of
them."""

from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from tui import completions
from tui.leaving import INTERRUPTED, on_interrupt
from tui.options import (
    CLIENTS,
    DATA,
    ENGINES,
    FORCE,
    FROM,
    GOAL,
    HARDWARE,
    JSON,
    MEMORY,
    OUTPUT,
    PROFILE,
    RESULTS,
    RUN_SECONDS,
    SCALE,
    SEED,
    SET,
    SIMULATE,
)

ROOM = 22
"""Cells of a place in the narration, where none needs more."""

if TYPE_CHECKING:
    from advisor.sweep import Asked, Point


def sweep(
    ctx: typer.Context,
    profile: PROFILE,
    over: Annotated[
        list[str],
        typer.Option(
            "--over",
            metavar="NAME=LOW..HIGH",
            help="What changes: memory, data, clients, requests_per_second or a knob, such as "
            "memory=5GiB..100GiB, clients=1,4,16 or compression=kLZ4Compression,kZSTD. Given "
            "twice, every pair of values is run: a map.",
        ),
    ],
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps",
            min=2,
            max=200,
            help="Values between LOW and HIGH: 11, or 5 of each axis of a map.",
            show_default=False,
        ),
    ] = None,
    retune: Annotated[
        int | None,
        typer.Option(
            "--retune",
            metavar="TRIALS",
            min=10,
            max=10_000,
            help="Search anew at every step with so many trials; without it, settings stay and "
            "the cache fills the memory.",
            show_default=False,
        ),
    ] = None,
    engine: ENGINES = None,
    settings: SET = None,
    current: FROM = None,
    data: DATA = None,
    memory: MEMORY = None,
    clients: CLIENTS = None,
    hardware: HARDWARE = None,
    goal: GOAL = None,
    seconds: RUN_SECONDS = 1.25,
    scale: SCALE = None,
    simulate: SIMULATE = None,
    seed: SEED = 1,
    runs: Annotated[
        int,
        typer.Option(
            "--runs", min=1, max=100, help="Runs of each engine at each step, with own seeds."
        ),
    ] = 2,
    name: Annotated[
        str | None,
        typer.Option(
            "--sweep",
            metavar="NAME",
            help="Name of the sweep; a stored one goes on where it ended.",
            autocompletion=completions.sweeps,
            show_default=False,
        ),
    ] = None,
    output: OUTPUT = None,
    force: FORCE = False,
    results: RESULTS = None,
    as_json: JSON = False,
) -> None:
    """Run both engines over memory, data, clients or a knob: where does one overtake the other?

    With a second --over it makes a map: each cell says which engine leads, and each value of the
    second axis has a line along the first with its own crossover. With -o also writes a report, as
    Markdown and as one page of HTML. Ctrl-C ends it after the running step, with what was measured,
    and says how to go on.
    """
    from advisor import atomic
    from advisor.errors import InputError
    from advisor.store import Store
    from advisor.sweep import Asked, parse_axes
    from advisor.sweep import sweep as walk
    from tui import again, problem
    from tui import sweep_report as report
    from tui.output import narrate, print_json, print_table

    reports = report.files(output) if output is not None else ()
    for path in reports:
        atomic.check_target(path, force)
    axis, across = parse_axes(over, steps)
    changes = {
        "data": data,
        "memory": memory,
        "clients": clients,
        "hardware": hardware,
        "goal": goal,
    }
    for one in (axis, across):
        if one is not None and changes.get(one.name) is not None:
            raise InputError(f"--{one.name}", None, "what --over changes", "another option")
    chosen = problem.changed_profile(profile, changes)
    engines = problem.chosen_engines(engine, chosen)
    store = Store(results)
    store.check()
    asked = Asked(
        name=store.free_name(f"{chosen.name}-sweep") if name is None else name,
        profile=chosen,
        axis=axis,
        engines=engines,
        current=problem.current_by_engine(current, settings or (), engines, force=force),
        clock=problem.clock_of(simulate, chosen, hardware),
        seed=seed,
        seconds=seconds,
        runs=runs,
        scale=scale,
        retune=retune,
        across=across,
    )
    stop = Event()
    room = max(ROOM, *(len(asked.where(place)) for place in asked.places))
    with on_interrupt(stop.set):
        found = walk(
            asked,
            store,
            on_point=lambda number, point: narrate(_told(asked, number, point, room)),
            stopped=stop.is_set,
        )
    if as_json:
        print_json(report.document(found))
    else:
        print_table(*report.table(found))
        for sentence in report.told(found):
            typer.echo(sentence)
    for path, text in zip(reports, report.texts(found) if reports else (), strict=True):
        atomic.write_text(path, text, force=force)
        narrate(f"wrote {path}")
    if not found.is_whole:
        # What was written is in the way of the next time.
        written = {"force": True} if reports else {}
        narrate(f"to go on: {again.command(ctx, name=asked.name, **written)}")
        raise typer.Exit(INTERRUPTED)


def _told(asked: "Asked", number: int, point: "Point", room: int) -> str:
    from tui import format as fmt

    metric = asked.profile.goal.metric
    spread = point.spread(metric)
    reached = fmt.value(metric, spread.median if spread else None)
    where = f"{asked.where(point.place):<{room}}"
    told = f"{number:>4}/{asked.planned}  {where} {fmt.ENGINE_TITLES[point.engine]:<6}"
    remark = point.remark(asked.profile.goal)
    return f"{told} {reached:>10} {fmt.label(metric)}{f'  {remark}' if remark else ''}"
