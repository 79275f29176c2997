"""Sizes as people write them.

`K`, `M`, `G`, `T`, with or without `iB`, are powers of 1024, as in my.cnf and OPTIONS files. `kB`,
`MB`, `GB`, `TB` are powers of 1000.
"""

from __future__ import annotations

import re
from decimal import Decimal

UNITS = ("", "K", "M", "G", "T", "P")
ACCEPTED = "a size such as 4096, 64KiB, 16M or 1.5GiB (MB and GB are powers of 1000)"

_SIZE = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*([KMGTP]?)(I?B)?", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Bytes. Raises `ValueError` for what is not a size."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not {ACCEPTED}")
    number, unit, suffix = match.groups()
    if not unit and suffix and suffix.upper() == "IB":
        raise ValueError(f"{text!r} is not {ACCEPTED}")
    base = 1000 if unit and suffix and suffix.upper() == "B" else 1024
    size = Decimal(number) * base ** UNITS.index(unit.upper())
    if not unit and size != int(size):
        raise ValueError(f"{text!r} is not a whole number of bytes")
    return int(size.to_integral_value())


def format_size(size: int) -> str:
    """A size to read, such as `16MiB`, `1.5GiB` or `970B`; rounded to three digits where it is not
    round.
    """
    if size < 1024:
        return f"{size}B"
    power = min((size.bit_length() - 1) // 10, len(UNITS) - 1)
    number = size / 1024**power
    return f"{round(number) if number >= 100 else float(f'{number:.3g}'):g}{UNITS[power]}iB"


def size_to_type(size: int) -> str:
    """The whole number of MiB or GiB that holds a size, exact when it is read back, such as
    `5679MiB`."""
    mib = -(-size // (1 << 20))
    return f"{mib // 1024}GiB" if mib % 1024 == 0 and mib else f"{mib}MiB"


def format_factor(factor: float) -> str:
    """How large a scaled run is, such as `1/32,000` or `1/1.33`."""
    times = 1 / factor
    return f"1/{times:,.0f}" if times >= 10 else f"1/{times:.3g}"


def exact_suffix(size: int, units: str = "KMG") -> str:
    """The shortest form that means exactly this many bytes, in the products' own suffixes: `16M`,
    `1000`.
    """
    for unit in reversed(units):
        factor = 1024 ** UNITS.index(unit)
        if size and size % factor == 0:
            return f"{size // factor}{unit}"
    return str(size)
