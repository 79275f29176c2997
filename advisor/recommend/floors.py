"""What a smaller copy could not shrink of settings that are compared: it ran with more than is
written."""

from __future__ import annotations

from collections.abc import Iterator

from advisor.scale import Scale
from advisor.search.ranking import Candidate


def enlarged(one: Candidate, other: Candidate) -> tuple[str, ...]:
    """The sizes of `one` that ran larger than they are, where `other` has another or is of another
    engine: what they did is no property of the settings."""
    scale = Scale(one.judged[-1].scale)
    names = scale.floored(one.engine, one.settings)
    same = other.settings if other.engine == one.engine else {}
    return tuple(name for name in names if same.get(name) != one.settings[name])


def notes_of_base(recommended: Candidate, base: Candidate) -> Iterator[str]:
    """What the base of comparison had more of in its runs than in its file."""
    scale = Scale(base.judged[-1].scale)
    told = scale.settings(base.engine, base.settings).notes
    names = enlarged(base, recommended)
    yield from (f"the base of comparison: {note}" for note in told if note.split(":")[0] in names)
