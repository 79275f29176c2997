"""Reads RocksDB's OPTIONS file: sections, escapes, versions, and the settings of one family."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from advisor import files
from advisor.engines import Product, lsm
from advisor.errors import InputError
from advisor.imports.imported import Ignored, Imported, Refused, settle
from advisor.imports.product_options import UNKNOWN, Judgement, judge, version_of
from advisor.imports.rocksdb_text import (
    ASSUMED_BLOOM,
    check_braces,
    family_settings,
    knob_texts,
    option,
)
from advisor.imports.secrets import quoted, shown_line
from advisor.knobs import Setting, catalogue

MAX_LINES = 100_000
"""And as many settings, of which a line may hold several."""
MAX_LINE_LETTERS = 65536
MAX_SECTIONS = 4096

_SECTION = re.compile(r'\[\s*([A-Za-z]+)(?:/([A-Za-z0-9_.]+))?(?:\s+"(.*)")?\s*\]')
_OPTIONS_NAME = re.compile(r"OPTIONS-([0-9]+)")
_ESCAPES = {"n": "\n", "r": "\r", "\\": "\\", ":": ":", "#": "#"}
_MYROCKS_COMPARATOR = "RocksDB_SE_v3.10"
_TABLES = "BlockBasedTable"
_MYROCKS_OWN_FAMILY = "__system__"
_KINDS = ("Version", "DBOptions", "CFOptions", "TableOptions")


@dataclass
class Section:
    """One section: its kind, what follows the slash, its argument, and its statements by name."""

    kind: str
    factory: str
    argument: str
    line: int
    values: dict[str, tuple[int, str]] = field(default_factory=dict)


def newest_options(directory: Path) -> Path:
    """The OPTIONS file with the highest number in a database directory. Raises `InputError`."""
    found = [(_OPTIONS_NAME.fullmatch(path.name), path) for path in files.members(directory)]
    numbered = [(int(name[1]), path) for name, path in found if name]
    if not numbered:
        raise InputError(directory, None, "no OPTIONS file", "a RocksDB database directory")
    return max(numbered)[1]


def read_options(path: str | Path, *, family: str = "default") -> Imported:
    """The settings of one column family, with those of the database. Raises `InputError`."""
    path = Path(path)
    sections = parse_options(files.read_text(path), str(path))
    version = _version(sections, str(path))
    families = {one.argument: one for one in sections if one.kind == "CFOptions"}
    if family not in families:
        raise InputError(path, None, f"no family {family!r}", "one of " + ", ".join(families))
    comparator = families[family].values.get("comparator", (0, ""))[1]
    product: Product = "myrocks" if _MYROCKS_COMPARATOR in comparator else "rocksdb"
    found = _Found(str(path), version, product)
    for section in sections:
        if section.kind == "DBOptions" or section.argument == family != "":
            found.take(section)
        elif section.kind == "CFOptions":
            found.pass_over(section, family)
    return found.result()


def parse_options(text: str, source: str) -> list[Section]:
    """The sections of an OPTIONS file, their order checked. Raises `InputError`."""
    sections: list[Section] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        if number > MAX_LINES or len(raw) > MAX_LINE_LETTERS:
            found = f"a line of {len(raw)} letters, the {number}th"
            accepted = f"at most {MAX_LINES} lines of {MAX_LINE_LETTERS} letters"
            raise InputError(source, number, found, accepted)
        line = without_comment(raw).strip()
        if not line:
            continue
        if line.startswith("["):
            sections.append(_section(line, source, number, sections))
            if len(sections) > MAX_SECTIONS:
                found = f"more than {MAX_SECTIONS} sections"
                raise InputError(source, number, found, "a file of fewer column families")
            continue
        name, equals, value = line.partition("=")
        name, value = name.strip(), _unescaped(value.strip())
        if not sections:
            raise InputError(source, number, quoted(line), "a section such as [Version] first")
        if not equals or not name:
            raise InputError(source, number, quoted(line), "name=value")
        if name in sections[-1].values:
            raise InputError(
                source, number, f"{shown_line(name)} a second time", "each name once a section"
            )
        sections[-1].values[name] = (number, value)
    for kind in ("Version", "DBOptions", "CFOptions"):
        if not any(section.kind == kind for section in sections):
            raise InputError(source, None, f"no [{kind}] section", "a complete OPTIONS file")
    return sections


def _section(line: str, source: str, number: int, before: list[Section]) -> Section:
    match = _SECTION.fullmatch(line)
    if match is None or match[1] not in _KINDS:
        raise InputError(
            source, number, quoted(line), '[Version], [DBOptions] or [CFOptions "NAME"]'
        )
    section = Section(match[1], match[2] or "", _unescaped(match[3] or ""), number)
    families = [one for one in before if one.kind == "CFOptions"]
    problem = ""
    if section.kind in ("Version", "DBOptions"):
        if any(one.kind == section.kind for one in before):
            problem = "one such section"
    elif not section.argument:
        problem = f'[{section.kind} "NAME"]'
    elif section.kind == "CFOptions":
        if not families and section.argument != "default":
            problem = 'the family "default" first'
        elif any(one.argument == section.argument for one in families):
            problem = "one section for each family"
    elif not families or families[-1].argument != section.argument:
        problem = "table options right after their own family"
    if problem:
        raise InputError(source, number, shown_line(line), problem)
    return section


def _version(sections: list[Section], source: str) -> str:
    section = next(one for one in sections if one.kind == "Version")
    for name, pattern, accepted in (
        ("rocksdb_version", r"\d+\.\d+\.\d+", "three numbers such as 10.4.2"),
        ("options_file_version", r"1\.\d+", "1.x: no other format is known"),
    ):
        if name not in section.values:
            raise InputError(source, section.line, f"no {name} in [Version]", accepted)
        line, value = section.values[name]
        if not re.fullmatch(pattern, value):
            raise InputError(source, line, shown_line(f"{name}={value}"), accepted)
    return section.values["rocksdb_version"][1]


class _Found:
    """The settings of a file as they come in; a later one wins."""

    def __init__(self, source: str, version: str, product: Product) -> None:
        self.source = source
        self.version = version
        self.product: Product = product
        self.settings: dict[str, Setting] = {}
        self.ignored: list[Ignored] = []
        self.notes: list[str] = []
        self.taken = 0

    def take(self, section: Section) -> None:
        if section.kind == "TableOptions" and section.factory != _TABLES:
            name = f'[TableOptions/{section.factory} "{section.argument}"]'
            why = "the model's files are block-based tables"
            self._ignore(name, "", section.line, Judgement("another engine", why))
            return
        for name, (line, value) in section.values.items():
            try:
                self._take(name, value, line)
            except ValueError as error:
                found = shown_line(f"{name}={value}")
                raise InputError(self.source, line, found, str(error)) from error

    def pass_over(self, section: Section, family: str) -> None:
        """Notes a family whose settings are not taken."""
        own = section.argument == _MYROCKS_OWN_FAMILY
        why = f"settings are taken from the family {family}"
        judgement = Judgement("no bearing" if own else "left out", why)
        self._ignore(f'[CFOptions "{section.argument}"]', "", section.line, judgement)

    def _take(self, name: str, value: str, line: int) -> None:
        self.taken += 1
        if self.taken > MAX_LINES:
            raise ValueError(f"at most {MAX_LINES} settings")
        if name in ("block_based_table_factory", "table_factory") and "=" in value:
            for inner, text in family_settings(f"{name}={value}"):
                self._take(inner, text, line)
            return
        check_braces(value)
        for knob, text in knob_texts(name, value):
            if knob in catalogue(lsm.NAME):
                self._knob(knob, text, line)
            else:
                judgement = self._judge(knob, text) or Judgement("left out", UNKNOWN)
                self._ignore(knob, text, line, judgement)

    def _knob(self, name: str, value: str, line: int) -> None:
        try:
            self.settings[name] = option(name, value)
        except Refused as refused:
            known = self._judge(name, value)
            judgement = Judgement(known.weight if known else "left out", refused.why)
            self._ignore(name, value, line, judgement)
            return
        if name == "filter_policy" and value.startswith("rocksdb."):
            self.notes.append(f"filter_policy is taken as {ASSUMED_BLOOM}: {value} hides its bits")

    def _judge(self, name: str, value: str) -> Judgement | None:
        version, myrocks = version_of(self.version), self.product == "myrocks"
        return judge("rocksdb", name, value, version=version, myrocks=myrocks)

    def _ignore(self, name: str, value: str, line: int | None, judgement: Judgement) -> None:
        ignored = Ignored(name, value, judgement.why, judgement.weight, lsm.NAME, line)
        self.ignored.append(ignored)

    def result(self) -> Imported:
        if self.product == "myrocks" and self.settings.pop("disable_auto_compactions", False):
            why = "MyRocks writes this at start-up and switches compaction on right after"
            self._ignore("disable_auto_compactions", "true", None, Judgement("default", why))
        if "block_cache" not in self.settings:
            why = "RocksDB writes no block cache into an OPTIONS file: its size is unknown"
            self.notes.append(why)
        self.notes.append(f"written for RocksDB {self.version}")
        self.notes += settle(lsm.NAME, self.settings)
        return Imported(
            source=self.source,
            settings={lsm.NAME: self.settings},
            product=self.product,
            ignored=tuple(self.ignored),
            notes=tuple(self.notes),
        )


def without_comment(line: str) -> str:
    """The line up to its comment."""
    escaped = False
    for place, letter in enumerate(line):
        if letter == "#" and not escaped:
            return line[:place]
        escaped = letter == "\\" and not escaped
    return line


def _unescaped(text: str) -> str:
    return re.sub(r"\\([nr\\:#])", lambda match: _ESCAPES[match[1]], text)
