"""What a study is asked, and whether a stored study of the same name was asked the same."""

from __future__ import annotations

import platform
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from advisor import dialects, engines, knobs
from advisor.analytic.demand import demand
from advisor.core import Core
from advisor.errors import InputError
from advisor.evaluate import fits_memory
from advisor.hardware import DiskArray
from advisor.knobs import Engine, Settings
from advisor.profile import Profile
from advisor.search.earlier import Earlier
from advisor.search.plan import Bounds
from advisor.search.squeeze import squeezed
from advisor.store import Store, StudyRecord
from advisor.trial import Clock

_BEFORE = {"rebuild": True, "cold": False, "given_by_product": {}}
"""Parts that studies of earlier versions do not state, as they were then."""


@dataclass(frozen=True)
class Question:
    """What a study is asked. None of it may differ when a study is resumed."""

    profile: Profile
    engines: tuple[Engine, ...] = ()
    """Engines to compare; empty for those of the profile."""
    current: Mapping[Engine, Settings] = field(default_factory=dict)
    """The user's settings by engine, in full-size units, as far as they are known."""
    opened: tuple[str, ...] = ()
    """Knobs that are searched although they are not by default, such as those of durability."""
    rebuild: bool = False
    """Whether the user's data may be rebuilt for what only a rebuild changes, such as the page
    size."""
    clock: Clock = "measured"
    seed: int = 1
    seconds: float | None = None
    """Length of the measured phase of a trial; derived from the bounds if absent."""
    scale: float | None = None
    """Data of the smallest trials / data of the profile; chosen by the profile if absent."""
    cold: bool = False
    """Whether the search is told nothing of earlier studies."""
    earlier: tuple[Earlier, ...] = ()
    """What it was told of them when it began, which a study keeps."""
    wanted: Engine | None = None
    """The engine whose file was asked for, which is searched and repeated however far it is behind;
    no part of what is asked."""
    dialect: str | None = None
    """The product whose file was asked for: what it does that no file of it can change is the same
    in all trials."""
    products: Mapping[Engine, str] | None = field(default=None, compare=False)
    """The dialects of the products that the engines stand for, as a stored study has them; None
    where that is still to be said."""
    source: Path | None = None
    """The file of the current settings; where it lies is no part of what is asked."""

    @property
    def direct_io(self) -> bool:
        """Whether trials open files past the page cache, whatever their settings say."""
        return self.profile.holds_page_cache_out(self.clock)

    def repeat_seed(self, repeats: int) -> int:
        """Seed of one more repetition after so many: all settings meet the same seeds in the same
        order."""
        return self.seed + 1 + repeats

    def base(self, engine: Engine) -> Settings:
        """What a recommendation is compared with: the user's settings, or the defaults of the
        engine."""
        return self.current.get(engine) or self.defaults(engine)

    def defaults(self, engine: Engine) -> Settings:
        """The engine's defaults as a baseline: those of `stock`, squeezed into the memory where
        they do not fit and anything helps; where the user's own settings do not fit, these, so
        squeezed: whoever has them would make them fit before anything else."""
        if engine not in self._baselines:
            stock = self.stock(engine)
            wanted = stock if self.is_own_in_memory(engine) else self.current[engine]
            self._baselines[engine] = squeezed(self.profile, engine, wanted) or stock
        return self._baselines[engine]

    def changes(self, engine: Engine, settings: Settings) -> int:
        """How many knobs differ from the base."""
        base = self.base(engine)
        return sum(value != base[knob] for knob, value in settings.items())

    def is_own_in_memory(self, engine: Engine) -> bool:
        """Whether the user's own settings of the engine, if there are any, fit the memory."""
        own = self.current.get(engine)
        return own is None or fits_memory(self.profile, engine, own)

    def compared(self, engine: Engine) -> Settings:
        """What gains are over: `base`, or where that does not fit the memory the nearest to it that
        does."""
        return self.base(engine) if self.is_own_in_memory(engine) else self.defaults(engine)

    @cached_property
    def _baselines(self) -> dict[Engine, Settings]:
        """What `defaults` answered: screens ask it for every trial."""
        return {}

    def is_squeezed(self, engine: Engine) -> bool:
        """Whether the engine's defaults do not fit the memory as they are."""
        return dict(self.defaults(engine)) != dict(self.stock(engine))

    def stock(self, engine: Engine) -> Settings:
        """The defaults of the product that the engine stands for, but as durable as the user's
        settings: what a search may not change is the same in all trials, so that no setting wins by
        losing commits. Nor does one win by a rebuild that nobody allowed, or by what a product does
        without being asked. Where trials pass the page cache by, only a user's file has another
        word on it, which stands.

        Where only another engine's settings are known, commits are as durable as its are; where
        nobody's are, as those of the engine that syncs them by default.
        """
        settings = knobs.defaults(engine)
        if dialect := self.dialect_of(engine):
            durability = {name: settings[name] for name in self._of_durability(engine)}
            settings = {**dialects.product_defaults(dialect), **durability}
        if self.direct_io:
            settings |= engines.of(engine).direct_io
        if own := self.current.get(engine):
            same = self.fixed(engine) | engines.of(engine).direct_io.keys()
            same |= _of_products(engine).keys() | self._of_durability(engine)
            settings |= {name: own[name] for name in own if name in same}
        else:
            for other in self.engines or self.profile.engines:
                if other != engine and (synced := self._syncs_commits(other)) is not None:
                    settings |= engines.of(engine).durability(synced)
        return settings

    @staticmethod
    def _of_durability(engine: Engine) -> frozenset[str]:
        catalogue = knobs.catalogue(engine)
        return frozenset(name for name, knob in catalogue.items() if knob.durability)

    def _given_by_product(self, engine: Engine) -> Settings:
        """What the product does of itself that the engine stands for."""
        dialect = self.dialect_of(engine)
        return {
            name: value
            for name, spellings in _of_products(engine).items()
            if (spelling := spellings.get(dialect)) is not None
            and (value := spelling.given) is not None
        }

    def dialect_of(self, engine: Engine) -> str:
        """Of the product that the engine stands for: the one whose file was asked for; where
        engines are compared over tables, the only server that has it; empty where it may be any."""
        if self.products is not None:
            return self.products.get(engine, "")
        if self.dialect and dialects.engine_of(self.dialect) == engine:
            return self.dialect
        asked = self.engines or self.profile.engines
        is_of_servers = self.profile.workload.info.has_tables and len(asked) > 1
        return engines.of(engine).dialect_of_tables if is_of_servers else ""

    def fixed(self, engine: Engine) -> frozenset[str]:
        """Knobs that stay as the user has them: only a rebuild of the data would change them, and
        nobody allowed one."""
        if self.rebuild or engine not in self.current or engines.of(engine).rewrites_data:
            return frozenset()
        catalogue = knobs.catalogue(engine)
        return frozenset(
            name
            for name, knob in catalogue.items()
            if knob.change == "rebuild" and name not in self.opened
        )

    def unsearched(self, engine: Engine) -> frozenset[str]:
        """Knobs that no trial changes, unless they are opened: those that are fixed, those of
        writes for a workload that writes nothing, and those of disks for a simulated device without
        seeks."""
        asked = demand(self.profile)
        writes = asked is None or asked.writes > 0
        seeks = self.clock != "simulated" or isinstance(self.profile.hardware.device, DiskArray)
        idle = (
            name
            for name, knob in knobs.catalogue(engine).items()
            if (knob.of_writes and not writes) or (knob.of_disks and not seeks)
        )
        return self.fixed(engine).union(name for name in idle if name not in self.opened)

    def _syncs_commits(self, engine: Engine) -> bool | None:
        """Whether the engine's commits survive a power failure, by the user's settings, or by
        default; None where the user said nothing and they do not by default."""
        syncs_commits = engines.of(engine).syncs_commits
        if engine in self.current:
            return syncs_commits(self.current[engine])
        return syncs_commits(knobs.defaults(engine)) or None

    def settled(self, bounds: Bounds, stored: StudyRecord | None) -> Question:
        """The question with nothing left open. Raises `InputError` for settings that an engine does
        not accept."""
        engines = self.engines or self.profile.engines
        newer = _newer(stored) if stored else {}
        current = {
            engine: {
                **knobs.defaults(engine),
                **_without(self._given_by_product(engine), newer.get(engine, frozenset())),
                **knobs.check(engine, given, "current settings"),
            }
            for engine, given in self.current.items()
            if engine in engines
        }
        seconds = self.seconds
        if seconds is None:
            seconds = stored.identity["seconds"] if stored else bounds.measured_seconds()
        told = _told(stored) if stored else self.earlier
        return replace(self, engines=engines, current=current, seconds=seconds, earlier=told)

    def record(self, name: str, core: Core) -> StudyRecord:
        """The settled question as it is stored."""
        return StudyRecord(
            name=name,
            workload=self.profile.workload.kind,
            goal=str(self.profile.goal),
            engines=self.engines,
            clock=self.clock,
            seed=self.seed,
            identity=self._identity()
            | {
                "source": str(self.source) if self.source else None,
                "dialect": self.dialect,
                "products": {engine: self.dialect_of(engine) for engine in self.engines},
                "earlier": [one.stored() for one in self.earlier],
            },
            core_version=core.VERSION,
            host=platform.node(),
        )

    def refuse_unless_same(self, stored: StudyRecord) -> None:
        """Raises `InputError` if the stored study of this name was asked something else."""
        newer = _newer(stored)
        for part, now in self._identity().items():
            then = stored.identity.get(part, _BEFORE.get(part))
            if part == "profile":
                then = Profile.renewed(then)
            if part == "current":
                then = {engine: {**knobs.defaults(engine), **own} for engine, own in then.items()}
            if part == "given_by_product":
                now = _without(now, frozenset().union(*newer.values()))
            if then != now:
                found, accepted = difference(then, now)
                place = f"study {stored.name}"
                raise InputError(place, part, found, f"{accepted} as stored, or a new name")

    def _identity(self) -> dict[str, Any]:
        return {
            "profile": self.profile.document(),
            "goal": str(self.profile.goal),
            "engines": list(self.engines),
            "current": {engine: dict(settings) for engine, settings in self.current.items()},
            "opened": sorted(self.opened),
            "rebuild": self.rebuild,
            "clock": self.clock,
            "seed": self.seed,
            "seconds": self.seconds,
            "scale": self.scale,
            "cold": self.cold,
            "given_by_product": {
                name: value
                for engine in self.engines
                for name, value in self._given_by_product(engine).items()
            },
            # Wall-clock numbers of two machines cannot be ranked together.
            "host": platform.node() if self.clock == "measured" else None,
        }


