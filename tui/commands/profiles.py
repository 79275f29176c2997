"""`tunebench profiles`: what ships, and whether a file of the user's can be read."""

from typing import TYPE_CHECKING, Annotated

import typer

from tui import completions
from tui.options import JSON

if TYPE_CHECKING:
    from advisor.profile import Profile


def profiles(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PROFILE]...",
            help="Profiles to show: shipped names or files. A file with a mistake is refused.",
            autocompletion=completions.profiles,
            show_default=False,
        ),
    ] = None,
    as_json: JSON = False,
) -> None:
    """List the shipped profiles, show some, or check a file."""
    from advisor import profile
    from tui.output import print_json

    if not names:
        shipped = list(profile.shipped().values())
        if as_json:
            print_json([_document(one) for one in shipped])
        else:
            _list(shipped)
        return
    chosen = [profile.load(name) for name in names]
    if as_json:
        print_json([_document(one) for one in chosen])
        return
    for one in chosen:
        _show(one)


def _document(profile: "Profile") -> dict[str, object]:
    from tui.output import plain

    document: dict[str, object] = plain(profile)
    return document


def _list(profiles: list["Profile"]) -> None:
    from advisor.sizes import format_size
    from tui.output import Column, print_table

    columns = [
        Column("profile"),
        Column("data", right=True),
        Column("memory", right=True),
        Column("clients", right=True),
        Column("what it is"),
    ]
    rows = [
        [
            one.name,
            format_size(one.data_bytes),
            format_size(one.memory_bytes),
            str(one.clients),
            one.text,
        ]
        for one in profiles
    ]
    print_table(columns, rows)


def _show(profile: "Profile") -> None:
    from advisor.errors import printable
    from tui.profile_text import profile_text

    typer.echo(typer.style(printable(profile.name), bold=True))
    typer.echo(profile_text(profile))
