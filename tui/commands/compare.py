"""`tunebench compare`: stored runs, studies and configurations side by side."""

from typing import Annotated

import typer

from tui import completions
from tui.options import (
    CLIENTS,
    DATA,
    ENGINES,
    HARDWARE,
    JSON,
    MEMORY,
    RESULTS,
    RUN_SECONDS,
    SCALE,
    SEED,
    SIMULATE,
)

OF_RUNS = (
    "runs", "engine", "data", "memory", "clients", "hardware", "seconds", "scale", "simulate",
    "seed",
)  # fmt: skip
"""Parameters that say how settings are run."""


def compare(
    ctx: typer.Context,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="STUDY|RUN|SETTINGS...",
            help="Two or more: studies by name, which stand for the settings that they recommend, "
            "runs by the beginning of their id, and with --profile settings, which are run: a "
            "my.cnf or OPTIONS file, or KNOB=VALUE,KNOB=VALUE over the defaults. The others are "
            "compared with the first.",
            autocompletion=completions.studies,
            show_default=False,
        ),
    ],
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="PROFILE",
            help="The profile that settings are run on, all with the same seeds.",
            autocompletion=completions.profiles,
            show_default=False,
        ),
    ] = None,
    runs: Annotated[
        int, typer.Option("--runs", min=1, max=100, help="Runs of each of the settings.")
    ] = 3,
    engine: ENGINES = None,
    data: DATA = None,
    memory: MEMORY = None,
    clients: CLIENTS = None,
    hardware: HARDWARE = None,
    seconds: RUN_SECONDS = 1.25,
    scale: SCALE = None,
    simulate: SIMULATE = None,
    seed: SEED = 1,
    results: RESULTS = None,
    as_json: JSON = False,
) -> None:
    """Set stored runs, studies and settings side by side: which is better than the first, and by
    how much?"""
    from advisor.compare import compare as find
    from advisor.configured import On
    from advisor.errors import InputError
    from advisor.files import exists
    from advisor.store import Store
    from tui import again, compare_report, problem
    from tui.output import print_json

    if profile is None:
        for option in again.given(ctx, OF_RUNS):
            raise InputError(option, None, "nothing to run", "with --profile alone")
        if results is not None and not exists(results):
            raise InputError("--results", None, str(results), "a file that exists")
    store, on = Store(results), None
    if profile is not None:
        changes = {"data": data, "memory": memory, "clients": clients, "hardware": hardware}
        chosen = problem.changed_profile(profile, changes)
        store.check()
        on = On(
            chosen,
            problem.chosen_engines(engine, chosen),
            problem.clock_of(simulate, chosen, hardware),
            seconds,
            runs,
            seed,
            scale,
        )
    found = find(names, store, on)
    if as_json:
        print_json(compare_report.document(found))
    else:
        compare_report.print_comparison(found)
