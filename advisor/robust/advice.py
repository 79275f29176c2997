"""The robust choice as a recommendation, to be written in a product's words."""

from __future__ import annotations

from dataclasses import replace

from advisor import knobs
from advisor.recommend import Change, Recommendation
from advisor.recommend.leftover import leftover
from advisor.robust.outcome import Robustness
from advisor.robust.words import in_short


def advised(advice: Recommendation, found: Robustness) -> Recommendation:
    """The advice with the settings of the robust choice. A line that both have keeps what is known
    of it; the others were run as a whole alone. The same advice where that is the choice."""
    if found.choice is found.recommended:
        return advice
    settings = dict(found.choice.contender.settings)
    ruled = {one.knob: one for one in leftover(advice.profile, advice.engine, settings)}
    settings |= {knob: one.value for knob, one in ruled.items()}
    known = {change.knob: change for change in advice.changes}
    changes = []
    for knob in knobs.catalogue(advice.engine):
        value, current = settings[knob], advice.current[knob]
        if value == current:
            continue
        if knob in known and known[knob].recommended == value:
            changes.append(known[knob])
        else:
            told = f"rule: part of the robust choice, {found.choice.contender.name}, run as a whole"
            if knob in ruled:
                told = f"rule: {ruled[knob].reason}"
            changes.append(Change(knob, current, value, told))
    return replace(
        advice,
        settings=settings,
        changes=tuple(changes),
        dropped=(),
        files={},
        real=(),
        refuted="",
        robust=tuple(in_short(found)),
    )
