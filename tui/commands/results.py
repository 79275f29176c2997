"""`tunebench results`: the stored studies and runs, one of them, or the answer to a query; the way
to tag a study, to take its trials elsewhere, and to get rid of it."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from advisor.steadiness import NOT_YET
from tui import completions
from tui import format as fmt
from tui.options import JSON, RESULTS

if TYPE_CHECKING:
    from advisor.store import Store, Table
    from advisor.trial import Trial
    from advisor.verify import Verification

LATEST_RUNS = 10
SHORT_ID = 8
OF_A_STUDY = ("--report", "--export", "--tag", "--untag")
"""What can be done with the study that is named."""


def results(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[STUDY|RUN]",
            help="A study by name, or a run by the beginning of its id.",
            autocompletion=completions.studies,
            show_default=False,
        ),
    ] = None,
    sql: Annotated[
        str | None,
        typer.Option(
            "--sql",
            metavar="QUERY",
            help="Ask the results file (DuckDB SQL, read-only); --tables lists what can be asked.",
        ),
    ] = None,
    tables: Annotated[
        bool, typer.Option("--tables", help="List the tables that --sql can ask, with columns.")
    ] = False,
    delete: Annotated[
        str | None,
        typer.Option(
            "--delete",
            metavar="STUDY",
            help="Delete a study and all its trials, after a question.",
            autocompletion=completions.studies,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write the report of the study: one page of HTML, or Markdown where FILE ends in "
            ".md.",
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            metavar="FILE",
            help="Write the trials of STUDY, or all that are stored, to a table ending in .parquet "
            "or .csv: a row for each, metrics and settings as columns.",
        ),
    ] = None,
    tag: Annotated[
        str | None,
        typer.Option(
            "--tag",
            metavar="NAME",
            help="Tag STUDY with a name to find it by.",
            autocompletion=completions.tags,
        ),
    ] = None,
    untag: Annotated[
        str | None,
        typer.Option(
            "--untag",
            metavar="NAME",
            help="Take a tag off STUDY.",
            autocompletion=completions.tags,
        ),
    ] = None,
    tagged: Annotated[
        str | None,
        typer.Option(
            "--tagged",
            metavar="NAME",
            help="List the studies with this tag.",
            autocompletion=completions.tags,
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="With --delete: do not ask. With --report or --export: write over FILE.",
        ),
    ] = False,
    results: RESULTS = None,
    as_json: JSON = False,
) -> None:
    """List stored studies and runs, show one, report, tag or export it, query them, or delete a
    study."""
    from advisor.errors import InputError
    from advisor.files import exists
    from advisor.store import Store

    store = Store(results)
    wishes = {
        "--report": report is not None,
        "--export": export is not None,
        "--tag": tag is not None,
        "--untag": untag is not None,
        "--tagged": tagged is not None,
        "--sql": sql is not None,
        "--tables": tables,
        "--delete": delete is not None,
    }
    given = [option for option, is_given in wishes.items() if is_given]
    if len(given) > 1:
        raise InputError(given[0], None, f"also {given[1]}", "one or the other")
    if given and name is not None and given[0] not in OF_A_STUDY:
        raise InputError(given[0], None, f"also the name {name!r}", "one or the other")
    if force and delete is None and report is None and export is None:
        raise InputError("--force", None, "no --delete, --report or --export", "one of them")
    if tables:
        _print_answer(store.tables(), as_json)
        return
    if results is not None and not exists(results):
        raise InputError("--results", None, str(results), "a file that exists")
    if delete is not None:
        _delete(store, delete, force, as_json)
    elif sql is not None:
        _print_answer(store.sql(sql), as_json)
    elif report is not None:
        _report(store, name, report, force, as_json)
    elif export is not None:
        _export(store, name, export, force, as_json)
    elif tag is not None:
        study = _named(name, "--tag")
        _tell_tags(study, store.tag(study, tag), as_json)
    elif untag is not None:
        study = _named(name, "--untag")
        _tell_tags(study, store.untag(study, untag), as_json)
    elif name is not None:
        _show(store, name, as_json)
    else:
        _list(store, tagged, as_json)


def _delete(store: "Store", study: str, force: bool, as_json: bool) -> None:
    from advisor.errors import InputError
    from tui.output import narrate, print_json

    if not force:
        if not sys.stdin.isatty():
            raise InputError("--delete", None, "nobody to ask", "a terminal, or --force")
        found = next((one for one in store.studies() if one.name == study), None)
        if found is not None:
            told = fmt.counted(found.trials, "trial")
            typer.confirm(f"Delete the study {study} with {told}?", abort=True, err=True)
    trials = store.delete_study(study)
    if as_json:
        print_json({"deleted": study, "trials": trials})
    else:
        narrate(f"deleted {study} with {fmt.counted(trials, 'trial')}")


def _report(store: "Store", name: str | None, path: Path, force: bool, as_json: bool) -> None:
    from advisor import handover
    from advisor.atomic import check_target
    from advisor.search import Study
    from tui import delivery, problem
    from tui.output import narrate, print_json

    check_target(path, force)
    study = Study.load(problem.newest_study(store) if name is None else name, store)
    advice = delivery.advice_for(study, None, handover.own_file(study), measure=False)
    handover.write_report(advice, path, force=force)
    if as_json:
        print_json({"study": study.name, "written": [path]})
    else:
        narrate(f"wrote {path}")


def _export(store: "Store", name: str | None, path: Path, force: bool, as_json: bool) -> None:
    from tui.output import narrate, print_json

    trials = store.export(path, name, force=force)
    if as_json:
        print_json({"study": name, "trials": trials, "written": [path]})
    else:
        narrate(f"wrote {path} with {fmt.counted(trials, 'trial')}")


def _named(name: str | None, option: str) -> str:
    from advisor.errors import InputError

    if name is None:
        raise InputError(option, None, "no study", "the name of a stored study before it")
    return name


def _tell_tags(study: str, tags: tuple[str, ...], as_json: bool) -> None:
    from tui.output import narrate, print_json

    if as_json:
        print_json({"study": study, "tags": tags})
    else:
        narrate(f"{study} is tagged {', '.join(tags)}" if tags else f"{study} has no tag")


def _print_answer(answer: "Table", as_json: bool) -> None:
    from tui.output import Column, print_json, print_table

    if as_json:
        print_json([dict(zip(answer.columns, row, strict=True)) for row in answer.rows])
        return
    numbers = [
        all(isinstance(row[i], int | float) for row in answer.rows)
        for i in range(len(answer.columns))
    ]
    columns = [Column(title, right) for title, right in zip(answer.columns, numbers, strict=True)]
    print_table(columns, [[_cell(value) for value in row] for row in answer.rows])


def _cell(value: object) -> str:
    return fmt.NOT_MEASURED if value is None else str(value)


def _list(store: "Store", tagged: str | None, as_json: bool) -> None:
    from tui.output import Column, narrate, print_json, print_table

    studies, runs = store.studies(), []
    if tagged is None:
        runs = [run for run in store.runs(LATEST_RUNS) if run.role == "run"]
    else:
        studies = [study for study in studies if tagged in study.tags]
    if as_json:
        print_json(
            {"file": store.path, "studies": studies, "runs": [_document(run) for run in runs]}
        )
        return
    if not studies and not runs:
        what = "nothing is stored" if tagged is None else f"no study is tagged {tagged}"
        narrate(f"{what} in {store.path} yet")
        return
    if studies:
        columns = [
            Column("study"),
            Column("workload"),
            Column("created"),
            Column("trials", right=True),
            Column("clock"),
            Column("verified on"),
            Column("tags"),
            Column("goal"),
        ]
        rows = []
        for s in studies:
            row = [s.name, s.workload, s.created, str(s.trials), s.clock]
            rows.append([*row, s.verified or "", ", ".join(s.tags), s.goal])
        print_table(columns, rows)
    if runs:
        if studies:
            typer.echo()
        _print_trials(runs, "run", lambda run: run.id[:SHORT_ID])


def _show(store: "Store", name: str, as_json: bool) -> None:
    from tui.output import print_json

    study = store.study(name)
    if study is not None:
        trials, verification = store.trials(name), _verification(store, name)
        tags = store.tags(name)
        if as_json:
            documents = [_document(trial) for trial in trials]
            found = {"study": study, "tags": tags, "trials": documents}
            print_json({**found, "verification": verification})
            return
        typer.echo(f"{typer.style(name, bold=True)}  {study.workload}, {study.clock}, {study.goal}")
        if tags:
            typer.echo(f"tagged {', '.join(tags)}")
        _print_trials(trials, "trial", lambda trial: str(trial.number))
        if verification is not None:
            _print_verification(verification)
        return
    run = store.trial(name)
    if as_json:
        print_json(_document(run))
    else:
        from tui.run_report import print_trial

        print_trial(run)


def _verification(store: "Store", study: str) -> "Verification | None":
    """The newest of the study; what makes its profile is only loaded where there is one."""
    if store.verified_session(study) is None:
        return None
    from advisor.search import stored_question
    from advisor.verify import newest

    return newest(study, stored_question(study, store).profile, store)


def _print_verification(found: "Verification") -> None:
    from tui.verify_report import how, print_contenders

    typer.echo()
    typer.echo(typer.style(f"on {found.product} itself, predicted against real", bold=True))
    for line in how(found):
        typer.echo(line)
    print_contenders(found)


def _document(trial: "Trial") -> dict[str, object]:
    from tui.output import plain

    document: dict[str, object] = plain(trial)
    return document


def _remark(trial: "Trial") -> str:
    return trial.error or (NOT_YET if trial.steady is False else "")


def _print_trials(trials: list["Trial"], title: str, identify: Callable[["Trial"], str]) -> None:
    from tui.output import Column, print_table

    columns = [Column(title, right=title == "trial"), Column("engine"), Column("why")]
    columns += [Column(fmt.label(metric), right=True) for metric in fmt.COMPARED]
    columns += [Column("clock"), Column("hardware"), Column("remark")]
    rows = []
    for trial in trials:
        row = [identify(trial), trial.product or fmt.ENGINE_TITLES[trial.engine], trial.why]
        row += [fmt.value(metric, trial.metrics.get(metric)) for metric in fmt.COMPARED]
        rows.append([*row, trial.clock, trial.hardware, _remark(trial)])
    print_table(columns, rows)
