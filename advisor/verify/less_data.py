"""Whether a verification on less data, or in shorter runs, asks what its study was asked. Files and
caches shrink with the data, but not the least size of a shard of a block cache, nor what an index
has of one: settings that do well on all of the data may lose on a third of it, and the other way
round. And what small memtables leave for merges into a level of all the data comes after a while,
of which short runs that begin with an empty level 0 see nothing."""

from __future__ import annotations

import statistics

from advisor.recommend import Recommendation
from advisor.sizes import format_size, size_to_type
from advisor.verify.outcome import Verification
from advisor.verify.stored import operations_of

APART = 1.3
"""Factor between two ratios from which on they are no longer one answer: what a stated gain may be
off by on a real engine."""


LONGER = 1.5
"""How many times as many operations for its data a run makes, that is called longer."""


def size_decides(found: Verification, advice: Recommendation) -> str:
    """A sentence where the recommended settings are predicted to do otherwise on the data of the
    verification, and in as many operations, than on what the study was asked about; else empty."""
    asked = found.recommended
    is_of_advice = dict(asked.contender.settings) == dict(advice.settings)
    times = _times_as_long(found, advice)
    what = ["size"] if found.sizing.scale.factor < 1.0 else []
    what += ["length"] if times >= LONGER else []
    if not is_of_advice or advice.gain is None or not what:
        return ""
    goal = found.goal
    here = asked.predicted_ratio(goal.metric, found.base)
    gain = advice.gain.gain
    there = 1.0 + gain if goal.direction == "maximize" else 1.0 - gain
    if here is None or there <= 0.0 or max(here / there, there / here) < APART:
        return ""
    whole = advice.profile.data_bytes
    longer = f" in {times:.1f} times as many operations for its size" if "length" in what else ""
    options = [f"--data {size_to_type(whole)}"] if "size" in what else []
    options += ["more --minutes"] if longer else []
    return (
        f"The {' or the '.join(what)} of the runs decides: recommended is predicted to have "
        f"{here:.2f}x the {goal.metric} of {found.base.contender.name} in these, and {there:.2f}x "
        f"on {format_size(whole)}{longer}, which only such runs can tell ({' and '.join(options)})."
    )


def _times_as_long(found: Verification, advice: Recommendation) -> float:
    """How many times as many operations for its data a run that decided in the study made; 0 where
    that is not known."""
    made = [
        operations_of(trial) / trial.scale
        for trial in advice.trials
        if trial.finished and trial.engine == advice.engine and trial.scale == advice.scale
    ]
    here = found.sizing.operations / found.sizing.scale.factor
    return statistics.median(made) / here if made and here else 0.0
