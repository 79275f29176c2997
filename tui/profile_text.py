"""A profile as the TOML text that `advisor.profile.load` reads back to the same profile."""

from typing import Any

import tomlkit

from advisor.profile import Profile, shipped_hardware
from advisor.sizes import format_size, parse_size


def profile_text(profile: Profile) -> str:
    """The whole file. Hardware that ships is named; any other is written out."""
    document: dict[str, Any] = {
        "text": profile.text,
        "data": _size(profile.data_bytes),
        "memory": _size(profile.memory_bytes),
        "clients": profile.clients,
        "goal": str(profile.goal),
        "engines": list(profile.engines),
    }
    if profile.direct_io is not None:
        document["direct_io"] = profile.direct_io
    workload = {"kind": profile.workload.kind, **profile.workload.parameters}
    if shipped_hardware().get(profile.hardware.name) is not None:
        document |= {"hardware": profile.hardware.name, "workload": workload}
    else:
        machine = profile.hardware.model_dump(mode="json", by_alias=True, exclude_none=True)
        document |= {"workload": workload, "hardware": machine}
    if profile.price is not None:
        document["price"] = profile.price.model_dump(exclude_defaults=True)
    return tomlkit.dumps(document)


def _size(size: int) -> str | int:
    text = format_size(size)
    return text if parse_size(text) == size else size
