"""TOML tables of the user's and of ours: found by name, read, and checked against a model.

Sizes are written as people write them; an unknown field is an error, and every error is one line
that names the file, the place in it, what was found and what is accepted.
"""

from __future__ import annotations

import difflib
import re
import sys
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from advisor import files
from advisor.errors import InputError
from advisor.sizes import ACCEPTED as ACCEPTED_SIZE
from advisor.sizes import format_size, parse_size
from advisor.workload import refused


class Table(BaseModel):
    """A table whose fields are all known and never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


Model = TypeVar("Model", bound=Table)

MOST_SIZE = 1 << 60
MOST_BYTES = 1 << 20
MOST_KEY_PARTS = 32
"""`tomllib` takes time and memory with the square of a dotted key's length."""
_DEEP_KEY = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+)"""
    rf"{{{MOST_KEY_PARTS}}}"
)

_LONG_NUMBER = re.compile(r"0[xob][0-9A-Fa-f_]{1024}")
"""Python reads such an integer and then cannot write it, which pydantic complains of on stderr."""


def _size(value: object) -> int:
    size = 0
    if isinstance(value, int) and not isinstance(value, bool):
        size = value
    elif isinstance(value, str):
        with suppress(ValueError):
            size = parse_size(value)
    if size > MOST_SIZE:
        raise refused(_written(value), f"a size of at most {format_size(MOST_SIZE)}")
    if size <= 0:
        raise refused(_written(value), ACCEPTED_SIZE)
    return size


Size = Annotated[int, BeforeValidator(_size)]
Count = Annotated[int, Field(ge=1, le=65536, strict=True)]
Ratio = Annotated[float, Field(ge=0, le=1)]


def _written(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # of an integer that Python does not write in decimal
        return "a number that is too long"


def find(name_or_path: str | Path, folder: Path, what: str) -> Path:
    """The file of that name in `folder`, or the file at that path. Raises `InputError`."""
    text = str(name_or_path)
    if isinstance(name_or_path, str) and is_name(text):
        path = folder / f"{text}.toml"
        if files.is_file(path):
            return path
    if files.is_file(Path(text)):
        return Path(text)
    names = sorted(path.stem for path in folder.glob("*.toml"))
    near = difflib.get_close_matches(text, names, n=3) or names
    raise InputError(what, None, repr(text), f"a TOML file, or one of {', '.join(near)}")


def is_name(text: str) -> bool:
    """Whether it can name a shipped file rather than be a path."""
    return re.fullmatch(r"[\w.-]+", text) is not None


def read(path: Path) -> dict[str, Any]:
    """A TOML file. Raises `InputError`."""
    text = files.read_text(path, MOST_BYTES)
    if deep := _DEEP_KEY.search(text):
        number = text.count("\n", 0, deep.start()) + 1
        raise InputError(
            path, number, f"a key of more than {MOST_KEY_PARTS} parts", "a shorter key"
        )
    if _LONG_NUMBER.search(text):
        raise InputError(path, None, "a number of more than 1024 digits", "TOML")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        match = re.search(r"(.*) \(at line (\d+), column (\d+)\)", message)
        found, line = (match[1], match[2]) if match else (message, None)
        raise InputError(path, line, found, "TOML") from error
    except ValueError as error:
        digits = sys.get_int_max_str_digits()
        raise InputError(path, None, f"a number of more than {digits} digits", "TOML") from error
    except RecursionError as error:
        raise InputError(path, None, "tables nested without end", "TOML") from error


def validated(model: type[Model], data: dict[str, Any], source: str) -> Model:
    """The data as the model. Raises `InputError` for the first field that is wrong."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        context = first.get("ctx", {})
        key = _key(first["loc"], data)
        if first["type"] == "refused":
            found, accepted = context["found"], context["accepted"]
        elif first["type"] == "extra_forbidden":
            names = (field.alias or name for name, field in model.model_fields.items())
            found = "an unknown field"
            accepted = ", ".join(names) if len(first["loc"]) == 1 else "the fields of its table"
        elif first["type"] == "missing":
            found, accepted = "nothing", "a value: the field is required"
        else:
            found, accepted = _written(first["input"]), _lower(first["msg"])
        raise InputError(source, key, found, accepted) from error


def _key(place: tuple[int | str, ...], data: object) -> str | None:
    """Where in the file that is: without the names that pydantic gives to what is no key there."""
    parts: list[str] = []
    at: Any = data
    for depth, part in enumerate(place, start=1):
        is_key = isinstance(at, Mapping) and part in at
        if is_key or (isinstance(at, list | tuple) and isinstance(part, int)):
            at = at[part]
        elif depth < len(place) or part == "[key]":
            continue
        parts.append(str(part))
    return ".".join(parts) or None


def _lower(message: str) -> str:
    return message.removeprefix("Input should be ").removeprefix("Value should be ")
