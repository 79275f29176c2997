"""A profile as the TOML text that `advisor.profile.load` reads back to the same profile."""

import json
from collections.abc import Mapping

from advisor.profile import Profile, shipped_hardware
from advisor.sizes import format_size, parse_size


def profile_text(profile: Profile) -> str:
    """The whole file. Hardware that ships is named; any other is written out."""
    known = shipped_hardware().get(profile.hardware.name) is not None
    top = {
        "text": profile.text,
        "data": _size(profile.data_bytes),
        "memory": _size(profile.memory_bytes),
        "clients": profile.clients,
        "goal": str(profile.goal),
        "engines": list(profile.engines),
    }
    if known:
        top["hardware"] = profile.hardware.name
    lines = [*_lines(top), "", "[workload]"]
    lines += _lines({"kind": profile.workload.kind, **profile.workload.parameters})
    if not known:
        table = profile.hardware.model_dump(mode="json", by_alias=True, exclude_none=True)
        lines += ["", "[hardware]", *_lines(table)]
    return "\n".join(lines) + "\n"


def _lines(table: Mapping[str, object]) -> list[str]:
    return [f"{name} = {_value(value)}" for name, value in table.items()]


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(_lines(value)) + " }"
    # What JSON and TOML write alike: strings, numbers, true and false, lists of them.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _size(size: int) -> str | int:
    text = format_size(size)
    return text if parse_size(text) == size else size
