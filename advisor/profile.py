"""What the user has and wants: a workload, a size of data, a machine, and a goal.

A profile is a TOML file. Sizes are written as people write them; an unknown field is an error, and
every error is one line that names the file, the place in it, what was found and what is accepted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    field_validator,
    model_validator,
)

from advisor.data import data_path
from advisor.documents import Count, Size, Table, find, read, validated
from advisor.errors import InputError
from advisor.goal import FLASH_METRICS, Goal, parse_goal
from advisor.hardware import (
    Device,
    Hardware,
    hardware,
    hardware_from,
    hardware_path,
    shipped_hardware,
)
from advisor.knobs import ENGINES, Engine
from advisor.memory import Load
from advisor.price import METRIC as COST
from advisor.price import Price
from advisor.trial import Clock
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


def _engines(value: object) -> object:
    allowed = list(ENGINES)
    if not isinstance(value, list | tuple) or not value:
        raise refused(repr(value), f"a list of {' and '.join(allowed)}")
    for engine in value:
        if engine not in allowed:
            raise refused(f"the engine {engine!r}", " or ".join(allowed))
    return tuple(engine for engine in ENGINES if engine in value)


class Profile(Table):
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
    direct_io: bool | None = None
    """Whether simulated studies open files past the operating system's page cache. Absent: on this
    machine, where its memory is more than the profile's: nothing else would hold the page cache to
    the profile's memory here. On other machines the profile's memory holds the page cache too, as a
    container's does."""
    price: Price | None = None
    """What the hardware costs; without it nothing has a `cost`."""

    @model_validator(mode="before")
    @classmethod
    def _usual_clients(cls, data: Any) -> Any:
        if isinstance(data, dict) and "clients" not in data and "workload" in data:
            return {"clients": Workload.model_validate(data["workload"]).clients} | data
        return data

    @model_validator(mode="after")
    def _operations(self) -> Profile:
        known = self.workload.operations
        for operation in sorted(self.goal.operations.difference(known)):
            found = f"a goal for the operation {operation!r}"
            raise refused(found, f"one that {self.workload.kind} makes: {', '.join(known)}")
        return self

    @model_validator(mode="after")
    def _priced(self) -> Profile:
        if COST in self.goal.metrics and self.price is None:
            raise refused(f"a goal of {COST} without prices", "a profile with a table [price]")
        return self

    @model_validator(mode="after")
    def _worn(self) -> Profile:
        asked = [name for name in self.goal.metrics if name in FLASH_METRICS]
        if asked and not self.hardware.tells_wear:
            found = f"a goal of {asked[0]} on {self.hardware.name}"
            raise refused(found, "a machine whose device is a flash drive with figures of its own")
        return self

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
            path = hardware_path(value)
        except InputError as error:
            raise refused(error.found, error.accepted) from error
        return hardware_from(path)  # what is wrong there is said of that file

    def document(self) -> dict[str, Any]:
        """The profile as it is stored."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @classmethod
    def renewed(cls, document: Any) -> dict[str, Any]:
        """A stored profile as it would be stored now: its machine may lack figures that have come
        since and say nothing of it."""
        return cls.model_validate(document).document()

    @property
    def passes_page_cache(self) -> bool:
        """`direct_io`, or what stands for it where it is absent."""
        if self.direct_io is not None:
            return self.direct_io
        return self.hardware.detect and self.memory_bytes < self.hardware.memory_bytes

    def holds_page_cache_out(self, clock: Clock) -> bool:
        """Whether a run opens files past the page cache whatever its settings say, so that this
        holds no more than the profile's memory. A real engine runs here, where the page cache would
        hold all of data that the profile's memory does not."""
        if clock == "measured":
            return False
        beyond = clock == "real" and self.data_bytes > self.memory_bytes
        return self.passes_page_cache or beyond

    @property
    def units(self) -> int:
        """How many ids, keys, records or rows the data is."""
        return self.workload.units(self.data_bytes)

    @property
    def keys(self) -> int:
        """How many keys the engine holds, index entries included."""
        return self.workload.keys(self.data_bytes)

    @property
    def memory_load(self) -> Load:
        """What the memory of an engine depends on besides its settings."""
        tables = self.workload.info.has_tables
        return Load(self.clients, self.data_bytes, self.keys, tables)

    def with_changes(self, source: str = "options", **changes: Any) -> Profile:
        """A copy with other fields, by their names in TOML (`data="8GiB"`). Raises `InputError`."""
        own = {name: getattr(self, name) for name in type(self).model_fields}
        own["data"], own["memory"] = own.pop("data_bytes"), own.pop("memory_bytes")
        return validated(Profile, own | changes, source)


def shipped() -> dict[str, Profile]:
    """The profiles that ship with the program, by name."""
    return {path.stem: _from_file(path) for path in sorted(data_path("profiles").glob("*.toml"))}


def load(name_or_path: str | Path) -> Profile:
    """A shipped profile by its name, or a profile from a TOML file. Raises `InputError`."""
    path = find(name_or_path, data_path("profiles"), "profile")
    return _from_file(path)


def _from_file(path: Path) -> Profile:
    return validated(Profile, {"name": path.stem} | read(path), str(path))
