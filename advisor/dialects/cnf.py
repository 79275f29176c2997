"""What all my.cnf files share: values, groups of settings by when they take effect, quoting."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from advisor.dialects.line import Entry
from advisor.knobs import Change, Knob, Setting
from advisor.sizes import exact_suffix

CHANGES: dict[Change, str] = {
    "dynamic": "a running server takes these with SET GLOBAL (plain numbers, no suffix)",
    "restart": "these need a restart of the server",
    "rebuild": "these need the data to be written anew",
}


def variable_value(knob: Knob, value: Setting) -> str:
    """A value as an option file of the server takes it: a suffix only where it is exact."""
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    if knob.type == "size" and isinstance(value, int):
        return exact_suffix(value)
    return repr(value) if isinstance(value, float) else str(value)


def quoted(text: str) -> str:
    """A value in double quotes, with the escapes that option files know."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def variable(entry: Entry) -> list[str]:
    """A comment and the setting."""
    value = variable_value(entry.knob, entry.value)
    return [f"# {entry.comment}", f"{entry.spelling.name}={value}"]


def heading(change: Change) -> list[str]:
    """What opens a group of settings."""
    return ["", f"# --- {change}: {CHANGES[change]}"]


def waiting(entries: Sequence[Entry], more: Callable[[Entry], list[str]]) -> list[str]:
    """The group of lines that are comments until something else is done, each with what; `more` are
    settings that go with one."""
    lines = []
    for entry in entries:
        if entry.waits:
            comment, setting = variable(entry)
            lines += [comment, f"# waits: {entry.waits}"]
            lines += [f"#{line}" for line in (setting, *more(entry))]
    opening = "# --- waits: without effect, and no part of what the file does, until it is done"
    return ["", opening, *lines] if lines else []


def refusals(
    entries: Sequence[Entry], instead: Callable[[Entry], list[str]] = lambda entry: []
) -> list[str]:
    """The group of what is not written, each with the comment lines that stand in for it."""
    lines = []
    for entry in entries:
        if entry.refusal:
            lines += [f"# {entry.refused}", *instead(entry)]
    return ["", *lines] if lines else []
