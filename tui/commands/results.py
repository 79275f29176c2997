"""`tunebench results`: the stored studies, sweeps and runs, one of them, or the answer to a query;
the way to tag it, to take its trials elsewhere, and to get rid of it."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from advisor.steadiness import NOT_YET
from tui import completions
from tui import format as fmt
from tui.options import JSON, RESULTS

if TYPE_CHECKING:
    from advisor.store import Store, StudySummary, SweepRecord, Table
    from advisor.trial import Trial
    from advisor.verify import Verification

LATEST_RUNS = 10
SHORT_ID = 8
OF_A_NAME = ("--report", "--export", "--tag", "--untag")
"""What can be done with what is named."""
TOGETHER = {"--sql", "--export"}
"""The answer to a query can be written, too."""


def results(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[STUDY|SWEEP|RUN]",
            help="A study or a sweep by name, or a run by the beginning of its id.",
            autocompletion=completions.stored,
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
            metavar="NAME",
            help="Delete a study with all its trials, a sweep with its own, or a single run, after "
            "a question.",
            autocompletion=completions.stored,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write the report of the study or the sweep: one page of HTML, or Markdown where "
            "FILE ends in .md.",
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            metavar="FILE",
            help="Write the trials of what is named, or all that are stored, to a table ending in "
            ".parquet or .csv: a row for each, metrics and settings as columns. With --sql the "
            "answer.",
        ),
    ] = None,
    tag: Annotated[
        str | None,
        typer.Option(
            "--tag",
            metavar="NAME",
            help="Tag what is named, to find it by that.",
            autocompletion=completions.tags,
        ),
    ] = None,
    untag: Annotated[
        str | None,
        typer.Option(
            "--untag",
            metavar="NAME",
            help="Take a tag off what is named.",
            autocompletion=completions.tags,
        ),
    ] = None,
    tagged: Annotated[
        str | None,
        typer.Option(
            "--tagged",
            metavar="NAME",
            help="List what has this tag.",
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
    """List stored studies, sweeps and runs, show one, report, tag, export or delete it, or query
    them."""
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
    if len(given) > 1 and set(given) != TOGETHER:
        raise InputError(given[0], None, f"also {given[1]}", "one or the other")
    if given and name is not None and not set(given) <= set(OF_A_NAME):
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
    elif sql is not None and export is not None:
        _export_answer(store, sql, export, force, as_json)
    elif sql is not None:
        _print_answer(store.sql(sql), as_json)
    elif report is not None:
        _report(store, name, report, force, as_json)
    elif export is not None:
        _export(store, name, export, force, as_json)
    elif tag is not None:
        named = _named(name, "--tag")
        _tell_tags(store, named, store.tag(named, tag), as_json)
    elif untag is not None:
        named = _named(name, "--untag")
        _tell_tags(store, named, store.untag(named, untag), as_json)
    elif name is not None:
        _show(store, name, as_json)
    else:
        _list(store, tagged, as_json)


def _delete(store: "Store", name: str, force: bool, as_json: bool) -> None:
    from advisor.errors import InputError
    from tui.output import narrate, print_json

    if not force:
        if not sys.stdin.isatty():
            raise InputError("--delete", None, "nobody to ask", "a terminal, or --force")
        found = store.named(name)
        told = f" with {fmt.counted(found.trials, 'trial')}" if found.kind != "run" else ""
        typer.confirm(f"Delete the {found.kind} {name}{told}?", abort=True, err=True)
    gone = store.delete(name)
    if as_json:
        print_json({"deleted": gone.key, "kind": gone.kind, "trials": gone.trials})
    else:
        told = f" with {fmt.counted(gone.trials, 'trial')}" if gone.kind != "run" else ""
        narrate(f"deleted {name}{told}")


def _report(store: "Store", name: str | None, path: Path, force: bool, as_json: bool) -> None:
    from advisor import atomic
    from advisor.errors import InputError
    from tui import problem
    from tui.output import narrate, print_json

    atomic.check_target(path, force)
    chosen = problem.newest_study(store) if name is None else name
    named = store.named(chosen)
    if named.kind == "run":
        raise InputError("--report", None, f"the run {chosen}", "a study or a sweep")
    if named.kind == "study":
        _report_study(store, chosen, path, force)
    else:
        from advisor.sweep import stored
        from tui import sweep_report

        atomic.write_text(path, sweep_report.text(stored(chosen, store), path), force=force)
    if as_json:
        print_json({named.kind: chosen, "written": [path]})
    else:
        narrate(f"wrote {path}")


def _report_study(store: "Store", name: str, path: Path, force: bool) -> None:
    from advisor import handover
    from advisor.search import Study
    from tui import delivery

    study = Study.load(name, store)
    advice = delivery.advice_for(study, None, handover.own_file(study), measure=False)
    handover.write_report(advice, path, force=force)


def _export(store: "Store", name: str | None, path: Path, force: bool, as_json: bool) -> None:
    from tui.output import narrate, print_json

    kind = "study" if name is None else store.named(name).kind
    trials = store.export(path, name, force=force)
    if as_json:
        print_json({kind: name, "trials": trials, "written": [path]})
    else:
        narrate(f"wrote {path} with {fmt.counted(trials, 'trial')}")


def _export_answer(store: "Store", query: str, path: Path, force: bool, as_json: bool) -> None:
    from tui.output import narrate, print_json

    rows = store.export_query(query, path, force=force)
    if as_json:
        print_json({"rows": rows, "written": [path]})
    else:
        narrate(f"wrote {path} with {fmt.counted(rows, 'row')}")


def _named(name: str | None, option: str) -> str:
    from advisor.errors import InputError

    if name is None:
        accepted = "the name of a stored study or sweep, or a run, before it"
        raise InputError(option, None, "no name", accepted)
    return name


def _tell_tags(store: "Store", name: str, tags: tuple[str, ...], as_json: bool) -> None:
    from tui.output import narrate, print_json

    if as_json:
        print_json({store.named(name).kind: name, "tags": tags})
    else:
        narrate(f"{name} is tagged {', '.join(tags)}" if tags else f"{name} has no tag")


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
    from tui.output import narrate, print_json

    tags = store.tags_by_key()
    studies, sweeps = store.studies(), store.sweeps()
    runs = [run for run in store.runs(LATEST_RUNS) if run.role == "run"]
    if tagged is not None:
        kept = {key for key, names in tags.items() if tagged in names}
        studies = [one for one in studies if one.name in kept]
        sweeps = [one for one in sweeps if one.name in kept]
        runs = [run for run in store.trials(None) if run.id in kept]
    if as_json:
        documents = [{**_document(run), "tags": tags.get(run.id, ())} for run in runs]
        listed = [{**_line(one), "tags": tags.get(one.name, ())} for one in sweeps]
        print_json({"file": store.path, "studies": studies, "sweeps": listed, "runs": documents})
        return
    parts: list[Callable[[], None]] = []
    if studies:
        parts.append(lambda: _print_studies(studies))
    if sweeps:
        parts.append(lambda: _print_sweeps(sweeps, tags))
    if runs:
        parts.append(lambda: _print_trials(runs, "run", lambda run: run.id[:SHORT_ID], tags))
    if not parts:
        what = "nothing is stored" if tagged is None else f"nothing is tagged {tagged}"
        narrate(f"{what} in {store.path} yet")
    for place, part in enumerate(parts):
        if place:
            typer.echo()
        part()


def _print_studies(studies: "Sequence[StudySummary]") -> None:
    from tui.output import Column, print_table

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


def _print_sweeps(sweeps: "Sequence[SweepRecord]", tags: Mapping[str, Sequence[str]]) -> None:
    from tui.output import Column, print_table

    columns = [
        Column("sweep"),
        Column("over"),
        Column("created"),
        Column("points", right=True),
        Column("clock"),
        Column("tags"),
        Column("goal"),
    ]
    rows = []
    for s in sweeps:
        over = s.axis if s.across is None else f"{s.axis} and {s.across}"
        told = ", ".join(tags.get(s.name, ()))
        rows.append([s.name, over, s.created, str(s.points), s.clock, told, s.goal])
    print_table(columns, rows)


def _line(sweep: "SweepRecord") -> dict[str, object]:
    names = ("name", "axis", "across", "created", "points", "clock", "goal", "seed")
    return {name: getattr(sweep, name) for name in names}


def _show(store: "Store", name: str, as_json: bool) -> None:
    from tui.output import print_json

    study = store.study(name)
    if study is not None:
        trials = store.trials(name, intervals=as_json)
        verification = _verification(store, name)
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
    if store.sweep(name) is not None:
        _show_sweep(store, name, as_json)
        return
    run = store.trial(name)
    if as_json:
        print_json({**_document(run), "tags": store.tags(run.id)})
    else:
        from tui.run_report import print_trial

        print_trial(run)


def _show_sweep(store: "Store", name: str, as_json: bool) -> None:
    from advisor.sweep import stored
    from tui import sweep_report
    from tui.output import print_json, print_table

    sweep, tags = stored(name, store), store.tags(name)
    if as_json:
        print_json({**sweep_report.document(sweep), "tags": tags})
        return
    told = f"{sweep.asked.profile.name} over {sweep.asked.over}, {sweep.asked.clock}, {sweep.goal}"
    typer.echo(f"{typer.style(name, bold=True)}  {told}")
    if tags:
        typer.echo(f"tagged {', '.join(tags)}")
    print_table(*sweep_report.table(sweep))
    for sentence in sweep_report.told(sweep):
        typer.echo(sentence)


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


def _print_trials(
    trials: "Sequence[Trial]",
    title: str,
    identify: Callable[["Trial"], str],
    tags: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Rows of trials; single ones may have `tags`."""
    from tui.output import Column, print_table

    columns = [Column(title, right=title == "trial"), Column("engine"), Column("why")]
    columns += [Column(fmt.label(metric), right=True) for metric in fmt.COMPARED]
    columns += [Column("clock"), Column("hardware")]
    columns += [Column("remark")] if tags is None else [Column("tags"), Column("remark")]
    rows = []
    for trial in trials:
        row = [identify(trial), trial.product or fmt.ENGINE_TITLES[trial.engine], trial.why]
        row += [fmt.value(metric, trial.metrics.get(metric)) for metric in fmt.COMPARED]
        row += [trial.clock, trial.hardware]
        row += [] if tags is None else [", ".join(tags.get(trial.id, ()))]
        rows.append([*row, _remark(trial)])
    print_table(columns, rows)
