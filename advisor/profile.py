"""What the user has and wants: a workload, a size of data, a machine, and a goal.

A profile is a TOML file. Sizes are written as people write them; an unknown field is an error, and
every error is one line that names the file, the place in it, what was found and what is accepted.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    field_validator,
    model_validator,
)

from advisor.data import data_path
from advisor.errors import InputError
from advisor.goal import Goal, parse_goal
from advisor.knobs import ENGINES, Engine
from advisor.sizes import ACCEPTED as ACCEPTED_SIZE
from advisor.sizes import parse_size
from advisor.workload import Workload, refused

__all__ = [
    "Device",
    "Goal",
    "Hardware",
    "Profile",
    "Workload",
    "hardware",
    "load",
    "shipped",
    "shipped_hardware",
]


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


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


_Model = TypeVar("_Model", bound=_Table)


class Device(_Table):
    """A storage device; what is not known about it is absent."""

    kind: Literal["this-disk", "sata-ssd", "nvme-ssd", "pcie-flash", "disk-array"]
    capacity_bytes: Size | None = None
    throughput_bytes_per_s: Size | None = None
    """Reads and writes together."""
    queue_depth: Count | None = None
    read_latency_us: Annotated[float, Field(gt=0)] | None = None
    write_latency_us: Annotated[float, Field(gt=0)] | None = None
    sync_latency_us: Annotated[float, Field(gt=0)] | None = None
    fullness_ratio: Ratio | None = None
    over_provisioning_ratio: Ratio | None = None
    disks: Count | None = None
    stripe_bytes: Size | None = None
    disk_iops: Annotated[float, Field(gt=0)] | None = None
    """Random reads per second of one disk."""


class Hardware(_Table):
    """A machine: its cores as the operating system counts them, its memory and its device."""

    name: str = "inline"
    text: str = ""
    source: str = ""
    """Where the figures come from."""
    detect: bool = False
    """True for the machine that the program runs on: cores and memory are asked for when loaded."""
    cpu_cores: Count
    memory_bytes: Size = Field(alias="memory")
    device: Device

    @model_validator(mode="before")
    @classmethod
    def _detect(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("detect") is True:
            memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
            data = {"cpu_cores": os.cpu_count() or 1, "memory": memory} | data
        return data


def _engines(value: object) -> object:
    allowed = list(ENGINES)
    if not isinstance(value, list | tuple) or not value:
        raise refused(repr(value), f"a list of {' and '.join(allowed)}")
    for engine in value:
        if engine not in allowed:
            raise refused(f"the engine {engine!r}", " or ".join(allowed))
    return tuple(engine for engine in ENGINES if engine in value)


class Profile(_Table):
    """One tuning problem."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str
    text: str = ""
    workload: Workload
    data_bytes: Size = Field(alias="data")
    """Logical size of the data, before compression."""
    memory_bytes: Size = Field(alias="memory")
    """Memory that the engine may use in all."""
    clients: Count
    hardware: Hardware
    goal: Annotated[Goal, PlainSerializer(str)] = Goal("ops_per_s")
    engines: Annotated[tuple[Engine, ...], BeforeValidator(_engines)] = ENGINES

    @model_validator(mode="before")
    @classmethod
    def _usual_clients(cls, data: Any) -> Any:
        if isinstance(data, dict) and "clients" not in data and "workload" in data:
            return {"clients": Workload.model_validate(data["workload"]).clients} | data
        return data

    @field_validator("goal", mode="before")
    @classmethod
    def _goal(cls, value: object) -> Goal:
        if isinstance(value, Goal):
            return value
        if not isinstance(value, str):
            raise refused(repr(value), "a text such as: maximize ops_per_s")
        try:
            return parse_goal(value)
        except InputError as error:
            raise refused(error.found, error.accepted) from error

    @field_validator("hardware", mode="before")
    @classmethod
    def _hardware(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return hardware(value)
        except InputError as error:
            raise refused(error.found, error.accepted) from error

    @property
    def units(self) -> int:
        """How many ids, keys or records the data is."""
        return self.workload.units(self.data_bytes)

    def with_changes(self, source: str = "options", **changes: Any) -> Profile:
        """A copy with other fields, by their names in TOML (`data="8GiB"`). Raises `InputError`."""
        own = {name: getattr(self, name) for name in type(self).model_fields}
        own["data"], own["memory"] = own.pop("data_bytes"), own.pop("memory_bytes")
        return _validated(Profile, own | changes, source)


def shipped() -> dict[str, Profile]:
    """The profiles that ship with the program, by name."""
    return {path.stem: _from_file(path) for path in sorted(data_path("profiles").glob("*.toml"))}


def shipped_hardware() -> dict[str, Hardware]:
    """The machines that ship with the program, by name."""
    folder = data_path("profiles", "hardware")
    return {path.stem: hardware(path.stem) for path in sorted(folder.glob("*.toml"))}


def load(name_or_path: str | Path) -> Profile:
    """A shipped profile by its name, or a profile from a TOML file. Raises `InputError`."""
    path = _find(name_or_path, data_path("profiles"), "profile")
    return _from_file(path)


def hardware(name_or_path: str | Path) -> Hardware:
    """A shipped machine by its name, or one from a TOML file. Raises `InputError`."""
    path = _find(name_or_path, data_path("profiles", "hardware"), "hardware")
    return _validated(Hardware, {"name": path.stem} | _toml(path), str(path))


def _from_file(path: Path) -> Profile:
    return _validated(Profile, {"name": path.stem} | _toml(path), str(path))


def _find(name_or_path: str | Path, folder: Path, what: str) -> Path:
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


def _toml(path: Path) -> dict[str, Any]:
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


def _validated(model: type[_Model], data: dict[str, Any], source: str) -> _Model:
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
