"""A RocksDB OPTIONS file with other values on some of its lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from advisor import files
from advisor.dialects.line import Entry
from advisor.dialects.rocksdb import option_value
from advisor.imports.options_file import Section, parse_options, without_comment
from advisor.knobs import Setting
from advisor.patch.edits import Edits
from advisor.patch.pairs import with_members, with_value

FAMILY = "default"
_TABLES = ("block_based_table_factory", "table_factory")


def patched_options(
    path: Path, dialect: str, entries: Sequence[Entry], has: Mapping[str, Setting]
) -> list[str]:
    """The lines of the file with these entries in the sections of the database and of the default
    family."""
    text = files.read_text(path)
    sections = parse_options(text, str(path))
    edits = Edits(text)
    # A section of table options that is missing comes after all of its family.
    for entry in sorted(entries, key=lambda entry: entry.spelling.place == "TableOptions"):
        if inline := _inline(sections, entry):
            number = inline[0]
            pairs = {entry.spelling.name: option_value(entry.value)}
            _change(edits, number, with_members(_value(edits.current(number)), pairs), entry)
            continue
        section = _section(sections, entry.spelling.place)
        if section is None:
            section = _new_section(sections, entry.spelling.place, edits)
        _write(section, entry, edits)
    return edits.result()


def _inline(sections: Sequence[Section], entry: Entry) -> tuple[int, str] | None:
    """The line of the family that holds its table options in braces, unless they have a section."""
    family, table = _section(sections, "CFOptions"), _section(sections, "TableOptions")
    if entry.spelling.place != "TableOptions" or family is None or table is not None:
        return None
    held = (family.values[name] for name in _TABLES if name in family.values)
    return next((place for place in held if "=" in place[1]), None)


def _write(section: Section, entry: Entry, edits: Edits) -> None:
    name, _, member = entry.spelling.name.partition(".")
    value = option_value(entry.value)
    if place := section.values.get(name):
        old = _value(edits.current(place[0]))
        new = with_members(old, {member: value}) if member else with_value(old, name, value)
        _change(edits, place[0], new, entry)
        return
    new = with_members("", {member: value}) if member else value
    last = max([section.line, *(number for number, _ in section.values.values())])
    edits.add(last, [f"  # {entry.comment}", f"  {name}={new}"])


def _change(edits: Edits, number: int, value: str, entry: Entry) -> None:
    line = edits.current(number)
    body = without_comment(line)
    before, equals, old = body.partition("=")
    padded = old[: len(old) - len(old.lstrip())]
    trail = body[len(body.rstrip()) :] + line[len(body) :]
    indent = line[: len(line) - len(line.lstrip())]
    comments = [*edits.comments(number), f"{indent}# {entry.comment}"]
    edits.replace(number, [*comments, f"{before}{equals}{padded}{value}{trail}"])


def _value(line: str) -> str:
    return without_comment(line).partition("=")[2].strip()


def _section(sections: Sequence[Section], kind: str) -> Section | None:
    wanted = [one for one in sections if one.kind == kind]
    if kind != "DBOptions":
        wanted = [one for one in wanted if one.argument == FAMILY]
    return wanted[-1] if wanted else None


def _new_section(sections: list[Section], kind: str, edits: Edits) -> Section:
    """Table options after their family; the other sections are in every file."""
    family = _section(sections, "CFOptions")
    assert family is not None and kind == "TableOptions", "a file without it is refused"
    last = max([family.line, *(number for number, _ in family.values.values())])
    edits.add(last, ["", f'[TableOptions/BlockBasedTable "{FAMILY}"]'])
    section = Section(kind, "BlockBasedTable", FAMILY, last)
    sections.append(section)
    return section
