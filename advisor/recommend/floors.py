"""What a smaller copy could not shrink of settings that are compared: it ran with more than is
written."""

from __future__ import annotations

from collections.abc import Iterator

from advisor import engines
from advisor.scale import Scale
from advisor.search.ranking import Candidate


def enlarged(one: Candidate, other: Candidate) -> tuple[str, ...]:
    """The sizes of `one` that ran larger than they are, where `other` has another or is of another
    engine: what they did is no property of the settings. What no trial exercises did nothing."""
    scale = Scale(one.judged[-1].scale)
    same = other.settings if other.engine == one.engine else {}
    names = scale.floored(one.engine, one.settings)
    differ = (name for name in names if same.get(name) != one.settings[name])
    idle = engines.of(one.engine).unexercised
    return tuple(name for name in differ if idle is None or name != idle.knob)


def notes_of_base(recommended: Candidate, base: Candidate) -> Iterator[str]:
    """What the base of comparison had more of in its runs than in its file."""
    scale = Scale(base.judged[-1].scale)
    told = scale.settings(base.engine, base.settings).notes
    names = enlarged(base, recommended)
    yield from (f"the base of comparison: {note}" for note in told if note.split(":")[0] in names)
