"""The command that was called, as one that can be typed again with other options."""

import shlex
from collections.abc import Sequence
from typing import Any

import typer


def command(ctx: typer.Context, **changes: object) -> str:
    """The command of this context with the arguments and options that were given, and `changes` by
    the name of their parameter. `True` gives a flag."""
    words = ["tunebench", str(ctx.info_name)]
    for parameter in ctx.command.params:
        name = str(parameter.name)
        value = changes.get(name, ctx.params.get(name) if _is_given(ctx, name) else None)
        if value is not None:
            words += _words(parameter, value)
    return shlex.join(words)


def given(ctx: typer.Context, names: Sequence[str]) -> list[str]:
    """The options among these parameters that were given."""
    return [
        max(parameter.opts, key=len)
        for parameter in ctx.command.params
        if parameter.name in names and _is_given(ctx, str(parameter.name))
    ]


def _is_given(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _words(parameter: Any, value: object) -> list[str]:
    if parameter.param_type_name == "argument":
        return [str(value)]
    if isinstance(value, bool):
        return [max(parameter.opts if value else parameter.secondary_opts, key=len)]
    option = max(parameter.opts, key=len)
    values = value if isinstance(value, list | tuple) else [value]
    return [word for one in values for word in (option, str(one))]
