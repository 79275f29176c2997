"""`tunebench export`: the recommendation of a stored study in a product's own words."""

from typing import Annotated

import typer

from tui import completions
from tui.options import FORCE, FROM, FRONT, JSON, OUTPUT, RESULTS, TO


def export(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[STUDY]",
            help="The stored study; the newest without it.",
            show_default=False,
            autocompletion=completions.studies,
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(
            "--study",
            metavar="NAME",
            help="The same, for names that begin with a dash.",
            autocompletion=completions.studies,
        ),
    ] = None,
    to: TO = None,
    front: FRONT = None,
    current: FROM = None,
    output: OUTPUT = None,
    force: FORCE = False,
    results: RESULTS = None,
    as_json: JSON = False,
) -> None:
    """Write the advice of a stored study in any dialect.

    It goes to a file with -o, else to stdout. It is the file that the settings came from (or that
    of --from) with the changes in it, where that is one of the dialect. Of a study with several
    objectives it is the recommended member of the front, or with --front another one.
    """
    from advisor import handover
    from advisor.errors import InputError
    from advisor.search import Study
    from advisor.store import Store
    from tui import delivery, problem
    from tui.output import narrate, print_json

    if name is not None and study is not None:
        raise InputError("--study", None, f"also the name {name!r}", "one study")
    if output is None and force:
        raise InputError("--force", None, "no -o", "-o with the file to write")
    store = Store(results)
    asked = study if name is None else name
    loaded = Study.load(problem.newest_study(store) if asked is None else asked, store)
    current = current or handover.own_file(loaded)
    target = delivery.checked_target(None, output, force, loaded.engines, loaded.name)
    if to is not None:
        delivery.check_dialect(to, loaded.engines)
    advice = delivery.advice_for(loaded, to, current, measure=False, member=front)
    dialect = to or handover.usual_dialect(advice, current, output)
    written = []
    if target is not None:
        written = handover.write_files(advice, dialect, target.path, current, force=force)
    if as_json:
        text = advice.write(dialect, current)
        print_json({"study": loaded.name, "dialect": dialect, "text": text, "written": written})
    elif written:
        narrate(delivery.wrote(dialect, written))
    else:
        # The bytes of the user's own file, whatever they are.
        text = advice.write(dialect, current)
        typer.echo(text.encode("utf-8", "surrogateescape"), nl=False)