def _newer(stored: StudyRecord) -> dict[Engine, frozenset[str]]:
    """Knobs that came after a stored study. Its trials did with them what the defaults do, whatever
    a product does."""
    return {
        engine: frozenset(knobs.catalogue(engine).keys() - own.keys())
        for engine, own in stored.identity["current"].items()
    }


def _without(settings: Settings, names: Collection[str]) -> Settings:
    return {name: value for name, value in settings.items() if name not in names}


def _of_products(engine: Engine) -> dict[str, Mapping[str, knobs.Spelling]]:
    """Knobs with which some product does of itself what others do not, with how each product has
    them."""
    return {
        name: knob.spellings
        for name, knob in knobs.catalogue(engine).items()
        if any(spelling.given is not None for spelling in knob.spellings.values())
    }


def stored_question(name: str, store: Store) -> Question:
    """The question of a stored study. Raises `InputError` if there is none of this name."""
    record = store.study(name)
    if record is None:
        known = ", ".join(summary.name for summary in store.studies()[:5])
        raise InputError(store.path, None, f"no study {name!r}", known or "a study that is stored")
    identity = record.identity
    return Question(
        profile=Profile.model_validate(identity["profile"]),
        engines=tuple(identity["engines"]),
        current=identity["current"],
        opened=tuple(identity["opened"]),
        rebuild=identity.get("rebuild", _BEFORE["rebuild"]),
        clock=identity["clock"],
        seed=identity["seed"],
        seconds=identity["seconds"],
        scale=identity.get("scale"),
        cold=identity.get("cold", _BEFORE["cold"]),
        earlier=_told(record),
        dialect=(dialect := identity.get("dialect")),
        products=identity.get(
            "products", {dialects.engine_of(dialect): dialect} if dialect else {}
        ),
        source=Path(source) if (source := identity.get("source")) else None,
    )


def _told(stored: StudyRecord) -> tuple[Earlier, ...]:
    return tuple(Earlier.recalled(one) for one in stored.identity.get("earlier", ()))


def difference(then: object, now: object) -> tuple[str, str]:
    """The two values, narrowed to the first part in which two tables differ."""
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for key in sorted({*then, *now}):
            if then.get(key) != now.get(key):
                found, accepted = difference(then.get(key), now.get(key))
                return f"{key} = {found}", accepted
    return str(now), str(then)
