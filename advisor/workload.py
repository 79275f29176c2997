"""Workloads: what the kinds are called, what parameters they take, and how many bytes one of their
units is, so that a size of data means a number of ids, keys or records.

The kinds are declared in `profiles/workloads/*.toml`, and run by the core.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, model_serializer, model_validator
from pydantic_core import PydanticCustomError

from advisor.data import data_path

Parameter = int | float | dict[str, float]


@dataclass(frozen=True)
class ParameterInfo:
    """A parameter that a kind of workload takes."""

    name: str
    type: Literal["integer", "number", "mix"]
    text: str
    default: float | None = None
    low: float = 0
    high: float = 0
    choices: tuple[str, ...] = ()
    """Of a mix: the operations that may have a weight."""

    @property
    def accepted(self) -> str:
        """What may be given, in words."""
        if self.type == "mix":
            return "weights above 0 of " + ", ".join(self.choices)
        noun = "a whole number" if self.type == "integer" else "a number"
        return f"{noun} from {self.low:g} to {self.high:g}"

    def normal(self, value: object) -> Parameter | None:
        """The value in the parameter's own type, or None if it is not accepted."""
        if self.type == "mix":
            return self._mix(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if not self.low <= value <= self.high:
            return None
        if self.type == "number":
            return float(value)
        return int(value) if value == int(value) else None

    def _mix(self, value: object) -> Parameter | None:
        if not isinstance(value, dict) or not value or not set(value) <= set(self.choices):
            return None
        weights = {}
        for operation, weight in value.items():
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not weight > 0:
                return None
            weights[operation] = float(weight)
        return weights


@dataclass(frozen=True)
class WorkloadKind:
    """One pattern of operations that the core can run."""

    name: str
    text: str
    sized_by: str
    """The core's parameter that says how much data there is: ids, keys or records."""
    unit_bytes: int
    """Logical bytes of one unit, besides what `unit_bytes_from` adds."""
    unit_bytes_from: str | None
    """A parameter whose value adds to the bytes of a unit."""
    clients: int
    """How many clients are usual."""
    parameters: Mapping[str, ParameterInfo]


@cache
def kinds() -> Mapping[str, WorkloadKind]:
    """Every kind by name."""
    found = {}
    for path in sorted(data_path("profiles", "workloads").glob("*.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        parameters = {
            name: ParameterInfo(name=name, **(info | {"choices": tuple(info.get("choices", ()))}))
            for name, info in table.get("parameters", {}).items()
        }
        for name, kind in table["kinds"].items():
            found[name] = WorkloadKind(
                name=name,
                text=kind["text"],
                sized_by=table["sized_by"],
                unit_bytes=table["unit_bytes"],
                unit_bytes_from=table.get("unit_bytes_from"),
                clients=table["clients"],
                parameters=parameters,
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
        """Logical bytes of one id, key or record."""
        name = self.info.unit_bytes_from
        if name is None:
            return self.info.unit_bytes
        value = self.parameters.get(name, self.info.parameters[name].default)
        assert isinstance(value, int | float), f"{name} has a default in profiles/workloads"
        return self.info.unit_bytes + int(value)

    def units(self, data_bytes: int) -> int:
        """How many ids, keys or records make up this much data; at least one."""
        return max(1, data_bytes // self.unit_bytes)

    def spec(self, data_bytes: int) -> dict[str, Any]:
        """The workload as the core takes it, for this much data."""
        return {"kind": self.kind, self.info.sized_by: self.units(data_bytes), **self.parameters}
