"""What operations cost in money, where a profile says what its hardware costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import Field, model_validator

from advisor.documents import Table
from advisor.workload import refused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

METRIC = "cost"
OPERATIONS = 1e6
"""The cost is that of so many."""
NEEDS = ("ops_per_s", "cpu_us_per_op", "write_kb_per_op", "disk_bytes")
"""Metrics that it is made of."""
_KIB, _GIB, _TERABYTE = 1 << 10, 1 << 30, 1e12
_SECONDS_PER_HOUR, _US_PER_HOUR = 3600.0, 3600.0 * 1e6

Amount = TypeVar("Amount", float, "NDArray[np.float64]")
Money = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Price(Table):
    """Prices of one currency; what is absent costs nothing."""

    machine_hour: Money = 0.0
    """Of all that is rented whatever the settings are."""
    memory_gib_hour: Money = 0.0
    """Of the profile's memory, used or not: what settings leave of it holds pages of files."""
    disk_gib_hour: Money = 0.0
    """Of what the data takes on disk."""
    core_hour: Money = 0.0
    """Of CPU time that is used."""
    written_terabyte: Money = 0.0
    """Of 10^12 bytes that engines write: the drive's price over the bytes that it is rated for, or
    what a provider charges."""

    @model_validator(mode="after")
    def _is_something(self) -> Price:
        if not any(self.model_dump().values()):
            names = ", ".join(type(self).model_fields)
            raise refused("a table without a price", f"a price above 0 of any of {names}")
        return self

    def cost(self, metrics: Mapping[str, Amount], memory_bytes: float) -> Amount | None:
        """Of a million operations, at the rate at which they were made; None where a metric that it
        takes was not measured, and where nothing was done. Sizes are full ones."""
        if any(name not in metrics for name in NEEDS):
            return None
        rate = metrics["ops_per_s"]
        if isinstance(rate, float) and not rate:
            return None
        hour = self.machine_hour + self.memory_gib_hour * memory_bytes / _GIB
        rented = hour + self.disk_gib_hour / _GIB * metrics["disk_bytes"]
        of_one = (
            rented / rate / _SECONDS_PER_HOUR
            + self.core_hour / _US_PER_HOUR * metrics["cpu_us_per_op"]
            + self.written_terabyte * _KIB / _TERABYTE * metrics["write_kb_per_op"]
        )
        return OPERATIONS * of_one
