"""The products' own configuration files: a recommendation goes out in a product's names and units.

A dialect is one product at one version. Its head, names, ranges and absences come from the knob
catalogue, where one may be like another; how its file looks is in the module of the product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from advisor import knobs
from advisor.dialects import innodb, rocksdb
from advisor.dialects import line as _line
from advisor.dialects.line import About, Entry, Line, Waits, plan, unsupported
from advisor.dialects.myrocks import PLUGIN, write_myrocks
from advisor.engines import ENGINES, Engine, Product
from advisor.errors import InputError
from advisor.knobs import Dialect, Setting, Settings, catalogue

__all__ = [
    "About",
    "Entry",
    "Fresh",
    "Line",
    "applied",
    "engine_of",
    "file_name",
    "for_engine",
    "fresh",
    "left_out",
    "names",
    "planned",
    "plugin",
    "problem",
    "product_defaults",
    "product_of",
    "server_group",
    "title",
    "write",
]


@dataclass(frozen=True)
class _Writer:
    """How a product's file looks."""

    file_name: str
    write: Callable[[Dialect, Sequence[Entry], About], str]
    left_out: Callable[[Sequence[Entry]], list[str]]
    """The comments for entries that do not stand in the file."""
    waits: Waits
    server_group: str = ""
    """The group of a my.cnf that the server reads."""
    plugin: str = ""
    """The line without which a server does not know the settings."""


_WRITERS: Mapping[Product, _Writer] = {
    "rocksdb": _Writer("OPTIONS", rocksdb.write_options, rocksdb.left_out, rocksdb.waits),
    "myrocks": _Writer(
        "my.cnf", write_myrocks, rocksdb.left_out, rocksdb.waits, "mariadbd", PLUGIN
    ),
    "mariadb": _Writer(
        "my.cnf",
        innodb.write_mariadb,
        partial(innodb.left_out, group="mariadbd"),
        innodb.waits,
        "mariadbd",
    ),
    "mysql": _Writer(
        "my.cnf",
        innodb.write_mysql,
        partial(innodb.left_out, group="mysqld"),
        innodb.waits,
        "mysqld",
    ),
}


def names() -> tuple[str, ...]:
    """Every dialect."""
    return tuple(_all())


def for_engine(engine: Engine) -> tuple[str, ...]:
    """The dialects that can carry settings of the engine; the first is the usual one."""
    return tuple(knobs.dialects(engine))


def engine_of(dialect: str) -> Engine:
    """The engine whose settings the dialect carries. Raises `InputError` for an unknown dialect."""
    return _known(dialect).engine


def product_of(dialect: str) -> Product:
    """The product whose files the dialect is for."""
    return _known(dialect).product


def title(dialect: str) -> str:
    """What people call the product and its version."""
    return _known(dialect).title


def file_name(dialect: str) -> str:
    """What the product calls such a file."""
    return _writer(dialect).file_name


def server_group(dialect: str) -> str:
    """The group of a my.cnf that the server reads; empty for a product without one."""
    return _writer(dialect).server_group


def plugin(dialect: str) -> str:
    """The line of a my.cnf without which the server does not know the settings; empty if none."""
    return _writer(dialect).plugin


def product_defaults(dialect: str) -> dict[str, Setting]:
    """What the product does when its file is silent, in the engine's knobs."""
    known = catalogue(engine_of(dialect))
    own = {name: knob.spellings[dialect].default for name, knob in known.items()}
    return {name: known[name].default if one is None else one for name, one in own.items()}


def problem(dialect: str, knob: str, value: Setting) -> str | None:
    """Why the product's file cannot carry this value, or None if it can."""
    known = catalogue(_known(dialect).engine)[knob]
    return unsupported(known, known.spellings[dialect], value)


def planned(dialect: str, lines: Sequence[Line]) -> list[Entry]:
    """What becomes of each line in the product's file."""
    return plan(dialect, engine_of(dialect), lines, _writer(dialect).waits)


def applied(dialect: str, lines: Sequence[Line], base: Mapping[str, Setting]) -> dict[str, Setting]:
    """The settings of a server that had `base`, once the file is applied as it stands: without the
    lines that it cannot carry or that wait for something else."""
    return _line.applied(planned(dialect, lines), base)


def left_out(dialect: str, entries: Sequence[Entry]) -> list[str]:
    """The comments for entries that do not stand in the product's file."""
    return _writer(dialect).left_out(entries)


def write(dialect: str, lines: Sequence[Line], about: About | None = None) -> str:
    """The text of the product's file. Raises `InputError` for a knob or value of another engine.

    What the product cannot carry stands in the file as a comment that says why and what to do.
    """
    about = about or About()
    for line in lines:
        if line.evidence.startswith("measured") and about.clock == "simulated":
            raise ValueError(f"{line.knob}: a simulated trial is no evidence of {line.evidence!r}")
    return _writer(dialect).write(_known(dialect), planned(dialect, lines), about)


@dataclass(frozen=True)
class Fresh:
    """The file of a product that is made anew."""

    text: str
    settings: dict[str, Setting]
    """What the product has by it."""
    raised: tuple[str, ...]
    """Which settings are the product's least values, and not what was asked."""
    refusals: tuple[str, ...]
    """What was asked that the product has not."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Where the settings are not what was asked, and why."""
        return self.raised + self.refusals


def fresh(dialect: str, settings: Settings) -> Fresh:
    """The file with which a product starts without data: what differs from its defaults. Nothing
    waits for a rebuild; what is below the product's least value becomes that."""
    known, defaults = catalogue(engine_of(dialect)), product_defaults(dialect)
    lines, raised = [], []
    for name, asked in settings.items():
        knob, value = known[name], asked
        low = knob.spellings[dialect].low
        if low is not None and isinstance(asked, int | float) and asked < low:
            value = type(asked)(low)
            raised.append(
                f"{name} {knob.show(asked)} ran as {knob.show(value)}: the product's least"
            )
        if value != defaults[name]:
            lines.append(Line(name, value, defaults[name], evidence="rule: as this run asks"))
    entries = plan(dialect, engine_of(dialect), lines)
    refusals = tuple(f"{one.knob.name}: {one.refusal}" for one in entries if one.refusal)
    has = _line.applied(entries, {name: defaults[name] for name in settings})
    text = _writer(dialect).write(_known(dialect), entries, About())
    return Fresh(text, has, tuple(raised), refusals)


def _all() -> Mapping[str, Dialect]:
    return {name: one for engine in ENGINES for name, one in knobs.dialects(engine).items()}


def _known(dialect: str) -> Dialect:
    known = _all()
    if dialect not in known:
        raise InputError("dialect", None, repr(dialect), "one of " + ", ".join(known))
    return known[dialect]


def _writer(dialect: str) -> _Writer:
    return _WRITERS[_known(dialect).product]
