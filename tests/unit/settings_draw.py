"""Random settings for round trips: every knob, values from the whole accepted range."""

import math
import random

from advisor import dialects, knobs
from advisor.dialects import Line
from advisor.knobs import Engine, Knob, Setting


def draw_settings(engine: Engine, dialect: str, draw: random.Random) -> dict[str, Setting]:
    """Settings that the dialect can carry, whole multiples of its granularity, without
    contradictions."""
    found: dict[str, Setting] = {}
    for name, knob in knobs.catalogue(engine).items():
        value = _draw(knob, draw)
        multiple = knob.spellings[dialect].multiple
        if multiple > 1 and isinstance(value, int):
            value = value // multiple * multiple
        if draw.random() < 0.7 and dialects.problem(dialect, name, value) is None:
            found[name] = value
    complete = knobs.defaults(engine) | found
    for name, knob in knobs.catalogue(engine).items():
        if knob.at_least and complete[name] < complete[knob.at_least]:  # type: ignore[operator]
            found[name] = complete[name] = complete[knob.at_least]
    if found.get("sync") and found.get("disable_wal"):
        del found["disable_wal"]
    return found


def lines_of(engine: Engine, settings: dict[str, Setting]) -> list[Line]:
    """One line per setting, each with a decision behind it."""
    defaults = knobs.defaults(engine)
    return [
        Line(name, value, defaults[name], current=value, evidence="measured: +1% ops_per_s")
        for name, value in settings.items()
    ]


def _draw(knob: Knob, draw: random.Random) -> Setting:
    if knob.type == "switch":
        return draw.random() < 0.5
    if knob.choices:
        return draw.choice(knob.choices)
    if knob.name == "filter_policy":
        return draw.choice(["nullptr", f"bloomfilter:{draw.randint(1, 50)}:false"])
    if knob.name == "compression_per_level":
        codecs = ["kNoCompression", "kSnappyCompression", "kLZ4Compression", "kZlibCompression"]
        return ":".join(draw.choices(codecs, k=draw.randint(0, 7)))
    if knob.name == "compressed_indexes":
        numbers = [str(draw.randint(0, 9)) for _ in range(draw.randint(0, 4))]
        return ":".join(numbers) or "all"
    if knob.type == "text":
        return draw.choice(["nullptr", f"fixed:{draw.randint(1, 64)}", "capped:12"])
    low, high = float(knob.low or 0), float(knob.high or 0)
    if knob.type == "number":
        return draw.choice([low, high, draw.uniform(low, high), round(draw.uniform(low, high), 2)])
    walk = math.exp(draw.uniform(math.log(max(low, 1)), math.log(high)))
    round_size = 1 << int(math.log2(max(walk, 1)))
    return min(int(high), max(int(low), draw.choice([int(low), int(walk), round_size])))
