"""The factor: how it is chosen, and what it does to sizes, settings and metrics.

Data, caches, memtables, files, levels and logs shrink by one factor; rows, blocks, pages and the
rates of the device stay. What depends on ratios (levels, hit ratios, reads and writes per
operation, space) then carries over as it is, and only sizes are multiplied back.

A size that would fall below what the engine accepts is kept at that floor. The run is then unlike
the full size in this one respect, so every such clamp is noted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from advisor import engines, knobs
from advisor.knobs import Engine, Knob, Setting, Settings
from advisor.spec import ScaleSpec

MIB = 1 << 20
SMALLEST_DATA, LARGEST_DATA = 24 * MIB, 32 * MIB
"""Data of a scaled run: enough for several levels, little enough to load and run in about two
seconds. At a quarter of it, pages of 16 KiB in extents of a mebibyte made the space of the B-tree
15% larger; the LSM kept its ratios."""

MEMTABLE_BLOCKS = 200
CACHE_BLOCKS = 2000
"""What a run should have where the data allows. The property of the scale, within 10% in write and
space amplification and in reads per operation, is tested down to memtables of 16 blocks (64 KiB)
and caches of 512. Further down, each file costs a growing share of reads and writes beside its
data."""

_MULTIPLIED = ("disk_bytes", "memory_bytes")

SHORTEST_SECOND_US = 1_000
"""InnoDB's second shrinks with the data in the core, but no further."""


def batch_bytes(engine: Engine, settings: Settings) -> int:
    """Bytes that an engine writes in one batch, at any scale: those of a doublewrite batch."""
    return engines.of(engine).batch_bytes({**knobs.defaults(engine), **settings})


@dataclass(frozen=True)
class ScaledSettings:
    """Settings as the core gets them, and what could not shrink as far as it should."""

    values: Mapping[str, Setting]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Scale:
    """One factor, above 0 and at most 1 (full size)."""

    factor: float

    @classmethod
    def choose(
        cls, data_bytes: int, settings: Mapping[Engine, Settings], unit_bytes: int = 1
    ) -> Scale:
        """The factor for this much data: as small as keeps memtables and caches of these settings
        meaningful, between `SMALLEST_DATA` and `LARGEST_DATA` of scaled data. Data smaller than
        that runs at full size.

        At least one unit of the workload stays whole: half a warehouse has as many rows that
        everybody writes to as a whole one, and so needs more than half of its cache.
        """
        smallest = max(SMALLEST_DATA, unit_bytes)
        if data_bytes <= smallest:
            return cls(1.0)
        wanted = max(
            (_meaningful_factor(engine, given) for engine, given in settings.items()), default=0.0
        )
        low, high = smallest / data_bytes, min(1.0, max(smallest, LARGEST_DATA) / data_bytes)
        return cls(min(max(wanted, low), high))

    @classmethod
    def at_most(cls, largest_bytes: int, data_bytes: int) -> Scale:
        """The scale at which this much data has at most so many bytes."""
        return cls(min(1.0, largest_bytes / data_bytes))

    @property
    def spec(self) -> ScaleSpec | None:
        """What the core is told; nothing at full size."""
        return {"stands_for": 1 / self.factor} if self.factor < 1.0 else None

    def size(self, full: float) -> int:
        """A full-size number of bytes or rows at this scale, at least 1."""
        return max(1, round(full * self.factor))

    def full(self, small: float) -> float:
        """A number of bytes or rows at this scale, at full size."""
        return small / self.factor

    def settings(self, engine: Engine, settings: Settings) -> ScaledSettings:
        """Full-size settings as the core gets them."""
        values, notes = dict(settings), []
        for name, knob in knobs.catalogue(engine).items():
            if not knob.scales or name not in values:
                continue
            values[name], note = self._shrunk(knob, values[name])
            if note:
                notes.append(note)
        by_the_second = engines.of(engine).acts_by_the_second
        if by_the_second and 1e6 * self.factor < SHORTEST_SECOND_US:
            seconds = SHORTEST_SECOND_US / 1e6 / self.factor
            notes.append(f"InnoDB's second hits the floor of the scale, ran as {seconds:.3g} s")
        return ScaledSettings(values, tuple(notes))

    def holds(self, knob: Knob, full: Setting) -> bool:
        """Whether a run at this scale can tell this value from a larger one: it hits no floor."""
        return not knob.scales or self._shrunk(knob, full)[1] is None

    def floored(self, engine: Engine, settings: Settings) -> tuple[str, ...]:
        """The knobs that a run at this scale cannot shrink to what these settings say."""
        return tuple(
            name
            for name, knob in knobs.catalogue(engine).items()
            if name in settings and not self.holds(knob, settings[name])
        )

    def carry_back(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """Metrics of a scaled run as of the full size."""
        return {
            name: self.full(value) if name in _MULTIPLIED else value
            for name, value in metrics.items()
        }

    def _shrunk(self, knob: Knob, full: Setting) -> tuple[Setting, str | None]:
        assert isinstance(full, int | float) and knob.low is not None, "knobs that scale are sizes"
        # A size of 0 means "none" or "derived from another", and stays that at any scale.
        if full == 0 or self.factor == 1.0:
            return full, None
        shrunk = round(full * self.factor)
        floor = max(1, int(knob.low))
        if shrunk >= floor:
            return shrunk, None
        stands_for = knob.show(round(floor / self.factor))
        return (
            floor,
            f"{knob.name}: {knob.show(full)} hits the floor of the scale, ran as {stands_for}",
        )


def _meaningful_factor(engine: Engine, settings: Settings) -> float:
    known = engines.of(engine)
    unit = _bytes(settings, known.unit_knob)
    factors = [CACHE_BLOCKS * unit / max(1, _bytes(settings, known.cache_knob))]
    if known.memtable_knob is not None:
        factors.append(MEMTABLE_BLOCKS * unit / max(1, _bytes(settings, known.memtable_knob)))
    return max(factors)


def _bytes(settings: Settings, name: str) -> int:
    value = settings[name]
    assert isinstance(value, int), f"{name} is a size"
    return value
