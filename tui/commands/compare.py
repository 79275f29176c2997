"""`tunebench compare`: stored runs and studies side by side."""

from typing import Annotated

import typer

from tui import completions
from tui.options import JSON, RESULTS


def compare(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="STUDY|RUN...",
            help="Two or more: studies by name, which stand for the settings that they recommend, "
            "and runs by the beginning of their id. The others are compared with the first.",
            autocompletion=completions.studies,
            show_default=False,
        ),
    ],
    results: RESULTS = None,
    as_json: JSON = False,
) -> None:
    """Set stored runs and studies side by side: which is better than the first, and by how much?"""
    from advisor.compare import compare as find
    from advisor.errors import InputError
    from advisor.files import exists
    from advisor.store import Store
    from tui import compare_report
    from tui.output import print_json

    if results is not None and not exists(results):
        raise InputError("--results", None, str(results), "a file that exists")
    found = find(names, Store(results))
    if as_json:
        print_json(compare_report.document(found))
    else:
        compare_report.print_comparison(found)
