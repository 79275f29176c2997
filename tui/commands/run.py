"""`tunebench run`: one workload on one engine with given settings."""

from typing import TYPE_CHECKING

from tui.options import (
    CLIENTS,
    DATA,
    FORCE,
    FROM,
    HARDWARE,
    JSON,
    MEMORY,
    PROFILE,
    RESULTS,
    ROCKSDB,
    RUN_ENGINE,
    RUN_SECONDS,
    SCALE,
    SEED,
    SERVER,
    SET,
    SIMULATE,
)

if TYPE_CHECKING:
    from advisor.evaluate import Setup
    from advisor.knobs import Engine, Setting
    from advisor.profile import Profile
    from advisor.trial import Trial


def run(
    profile: PROFILE,
    engine: RUN_ENGINE = None,
    settings: SET = None,
    current: FROM = None,
    data: DATA = None,
    memory: MEMORY = None,
    clients: CLIENTS = None,
    hardware: HARDWARE = None,
    seconds: RUN_SECONDS = 5.0,
    scale: SCALE = None,
    simulate: SIMULATE = None,
    rocksdb: ROCKSDB = None,
    server: SERVER = None,
    seed: SEED = 1,
    force: FORCE = False,
    results: RESULTS = None,
    as_json: JSON = False,
) -> None:
    """Run one workload on one engine and report it."""
    from advisor.errors import InputError
    from advisor.evaluate import Setup, scale_of_one
    from advisor.real import engine_of
    from advisor.store import Store
    from tui import problem
    from tui.output import narrate

    changes = {"data": data, "memory": memory, "clients": clients, "hardware": hardware}
    chosen = problem.changed_profile(profile, changes)
    real = problem.real_engine(engine, rocksdb, server, simulate, hardware)
    clock = "real" if real else problem.clock_of(simulate, chosen, hardware)
    one = problem.chosen_engines(engine_of(real) if real else engine, chosen)[0]
    if force and current is None:
        raise InputError("--force", None, "no --from", "a file of settings to take all the same")
    tried = problem.current_by_engine(current, settings or (), (one,), force=force).get(one, {})
    store = Store(results)
    store.check()
    if engine is None and len(chosen.engines) > 1:
        narrate(f"running the {one} engine; --engine chooses another")
    factor, times = scale_of_one(chosen, clock, scale)
    setup = Setup(
        chosen,
        factor,
        seconds / times,
        clock,
        times=times,
        real=real,
        to_the_end=scale is not None,
        direct_io=chosen.holds_page_cache_out(clock),
    )
    trial = store.add_trial(_watched(setup, one, tried, seed))
    _report(trial, chosen, as_json)
    if real is not None:
        problem.told(real)


def _watched(
    setup: "Setup", engine: "Engine", settings: "dict[str, Setting]", seed: int
) -> "Trial":
    from advisor.evaluate import evaluate
    from tui.narration import LiveLine, interval_words

    with LiveLine() as line:
        line.show("starting")
        return evaluate(
            setup,
            engine,
            settings,
            seed=seed,
            on_interval=lambda interval: line.show(interval_words(interval)),
        )


def _report(trial: "Trial", profile: "Profile", as_json: bool) -> None:
    from advisor.errors import InputError, WorkError
    from advisor.memory_need import remedy
    from tui.output import print_json

    if as_json:
        print_json(trial)
    elif trial.finished:
        from tui.run_report import print_trial

        print_trial(trial)
    if trial.outcome == "rejected":
        fitting = remedy(profile, trial.engine, trial.settings)
        accepted = f"--memory {fitting.memory}"
        if fitting.knob is not None:
            accepted += f", or --set {fitting.knob}={fitting.value}"
        found = f"a need of {(trial.error or '').removeprefix('needs ')}"
        raise InputError("settings", None, found, accepted)
    if trial.outcome == "failed":
        raise WorkError(f"the run failed: {trial.error}")
