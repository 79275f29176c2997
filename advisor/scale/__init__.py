"""The only place that shrinks: a run at full size and one factor become the spec of a smaller copy,
and its results are carried back.

Data, caches, memtables, files, levels, logs and what a device holds shrink by the factor. Rows,
blocks, pages, requests and rates stay. What can do neither, the core derives from the `scale` block
of the spec.
"""

from advisor.scale.factor import (
    LARGEST_DATA,
    MIB,
    SMALLEST_DATA,
    Scale,
    ScaledSettings,
    batch_bytes,
)
from advisor.scale.ladder import RUNGS, Ladder
from advisor.scale.machine import carry_back, device_spec, machine_spec
from advisor.scale.run import (
    FullRun,
    InBytes,
    InUnits,
    LoadedBefore,
    ScaledRun,
    Simulated,
    scaled_run,
)

__all__ = [
    "LARGEST_DATA",
    "MIB",
    "RUNGS",
    "SMALLEST_DATA",
    "FullRun",
    "InBytes",
    "InUnits",
    "Ladder",
    "LoadedBefore",
    "Scale",
    "ScaledRun",
    "ScaledSettings",
    "Simulated",
    "batch_bytes",
    "carry_back",
    "device_spec",
    "machine_spec",
    "scaled_run",
]
