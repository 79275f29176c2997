"""Numbers in settings."""

from __future__ import annotations

from advisor.options import Settings

MIB = 1 << 20


def number(settings: Settings, name: str) -> float:
    """A setting that is a number."""
    value = settings[name]
    assert isinstance(value, int | float), f"{name} is a number in the catalogue"
    return value
