"""TOML tables of the user's and of ours: found by name, read, and checked against a model.

Sizes are written as people write them; an unknown field is an error, and every error is one line
that names the file, the place in it, what was found and what is accepted.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from advisor.errors import InputError
from advisor.sizes import ACCEPTED as ACCEPTED_SIZE
from advisor.sizes import parse_size
from advisor.workload import refused


class Table(BaseModel):
    """A table whose fields are all known and never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


Model = TypeVar("Model", bound=Table)


def _size(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    try:
        size = parse_size(value) if isinstance(value, str) else 0
    except ValueError:
        size = 0
    if size <= 0:
        raise refused(repr(value), ACCEPTED_SIZE)
    return size


Size = Annotated[int, BeforeValidator(_size)]
Count = Annotated[int, Field(ge=1, le=65536, strict=True)]
Ratio = Annotated[float, Field(ge=0, le=1)]


def find(name_or_path: str | Path, folder: Path, what: str) -> Path:
    """The file of that name in `folder`, or the file at that path. Raises `InputError`."""
    text = str(name_or_path)
    if isinstance(name_or_path, str) and re.fullmatch(r"[\w.-]+", text):
        path = folder / f"{text}.toml"
        if path.is_file():
            return path
    if Path(text).is_file():
        return Path(text)
    names = sorted(path.stem for path in folder.glob("*.toml"))
    near = difflib.get_close_matches(text, names, n=3) or names
    raise InputError(what, None, repr(text), f"a TOML file, or one of {', '.join(near)}")


def read(path: Path) -> dict[str, Any]:
    """A TOML file. Raises `InputError`."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        match = re.search(r"(.*) \(at line (\d+), column (\d+)\)", message)
        found, line = (match[1], match[2]) if match else (message, None)
        raise InputError(path, line, found, "TOML") from error
    except UnicodeDecodeError as error:
        raise InputError(path, None, "bytes that are not UTF-8", "TOML in UTF-8") from error
    except OSError as error:
        raise InputError(path, None, error.strerror or str(error), "a readable file") from error


def validated(model: type[Model], data: dict[str, Any], source: str) -> Model:
    """The data as the model. Raises `InputError` for the first field that is wrong."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        context = first.get("ctx", {})
        key = ".".join(str(part) for part in first["loc"]) or None
        if first["type"] == "refused":
            found, accepted = context["found"], context["accepted"]
        elif first["type"] == "extra_forbidden":
            names = (field.alias or name for name, field in model.model_fields.items())
            found = "an unknown field"
            accepted = ", ".join(names) if len(first["loc"]) == 1 else "the fields of its table"
        elif first["type"] == "missing":
            found, accepted = "nothing", "a value: the field is required"
        else:
            found, accepted = repr(first["input"]), _lower(first["msg"])
        raise InputError(source, key, found, accepted) from error


def _lower(message: str) -> str:
    return message.removeprefix("Input should be ").removeprefix("Value should be ")
