"""Workloads: what the kinds are called, what parameters they take, and how many bytes one of their
units is, so that a size of data means a number of ids, keys, records or rows.

The kinds are the core's, declared in `profiles/workloads/KIND.toml`.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, model_serializer, model_validator
from pydantic_core import PydanticCustomError

from advisor.data import data_path

Parameter = bool | int | float | str
Products = tuple[tuple[int | str, ...], ...]
"""A sum of products of numbers and parameters: `[[23], ["fields", "field_bytes"]]`."""


@dataclass(frozen=True)
class ParameterInfo:
    """A parameter that a kind of workload takes."""

    name: str
    type: Literal["integer", "number", "word", "switch"]
    text: str
    default: Parameter
    low: float = 0
    high: float = 0
    choices: tuple[str, ...] = ()

    @property
    def accepted(self) -> str:
        """What may be given, in words."""
        if self.type == "switch":
            return "true or false"
        if self.type == "word":
            return "one of " + ", ".join(self.choices)
        noun = "a whole number" if self.type == "integer" else "a number"
        return f"{noun} from {self.low:g} to {self.high:g}"

    def normal(self, value: object) -> Parameter | None:
        """The value in the parameter's own type, or None if it is not accepted."""
        if self.type == "switch":
            return value if isinstance(value, bool) else None
        if self.type == "word":
            return value if isinstance(value, str) and value in self.choices else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if not self.low <= value <= self.high:
            return None
        if self.type == "number":
            return float(value)
        return int(value) if value == int(value) else None


@dataclass(frozen=True)
class WorkloadKind:
    """One pattern of operations that the core can run."""

    name: str
    text: str
    sized_by: str
    """The core's parameter that says how much data there is: ids, keys, records, rows."""
    unit_bytes: Products
    """Logical bytes of one unit, index entries included."""
    unit_keys: Products
    """Keys of one unit in the engine, index entries included."""
    clients: int
    """How many clients are usual."""
    parameters: Mapping[str, ParameterInfo]
    divided: tuple[str, ...] = ()
    """Counts that make up a unit: they shrink where there is less data than one."""


@cache
def kinds() -> Mapping[str, WorkloadKind]:
    """Every kind by name."""
    found = {}
    for path in sorted(data_path("profiles", "workloads").glob("*.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        parameters = {
            name: ParameterInfo(name=name, **(info | {"choices": tuple(info.get("choices", ()))}))
            for name, info in table["parameters"].items()
        }
        found[path.stem] = WorkloadKind(
            name=path.stem,
            text=table["text"],
            sized_by=table["sized_by"],
            unit_bytes=tuple(map(tuple, table["unit_bytes"])),
            unit_keys=tuple(map(tuple, table["unit_keys"])),
            clients=table["clients"],
            parameters=parameters,
            divided=tuple(table.get("divided", ())),
        )
    return found


def refused(found: str, accepted: str) -> PydanticCustomError:
    """A validation error that carries both halves of an `InputError`."""
    return PydanticCustomError(
        "refused", "{found}: {accepted}", {"found": found, "accepted": accepted}
    )


class Workload(BaseModel):
    """A kind of workload and its parameters; in TOML the parameters stand beside `kind`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    parameters: dict[str, Parameter] = {}

    @model_validator(mode="before")
    @classmethod
    def _check(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
            raise refused(repr(data), "a table with a kind: one of " + ", ".join(kinds()))
        kind = kinds().get(data["kind"])
        if kind is None:
            raise refused(f"the kind {data['kind']!r}", "one of " + ", ".join(kinds()))
        given = {name: value for name, value in data.items() if name not in ("kind", "parameters")}
        given |= data.get("parameters", {})
        checked = {}
        for name, value in given.items():
            if name == kind.sized_by:
                raise refused(name, f"the profile's data: it says how many {name} there are")
            if name not in kind.parameters:
                known = ", ".join(kind.parameters) or "no parameters"
                raise refused(f"the parameter {name!r} of {kind.name}", known)
            checked[name] = kind.parameters[name].normal(value)
            if checked[name] is None:
                raise refused(f"{value!r} for {name}", kind.parameters[name].accepted)
        return {"kind": kind.name, "parameters": checked}

    @model_serializer
    def _flat(self) -> dict[str, Any]:
        return {"kind": self.kind, **self.parameters}

    @property
    def info(self) -> WorkloadKind:
        """What the kind is."""
        return kinds()[self.kind]

    @property
    def clients(self) -> int:
        """How many clients are usual for the kind."""
        return self.info.clients

    @property
    def unit_bytes(self) -> int:
        """Logical bytes of one id, key, record or row."""
        return self._sum(self.info.unit_bytes)

    def units(self, data_bytes: int) -> int:
        """How many ids, keys, records or rows make up this much data; at least one."""
        return max(1, data_bytes // self.unit_bytes)

    def keys(self, data_bytes: int) -> int:
        """How many keys the engine holds for this much data, index entries included."""
        part = min(1.0, data_bytes / self.unit_bytes) if self.info.divided else 1.0
        return max(1, round(self.units(data_bytes) * self._sum(self.info.unit_keys) * part))

    def spec(self, data_bytes: int) -> dict[str, Any]:
        """The workload as the core takes it, for this much data."""
        spec = {"kind": self.kind, self.info.sized_by: self.units(data_bytes), **self.parameters}
        part = data_bytes / self.unit_bytes
        if part < 1:
            spec |= {name: max(1, round(self._factor(name) * part)) for name in self.info.divided}
        return spec

    def _sum(self, products: Products) -> int:
        return max(1, sum(math.prod(map(self._factor, product)) for product in products))

    def _factor(self, part: int | str) -> int:
        if isinstance(part, int):
            return part
        value = self.parameters.get(part, self.info.parameters[part].default)
        assert isinstance(value, int), f"{part} counts something"
        return value
