"""One line of a recommendation, and the plan for writing it: whether a product's file can carry it,
with which value, and what its comment says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from advisor.errors import InputError
from advisor.knobs import Change, Engine, Knob, Setting, Spelling, catalogue, check
from advisor.trial import Clock

_EVIDENCE = re.compile(r"(measured|simulated): \S.*|rule(: \S.*)?")


@dataclass(frozen=True)
class Line:
    """A recommended value, and why.

    `default` is the product's own. `evidence` is `measured: +12% ops_per_s`, `simulated: +12%
    ops_per_s`, or `rule` (with or without a reason) for what no trial exercised.
    """

    knob: str
    value: Setting
    default: Setting
    current: Setting | None = None
    evidence: str = "rule"
    change: Change | None = None
    """When the value takes effect; None: as the dialect says."""
    waits: str = ""
    """What has to be done before it is of any use, besides what the product needs."""

    def __post_init__(self) -> None:
        if not _EVIDENCE.fullmatch(self.evidence):
            raise ValueError(f"evidence {self.evidence!r} is neither measured, simulated nor rule")


@dataclass(frozen=True)
class About:
    """What the head of a file says."""

    profile: str = ""
    clock: Clock | None = None
    """The clock of the trials behind the lines; None if there were none."""
    gain: tuple[str, ...] = ()
    """What the file does as it stands, what more it does with all that waits, and what the product
    itself did with the settings."""


@dataclass(frozen=True)
class Entry:
    """A line as the product's file takes it."""

    line: Line
    knob: Knob
    spelling: Spelling
    value: Setting
    """The value that the product would use, rounded to its granularity."""
    change: Change
    refusal: str = ""
    """Why the value is not written; empty when it is."""
    waits: str = ""
    """What has to be done before the line does what it says; until then it is a comment."""

    @property
    def stands(self) -> bool:
        """Whether the line counts in the file as it is."""
        return not (self.refusal or self.waits)

    @property
    def is_change(self) -> bool:
        """Whether the value is another than what the user has."""
        return self.line.value != self.current

    @property
    def current(self) -> Setting:
        """What the user has, the engine's default if nobody said."""
        return self.knob.default if self.line.current is None else self.line.current

    @property
    def comment(self) -> str:
        """What the line buys, or that no trial says so; then the default and the current value."""
        show = self.knob.show
        default = self.spelling.default_text or show(self.line.default)
        parts = [self.line.evidence, f"default {default}"]
        if self.line.current is not None and self.line.current != self.line.value:
            parts.append(f"was {show(self.line.current)}")
        if self.value != self.line.value:
            parts.append(f"rounded down from {self.line.value} to what the product can hold")
        if self.spelling.since:
            parts.append(f"since {self.spelling.since}")
        if self.spelling.remark:
            parts.append(self.spelling.remark)
        return one_line("; ".join(parts))

    @property
    def refused(self) -> str:
        """The comment that stands for a line that is not written."""
        knob, shown = self.line.knob, self.knob.show(self.line.value)
        return one_line(f"not written: {knob} = {shown} ({self.comment}): {self.refusal}")


Waits = Callable[[Entry], str]
"""What a product needs before a line does what it says; empty if nothing."""


def nothing_waits(entry: Entry) -> str:
    """For products whose every line takes effect by itself."""
    return ""


def plan(
    dialect: str, engine: Engine, lines: Sequence[Line], waits: Waits = nothing_waits
) -> list[Entry]:
    """The lines in the order of the catalogue, each with what becomes of it."""
    values: dict[str, Setting] = {}
    for line in lines:
        if line.knob in values:
            raise InputError(dialect, line.knob, "a second line", "one line per knob")
        values[line.knob] = line.value
    checked = check(engine, values, source=dialect)
    by_knob = {line.knob: line for line in lines}
    entries = [
        _entry(dialect, knob, replace(by_knob[name], value=checked[name]))
        for name, knob in catalogue(engine).items()
        if name in by_knob
    ]
    return [
        replace(entry, waits=waits(entry) or entry.line.waits)
        if not entry.refusal and entry.is_change
        else entry
        for entry in entries
    ]


def applied(entries: Sequence[Entry], base: Mapping[str, Setting]) -> dict[str, Setting]:
    """What a server that had `base` has with the lines that stand."""
    return {**base, **{entry.knob.name: entry.value for entry in entries if entry.stands}}


def unsupported(knob: Knob, spelling: Spelling, value: Setting) -> str | None:
    """Why the product cannot carry the value, or None if it can."""
    low = knob.low if spelling.low is None else spelling.low
    high = knob.high if spelling.high is None else spelling.high
    allowed = replace(knob, low=low, high=high, choices=spelling.choices or knob.choices)
    if allowed.normal(value) is None:
        return f"the product accepts {allowed.accepted}"
    return spelling.absent or None


def one_line(text: str) -> str:
    """A text that cannot leave its comment."""
    return " ".join(text.split())


def head(title: str, about: About, apply: Sequence[str]) -> list[str]:
    """The comment that every file starts with."""
    clocks = {
        "measured": "trials measured with a wall clock on a real disk",
        "real": "trials on the real engine",
        "simulated": "trials simulated with a virtual clock: nothing was measured on a device",
        None: "no trials: every line is a rule",
    }
    lines = [title + ", recommended by tunebench"]
    if about.profile:
        lines.append(f"Profile: {about.profile}")
    lines.append(f"Evidence: {clocks[about.clock]}")
    lines += about.gain
    lines.append("A comment before a line says what the line buys. `rule`: no trial exercised it.")
    lines.append("How to apply:")
    lines += [f"  {step}" for step in apply]
    return [f"# {one_line(line) if line[0] != ' ' else line}" for line in lines]


def _entry(dialect: str, knob: Knob, line: Line) -> Entry:
    spelling = knob.spellings[dialect]
    value = line.value
    if spelling.multiple > 1 and isinstance(value, int):
        value = value // spelling.multiple * spelling.multiple
    refusal = unsupported(knob, spelling, value) or ""
    if not refusal and knob.durability and not _opened(line):
        refusal = "it decides what a crash may lose, and was not opened: left to the server"
    change = line.change or spelling.change or knob.change
    return Entry(line, knob, spelling, value, change, refusal)


def _opened(line: Line) -> bool:
    """Whether someone decided on this value: a trial, or a rule that gives its reason."""
    if line.evidence.startswith("rule"):
        changed = line.value != (line.default if line.current is None else line.current)
        return changed and line.evidence != "rule"
    return True
