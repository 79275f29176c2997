"""Whether a verification on less data asks what its study was asked. Files and caches shrink with
the data, but not the least size of a shard of a block cache, nor what an index has of one: settings
that do well on all of the data may lose on a third of it, and the other way round."""

from __future__ import annotations

from advisor.recommend import Recommendation
from advisor.sizes import format_size, size_to_type
from advisor.verify.outcome import Verification

APART = 1.3
"""Factor between two ratios from which on they are no longer one answer: what a stated gain may be
off by on a real engine."""


def size_decides(found: Verification, advice: Recommendation) -> str:
    """A sentence where the recommended settings are predicted to do otherwise on the data of the
    verification than on what the study was asked about; else empty."""
    asked = found.recommended
    is_of_advice = dict(asked.contender.settings) == dict(advice.settings)
    if not is_of_advice or advice.gain is None or found.sizing.scale.factor == 1.0:
        return ""
    goal = found.goal
    here = asked.predicted_ratio(goal.metric, found.base)
    gain = advice.gain.gain
    there = 1.0 + gain if goal.direction == "maximize" else 1.0 - gain
    if here is None or there <= 0.0 or max(here / there, there / here) < APART:
        return ""
    whole = advice.profile.data_bytes
    return (
        f"The size decides: recommended is predicted to have {here:.2f}x the {goal.metric} of "
        f"{found.base.contender.name} on this much data, and {there:.2f}x on "
        f"{format_size(whole)}, which only runs on as much can tell (--data {size_to_type(whole)})."
    )
