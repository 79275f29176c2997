"""`tunebench verify`: a study's advice on the real engine, predicted against real."""

from typing import Annotated

import typer

from tui import completions
from tui.options import (
    ADVICE_ENGINE,
    DATA,
    DIRECTORY,
    HARDWARE,
    JSON,
    MINUTES,
    RESULTS,
    ROCKSDB,
    SEED,
    SERVER,
)


def verify(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[STUDY]",
            help="The stored study; the newest without it.",
            show_default=False,
            autocompletion=completions.studies,
        ),
    ] = None,
    engine: ADVICE_ENGINE = None,
    rocksdb: ROCKSDB = None,
    server: SERVER = None,
    minutes: MINUTES = None,
    runners_up: Annotated[
        int,
        typer.Option(
            "--runners-up", min=0, max=20, help="How many of the search's next best run too."
        ),
    ] = 1,
    lines: Annotated[
        bool,
        typer.Option("--lines", help="Also take each recommended line back on the real engine."),
    ] = False,
    data: DATA = None,
    directory: DIRECTORY = None,
    hardware: HARDWARE = None,
    seed: SEED = 1,
    results: RESULTS = None,
    as_json: JSON = False,
) -> None:
    """Run default, current and recommended settings on the real engine.

    That is RocksDB, or where the workload is of tables a private server with InnoDB or MyRocks. It
    takes a quarter of an hour, 25 minutes on a server. Ctrl-C ends it with what was measured.
    """
    from advisor.real import judge_of
    from advisor.recommend import recommend
    from advisor.search import Study
    from advisor.store import Store
    from advisor.verify import Limits, contenders, decided, errors_so_far, size_decides
    from advisor.verify import verify as run
    from tui import problem
    from tui.output import print_json
    from tui.verification_line import VerificationLine
    from tui.verify_report import print_verification

    store = Store(results)
    store.check()
    study = Study.load(name or problem.newest_study(store), store)
    wanted = problem.judged_engine(engine, study.profile, rocksdb)
    advice = decided(study, recommend(study, measure=False, engine=wanted))
    real = problem.told(judge_of(advice.engine, study.profile.workload, rocksdb, server))
    found = contenders(study, advice, runners_up=runners_up, lines=lines)
    profile = problem.predictable(study.profile, hardware)
    size = None if data is None else problem.size_of("--data", data)
    with study.alone(), VerificationLine() as line:
        verification = run(
            study.name,
            profile,
            found,
            real,
            store,
            Limits(minutes or problem.minutes_of_a_verdict(real), size),
            seed=seed,
            directory=directory,
            on_event=line.tell,
            on_interval=line.see,
        )
    errors = errors_so_far(store, verification.product.partition(" ")[0])
    another_question = size_decides(verification, advice)
    if as_json:
        told = {"size_decides": another_question} if another_question else {}
        print_json({"verification": verification, "errors_so_far": errors, **told})
    else:
        print_verification(verification, errors, another_question)
