"""`tunebench import`: what a my.cnf or an OPTIONS file says, in the knobs of the engines."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tui import completions
from tui import format as fmt
from tui.options import FORCE, JSON, OUTPUT

if TYPE_CHECKING:
    from advisor.imports import Imported, Weight
    from advisor.knobs import Engine, Setting
    from advisor.profile import Profile


def import_(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A my.cnf, an OPTIONS file, or a RocksDB directory."),
    ],
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="PROFILE",
            help="With -o: the workload and data of the profile to write.",
            autocompletion=completions.profiles,
            show_default=False,
        ),
    ] = None,
    output: OUTPUT = None,
    force: FORCE = False,
    as_json: JSON = False,
) -> None:
    """Show what a my.cnf or OPTIONS file sets.

    Settings that no trial has are listed by what they mean, the gravest first: those by which the
    file describes another engine than the model. With -o, a profile is written whose engine and
    memory are the file's.
    """
    from advisor import imports
    from advisor.errors import InputError
    from tui.output import narrate, print_json

    if (output is None) != (profile is None):
        given, lacking = ("-o", "--profile") if profile is None else ("--profile", "-o")
        raise InputError(given, None, f"no {lacking}", "both: which workload, and which file")
    if output is None and force:
        raise InputError("--force", None, "no -o", "a file to write over")
    found = imports.read(file)
    if output is not None and profile is not None:
        from advisor.atomic import write_text
        from tui.profile_text import profile_text

        write_text(output, profile_text(_profile(file, profile, force)), force=force)
        narrate(f"wrote {output}")
    if as_json:
        print_json(_document(found))
    else:
        _print(found)


def _document(found: "Imported") -> dict[str, object]:
    return {
        "source": found.source,
        "product": found.product,
        "settings": found.settings,
        "ignored": found.ignored,
        "notes": found.notes,
    }


def _print(found: "Imported") -> None:
    from advisor.imports import WEIGHTS
    from tui.output import Column, narrate, print_table

    _print_ignored(found, "another engine")
    if not any(found.settings.values()):
        narrate(f"no setting of {found.source} is one of the engines' knobs")
    for engine, settings in found.settings.items():
        if settings:
            typer.echo(typer.style(fmt.ENGINE_TITLES[engine], bold=True))
            columns = [
                Column("setting"),
                Column("value", right=True),
                Column("default", right=True),
            ]
            print_table(columns, _rows(engine, settings))
            typer.echo()
    for weight in WEIGHTS[1:-1]:
        _print_ignored(found, weight)
    at_default = sum(one.weight == "default" for one in found.ignored)
    if at_default:
        typer.echo(f"{at_default} more settings are what the product does anyway")
    for note in found.notes:
        typer.echo(typer.style(f"note: {note}", dim=True))


_TITLES: "Mapping[Weight, str]" = {
    "another engine": "ANOTHER ENGINE THAN THE MODEL: tune, run and import -o need --force",
    "left out": "left out of the trials, though it bears on the result",
    "no bearing": "not used, and of no bearing",
}


def _print_ignored(found: "Imported", weight: "Weight") -> None:
    from tui.output import Column, print_table

    rows = [[one.name, one.value, one.why] for one in found.ignored if one.weight == weight]
    if rows:
        red = "red" if weight == "another engine" else None
        typer.echo(typer.style(_TITLES[weight], bold=True, fg=red))
        print_table([Column("setting"), Column("value"), Column("why")], rows)
        typer.echo()


def _rows(engine: "Engine", settings: Mapping[str, "Setting"]) -> list[list[str]]:
    from advisor.knobs import catalogue

    knobs = catalogue(engine)
    return [
        [name, knobs[name].show(value), knobs[name].show(knobs[name].default)]
        for name, value in settings.items()
    ]


def _profile(file: Path, name: str, force: bool) -> "Profile":
    """The named profile with the engines of the file and the memory that its settings need."""
    from advisor.evaluate import needed_memory
    from advisor.knobs import defaults
    from advisor.profile import load
    from tui import problem

    base = load(name)
    current = problem.current_by_engine(file, (), base.engines, force=force)
    needs = {
        engine: needed_memory(base, engine, {**defaults(engine), **settings})
        for engine, settings in current.items()
    }
    return base.with_changes(engines=list(needs), memory=max(needs.values()))
