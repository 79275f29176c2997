"""Numbers in settings, and round ones near a size."""

from __future__ import annotations

from advisor.options import Settings

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def number(settings: Settings, name: str) -> float:
    """A setting that is a number."""
    value = settings[name]
    assert isinstance(value, int | float), f"{name} is a number in the catalogue"
    return value


def power_of_two(size: int, low: int, high: int) -> int:
    """The largest power of two that is no larger than the size, within the bounds."""
    return min(max(1 << (max(size, 1).bit_length() - 1), low), high)
