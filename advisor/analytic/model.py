"""The closed forms of one engine on one profile: settings in, metrics out, a hundred thousand in a
second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import numpy as np

from advisor import engines
from advisor.analytic import btree, lsm, machine
from advisor.analytic.columns import Columns, Numbers
from advisor.analytic.demand import Demand, demand
from advisor.knobs import Engine, Setting, Settings, defaults
from advisor.memory import RESERVE_SHARE, accepted_parts
from advisor.price import METRIC as COST
from advisor.profile import Profile

SHAPES = 4_000
"""Different demands of memory among random settings, without the cache."""
_FORMS: Mapping[Engine, ModuleType] = {engines.lsm.NAME: lsm, engines.btree.NAME: btree}


@dataclass(frozen=True)
class Model:
    """What settings of an engine would do, by formulas alone."""

    profile: Profile
    engine: Engine
    demand: Demand
    prices: Mapping[str, float]
    direct_io: bool = False
    """Whether files pass the page cache by, whatever the settings say."""

    @classmethod
    def of(cls, profile: Profile, engine: Engine, *, direct_io: bool = False) -> Model | None:
        """None where no formula knows the workload or the engine."""
        asked = demand(profile)
        if asked is None or engine not in _FORMS:
            return None
        form = _FORMS[engine]
        product = form.SERVED if asked.has_tables else form.ALONE
        prices = machine.prices(profile.hardware, product)
        return cls(profile, engine, asked, prices, direct_io)

    @property
    def knows(self) -> tuple[str, ...]:
        """The knobs that the formulas look at."""
        return tuple(_FORMS[self.engine].KNOWS)

    def needed_bytes(self, settings: Columns) -> Numbers:
        """Memory that each of the settings needs. It is asked for once for all that differ only in
        what it does not depend on, or in the cache, with which it grows in proportion."""
        known = engines.of(self.engine)
        shapes, which = settings.different(self._shaping)
        bare = ({**shapes.settings(i), known.cache_knob: 0} for i in range(shapes.count))
        load = self.profile.memory_load
        others = [
            sum(part.bytes for part in accepted_parts(self.engine, one, load)) for one in bare
        ]
        cache = settings.number(known.cache_knob) * known.cache_overhead
        return np.array(others, dtype=np.float64)[which] + cache * (1.0 + RESERVE_SHARE)

    def draw(
        self, base: Settings, values: Mapping[str, Sequence[Setting]], count: int, seed: int
    ) -> Columns:
        """Random settings of the knobs that the formulas look at, each once; others are those of
        the base. Many of them are alike in what their memory depends on besides the cache, so that
        it need not be asked for all."""
        random = np.random.default_rng(seed)
        known = {name: list(values[name]) for name in self.knows if name in values}
        shape = random.integers(SHAPES, size=count)
        places = {}
        for name, own in known.items():
            if name in self._shaping:
                places[name] = random.integers(len(own), size=SHAPES)[shape]
            else:
                places[name] = random.integers(len(own), size=count)
        drawn = Columns(base, known, places, count)
        return drawn.different(set(known))[0]

    @cached_property
    def _shaping(self) -> frozenset[str]:
        """The knobs that the memory depends on, without the cache."""
        known, read = engines.of(self.engine), _Read(defaults(self.engine))
        known.memory_parts(read, self.profile.memory_load)
        return frozenset(read.names - {known.cache_knob})

    def predict(self, settings: Columns, needed: Numbers) -> dict[str, Numbers]:
        """Metrics by their names in a report; settings need so much memory."""
        free = np.maximum(0.0, self.profile.memory_bytes - needed)
        if self.direct_io:
            free = np.zeros_like(free)
        form, clients = _FORMS[self.engine], self.profile.clients
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            needs = form.resources(settings, self.demand, self.prices, free, clients)
            found = machine.predicted(needs, self.profile.hardware, clients)
        return found | self._cost(found)

    def _cost(self, found: Mapping[str, Numbers]) -> dict[str, Numbers]:
        """By the profile's prices."""
        profile = self.profile
        if profile.price is None:
            return {}
        seen = {**found, "disk_bytes": found["space_amp"] * profile.data_bytes}
        cost = profile.price.cost(seen, profile.memory_bytes)
        return {} if cost is None else {COST: cost}


class _Read(dict[str, Setting]):
    """Settings that remember which of them were asked for."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> Setting:
        self.names.add(name)
        return super().__getitem__(name)
