"""What an import found, and the rules by which the products settle settings that contradict."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from advisor import engines
from advisor.engines import Product
from advisor.imports.secrets import shown, shown_line
from advisor.knobs import Engine, Knob, Setting, catalogue, defaults, dialects

Weight = Literal["another engine", "left out", "no bearing", "default"]
WEIGHTS: tuple[Weight, ...] = get_args(Weight)
"""What a setting that no trial has means, the gravest first: the trials would model another engine;
it bears on the result and is left out; it has no bearing on what a study asks; it is what the
product does anyway."""


@dataclass(frozen=True)
class Ignored:
    """A setting that has no place in the result."""

    name: str
    value: str
    """As it may be shown: a secret is masked."""
    why: str
    weight: Weight = "no bearing"
    engine: Engine | None = None
    """The engine that it is about, if it is about one alone."""
    line: int | None = None

    @property
    def text(self) -> str:
        """As it stands in the file, with its line."""
        place = "" if self.line is None else f" (line {self.line})"
        return (f"{self.name}={self.value}" if self.value else self.name) + place

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", shown_line(self.name) if " " in self.name else self.name)
        object.__setattr__(self, "value", shown(self.name, self.value))


@dataclass(frozen=True)
class Imported:
    """Settings read from a product's file. What the file does not say is absent."""

    source: str
    settings: Mapping[Engine, Mapping[str, Setting]]
    """Per engine, only what the file says."""
    product: Product | None
    """Whose file it seems to be; None when nothing in it tells."""
    ignored: tuple[Ignored, ...] = ()
    notes: tuple[str, ...] = ()
    """What was assumed or adjusted."""

    def another_engine(self, engines: Collection[Engine]) -> list[Ignored]:
        """Settings by which one of these engines would be another than the one that is modelled."""
        return [
            one
            for one in self.ignored
            if one.weight == "another engine" and (one.engine is None or one.engine in engines)
        ]

    def dialect(self, engine: Engine) -> str | None:
        """The dialect that the file speaks about this engine, as far as it can be told."""
        if self.product is None:
            return None
        product = engines.of(engine).products.get(self.product)
        return next((one.name for one in dialects(engine).values() if one.product == product), None)


class Refused(Exception):
    """A value that the product takes and the engine cannot express."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


def admitted(knob: Knob, value: object) -> Setting:
    """The value in the knob's own type. Raises `Refused` for one that the engine does not have."""
    normal = knob.normal(value)
    if normal is None:
        raise Refused(f"the engine accepts {knob.accepted}")
    return normal


def settle(engine: Engine, settings: dict[str, Setting]) -> list[str]:
    """Resolves contradictions between settings as the products do; returns what was changed."""
    notes = []
    if settings.get("sync") and settings.get("disable_wal"):
        settings["sync"] = False
        notes.append("sync is taken as off: there is no log to sync with disable_wal")
    for name, knob in catalogue(engine).items():
        complete = defaults(engine) | settings
        if knob.at_least is None:
            continue
        if knob.keeps_bound(complete):
            continue
        value, bound = complete[name], complete[knob.at_least]
        # RocksDB raises the triggers of level 0 in turn; all other bounds give way downwards.
        raised = name.startswith("level0_")
        changed, to = (name, bound) if raised else (knob.at_least, value)
        settings[changed] = to
        shown = catalogue(engine)[changed].show(to)
        notes.append(f"{changed} is taken as {shown}: {name} must be at least {knob.at_least}")
    return notes
