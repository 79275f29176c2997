"""The user's own file with a recommendation in it: a patch as small as can be.

Comments, order, sections, families and all that no knob knows stay. A line changes only where its
value does, and what the file lacks is added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from advisor import dialects, engines, files, imports
from advisor.dialects import About, Entry, Line
from advisor.dialects.line import head
from advisor.errors import InputError
from advisor.imports.options_file import newest_options
from advisor.knobs import Setting
from advisor.patch.cnf import patched_cnf
from advisor.patch.options import patched_options

__all__ = ["fits", "patched", "settings_of"]


def fits(path: Path, dialect: str) -> bool:
    """Whether the file is one of the dialect. One that does not tell whose it is fits every
    server."""
    found = imports.read(path)
    if found.product is None:
        return dialects.file_name(dialect) == "my.cnf"
    engine = engines.of(dialects.engine_of(dialect))
    return engine.products.get(found.product) == dialects.product_of(dialect)


def settings_of(path: Path, dialect: str) -> dict[str, Setting]:
    """What the product does with the file as it is."""
    engine = dialects.engine_of(dialect)
    found = imports.read(path).settings.get(engine, {})
    return {**dialects.product_defaults(dialect), **found}


def patched(path: Path, dialect: str, lines: Sequence[Line], about: About) -> str:
    """The text of the file with these lines in it. Raises `InputError` for a file that cannot be
    read or is of another product."""
    if not fits(path, dialect):
        raise InputError(path, None, "a file of another product", f"a file for {dialect}")
    path = newest_options(path) if files.is_folder(path) else path
    has = settings_of(path, dialect)
    entries = [e for e in dialects.planned(dialect, lines) if _is_news(e, has)]
    standing = [entry for entry in entries if entry.stands]
    change = patched_options if dialects.file_name(dialect) == "OPTIONS" else patched_cnf
    text = change(path, dialect, standing, has)
    step = f"diff {path} PATH shows what changed; put it in that file's place and restart."
    opening = head(f"{path.name} with {len(standing)} settings changed", about, (step,))
    rest = [*dialects.left_out(dialect, [entry for entry in entries if not entry.stands])]
    return "\n".join([*opening, *text, *rest]) + "\n"


def _is_news(entry: Entry, has: Mapping[str, Setting]) -> bool:
    return entry.value != has[entry.knob.name]
