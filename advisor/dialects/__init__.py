"""The products' own configuration files: a recommendation goes out in a product's names and units.

A dialect is one product at one version. Its names, ranges and absences come from the knob
catalogue; how its file looks is in the module of the product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from advisor.dialects import innodb, rocksdb
from advisor.dialects import line as _line
from advisor.dialects.line import About, Entry, Line, Waits, nothing_waits, plan, unsupported
from advisor.dialects.myrocks import write_myrocks
from advisor.errors import InputError
from advisor.knobs import Engine, Setting, catalogue

__all__ = [
    "About",
    "Entry",
    "Line",
    "applied",
    "engine_of",
    "file_name",
    "for_engine",
    "left_out",
    "names",
    "planned",
    "problem",
    "product_defaults",
    "write",
]


@dataclass(frozen=True)
class _Dialect:
    engine: Engine
    file_name: str
    write: Callable[[str, Sequence[Entry], About], str]
    left_out: Callable[[Sequence[Entry]], list[str]]
    """The comments for entries that do not stand in the file."""
    waits: Waits = nothing_waits


_DIALECTS: Mapping[str, _Dialect] = {
    "rocksdb-10.4": _Dialect(
        "lsm", "OPTIONS", rocksdb.write_options, rocksdb.left_out, rocksdb.waits
    ),
    "myrocks-mariadb-10.11": _Dialect(
        "lsm", "my.cnf", write_myrocks, rocksdb.left_out, rocksdb.waits
    ),
    "mariadb-10.11": _Dialect(
        "btree",
        "my.cnf",
        innodb.write_mariadb,
        partial(innodb.left_out, group="mariadbd"),
        innodb.waits,
    ),
    "mysql-8.4": _Dialect(
        "btree",
        "my.cnf",
        innodb.write_mysql,
        partial(innodb.left_out, group="mysqld"),
        innodb.waits,
    ),
}


def names() -> tuple[str, ...]:
    """Every dialect."""
    return tuple(_DIALECTS)


def for_engine(engine: Engine) -> tuple[str, ...]:
    """The dialects that can carry settings of the engine; the first is the usual one."""
    return tuple(name for name, known in _DIALECTS.items() if known.engine == engine)


def engine_of(dialect: str) -> Engine:
    """The engine whose settings the dialect carries. Raises `InputError` for an unknown dialect."""
    return _known(dialect).engine


def file_name(dialect: str) -> str:
    """What the product calls such a file."""
    return _known(dialect).file_name


def product_defaults(dialect: str) -> dict[str, Setting]:
    """What the product does when its file is silent, in the engine's knobs."""
    knobs = catalogue(_known(dialect).engine)
    own = {name: knob.spellings[dialect].default for name, knob in knobs.items()}
    return {name: knobs[name].default if one is None else one for name, one in own.items()}


def problem(dialect: str, knob: str, value: Setting) -> str | None:
    """Why the product's file cannot carry this value, or None if it can."""
    known = catalogue(_known(dialect).engine)[knob]
    return unsupported(known, known.spellings[dialect], value)


def planned(dialect: str, lines: Sequence[Line]) -> list[Entry]:
    """What becomes of each line in the product's file."""
    known = _known(dialect)
    return plan(dialect, known.engine, lines, known.waits)


def applied(dialect: str, lines: Sequence[Line], base: Mapping[str, Setting]) -> dict[str, Setting]:
    """The settings of a server that had `base`, once the file is applied as it stands: without the
    lines that it cannot carry or that wait for something else."""
    return _line.applied(planned(dialect, lines), base)


def left_out(dialect: str, entries: Sequence[Entry]) -> list[str]:
    """The comments for entries that do not stand in the product's file."""
    return _known(dialect).left_out(entries)


def write(dialect: str, lines: Sequence[Line], about: About | None = None) -> str:
    """The text of the product's file. Raises `InputError` for a knob or value of another engine.

    What the product cannot carry stands in the file as a comment that says why and what to do.
    """
    known = _known(dialect)
    about = about or About()
    for line in lines:
        if line.evidence.startswith("measured") and about.clock == "simulated":
            raise ValueError(f"{line.knob}: a simulated trial is no evidence of {line.evidence!r}")
    return known.write(dialect, planned(dialect, lines), about)


def _known(dialect: str) -> _Dialect:
    if dialect not in _DIALECTS:
        raise InputError("dialect", None, repr(dialect), "one of " + ", ".join(_DIALECTS))
    return _DIALECTS[dialect]
