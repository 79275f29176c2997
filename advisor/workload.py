"""Workloads: what the kinds are called, what parameters they take, and how many bytes one of their
units is, so that a size of data means a number of ids, keys, records or rows.

The kinds and their parameters are the core's (`advisor.options`); `profiles/workloads/KIND.toml`
says what a size of data is in each.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, model_serializer, model_validator
from pydantic_core import PydanticCustomError

from advisor.data import data_path
from advisor.options import DeclaredWorkload, Option, Setting, workload_kinds

Condition = Mapping[str, float] | Sequence[Setting]
"""Of a parameter's value: the bounds `above` and `below` it, or the values that it may be."""

Products = tuple[tuple[int | str, ...], ...]
"""A sum of products of numbers and parameters: `[[23], ["fields", "field_bytes"]]`."""


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
    has_tables: bool
    """Whether it is of rows and statements, which servers take, and not of plain keys."""
    parameters: Mapping[str, Option]
    operations: Mapping[str, Mapping[str, Condition]]
    """By the core's names, each with what parameters must be for it to occur."""
    statements: int | Mapping[str, int] = 1
    """What one operation asks of the engine, in statements or calls of the size of a row's; by the
    core's names where there is one kind of operation at a time."""
    committed_together: str | None = None
    """The core's parameter that says how many operations make one commit; None where one does."""
    divided: tuple[str, ...] = ()
    """Counts that make up a unit: they shrink where there is less data than one."""


@cache
def kinds() -> Mapping[str, WorkloadKind]:
    """Every kind by name, in alphabetical order."""
    return {name: _kind(name, declared) for name, declared in sorted(workload_kinds().items())}


def _kind(name: str, declared: DeclaredWorkload) -> WorkloadKind:
    path = data_path("profiles", "workloads", f"{name}.toml")
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    sized_by = table["sized_by"]
    return WorkloadKind(
        name=name,
        text=declared.text,
        sized_by=sized_by,
        unit_bytes=tuple(map(tuple, table["unit_bytes"])),
        unit_keys=tuple(map(tuple, table["unit_keys"])),
        clients=table["clients"],
        has_tables=table.get("tables", False),
        parameters={
            known: option for known, option in declared.parameters.items() if known != sized_by
        },
        operations=table["operations"],
        statements=table.get("statements", 1),
        committed_together=table.get("committed_together"),
        divided=tuple(table.get("divided", ())),
    )


def refused(found: str, accepted: str) -> PydanticCustomError:
    """A validation error that carries both halves of an `InputError`."""
    return PydanticCustomError(
        "refused", "{found}: {accepted}", {"found": found, "accepted": accepted}
    )


class Workload(BaseModel):
    """A kind of workload and its parameters; in TOML the parameters stand beside `kind`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    parameters: dict[str, Setting] = {}

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
    def operations(self) -> tuple[str, ...]:
        """The kinds of operations that occur, by the core's names."""
        return tuple(
            operation
            for operation, needs in self.info.operations.items()
            if all(_holds(self._value(name), needed) for name, needed in needs.items())
        )

    @property
    def statements(self) -> int:
        """How many statements an operation is."""
        known = self.info.statements
        return known if isinstance(known, int) else max(known[one] for one in self.operations)

    @property
    def operations_per_commit(self) -> int:
        """How many operations are committed together."""
        name = self.info.committed_together
        return 1 if name is None else int(self._value(name))

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
        value = self._value(part)
        assert isinstance(value, int), f"{part} counts something"
        return value

    def _value(self, name: str) -> Setting:
        return self.parameters.get(name, self.info.parameters[name].default)


def _holds(value: Setting, needed: Condition) -> bool:
    if not isinstance(needed, Mapping):
        return value in needed
    assert isinstance(value, int | float), "only numbers have bounds"
    return needed.get("above", -math.inf) < value < needed.get("below", math.inf)
