"""What the library asks of an engine beyond its table of options.

One `EngineDescription` per engine answers all of it; everything else in the library works for any
engine. Settings are complete and at full size wherever a description is given some.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from advisor.options import Settings

Engine = Literal["lsm", "btree"]
Product = Literal["rocksdb", "myrocks", "mariadb", "mysql"]


class Part(NamedTuple):
    """Memory that one thing takes."""

    name: str
    knobs: tuple[str, ...]
    """What decides it; empty where it is the machine's or the workload's."""
    bytes: int


@dataclass(frozen=True)
class Load:
    """What the memory of an engine depends on besides its settings."""

    clients: int
    data_bytes: int
    """Uncompressed."""
    keys: int
    has_tables: bool
    """Whether it is spoken in SQL, to a server."""


@dataclass(frozen=True)
class Unexercised:
    """A size that no trial exercises: it follows the memory, and the cache makes room for it."""

    knob: str
    share: int
    """One part in so many of the memory, in whole MiB."""
    smallest: int
    largest: int
    reason: str
    room_reason: str
    """Why the cache is smaller than in the trials."""


@dataclass(frozen=True)
class EngineDescription:
    """One engine."""

    name: Engine
    cache_knob: str
    """The size of the cache that memory is given to first."""
    cache_overhead: float
    """Memory per byte of that cache."""
    unit_knob: str
    """The size of what is read and cached at once, a block or a page."""
    memtable_knob: str | None
    """The size of the buffer of writes that is flushed whole, if the engine has one."""
    shrinkable: tuple[str, ...]
    """Sizes that may give way where memory is short, the one that costs least first."""
    memory_parts: Callable[[Settings, Load], list[Part]]
    """Memory by what needs it, the cache first; the reserve is not among it."""
    batch_bytes: Callable[[Settings], int]
    """Bytes that are written in one batch at any scale; 0 if batches shrink with the data."""
    cycle_bytes: Callable[[Settings], int]
    """Bytes of rows that are written between two pieces of background work that are as large as
    pieces come; 0 if it goes on all the time."""
    syncs_commits: Callable[[Settings], bool]
    """Whether a commit that was acknowledged survives a power failure."""
    durability: Callable[[bool], dict[str, bool | int]]
    """The settings by which it does, or does not."""
    direct_io: Settings
    """What keeps the operating system's page cache out; empty where files pass it by anyway."""
    products: Mapping[Product, Product]
    """By whose file it is: the product whose dialect speaks of this engine there."""
    dialect_of_tables: str
    """Of the only server with tables that has the engine; empty where several have it."""
    variable_prefix: str
    """What the engine's variables begin with in a my.cnf."""
    traceless: frozenset[str]
    """Knobs that leave no trace in the files and on the device once data is loaded and has settled,
    beyond what another order of the same background work would leave."""
    rewrites_data: bool = False
    """Whether background work rewrites all data in time, so that a new form of it, such as another
    block size, needs no rebuild by the user."""
    acts_by_the_second: bool = False
    """Whether background work goes by the second, which then shrinks with the data."""
    of_the_cache: tuple[str, ...] = ()
    """Counts of what is in the cache and times that it stays there. A smaller copy of the core's
    engine shrinks them by itself; a product on a smaller copy has to be told."""
    unexercised: Unexercised | None = None
