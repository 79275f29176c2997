"""By which goal an answer is judged: of several objectives, the first, while the others stay where
the chosen member of the front has them.

So each line, final run and verdict is told in one number, and none trades the others away. This is
the epsilon-constraint form of the problem (Haimes et al., IEEE Trans. SMC 1, 1971), whose bounds
are taken from a point of the front.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from advisor.errors import InputError, WorkError
from advisor.goal import Goal, Limit, described
from advisor.knobs import Engine
from advisor.recommend.limits import KNOWN
from advisor.search import Study
from advisor.search.front import Front, Member

NOISES = 2
"""Of the bound that noise explains: what the member reached may be off by one, and what is held
against it by another."""
DIGITS = 3
"""Of a bound."""


@dataclass(frozen=True)
class Judging:
    """What an answer is judged by, and why."""

    goal: Goal
    """Of one objective."""
    front: Front | None = None
    """Absent where the study has one objective."""
    member: Member | None = None
    """Of the front: the one that the goal's bounds are of; absent where nothing keeps them."""


def judging(study: Study, engine: Engine | None = None) -> Judging:
    """Of the answer of a study, or of the best of one engine. Raises `WorkError` where no trial has
    measured all of several objectives."""
    goal = study.goal
    if not goal.others:
        return Judging(goal)
    known = [trial.metrics for trial in study.evidence if trial.finished]
    if not any(map(goal.is_measured, known)):
        lacking = [name for name in goal.objectives if not any(name in one for one in known)]
        what = " and ".join(lacking or goal.objectives)
        raise WorkError(f"study {study.name}: no trial has measured {what} yet")
    front = study.front()
    return _by_member(front, front.recommended(engine))


def judging_of(study: Study, number: int) -> Judging:
    """Of a member of a study's front. Raises `InputError` where there is none of this number, or no
    front."""
    if not study.goal.others:
        found = f"a study of one objective, {study.goal}"
        raise InputError("--front", None, found, "a study whose goal has several objectives")
    front = study.front()
    return _by_member(front, front.member(number))


def _by_member(front: Front, member: Member | None) -> Judging:
    goal = front.goal
    if member is None:
        return Judging(Goal(goal.metric, goal.limits), front)
    own = {name: _bound(front, member, name) for name in goal.others}
    for limit in goal.limits:
        if limit.metric in own:
            tighter = min if limit.sign == "<=" else max
            own[limit.metric] = tighter(own[limit.metric], limit.value)
    limits = [limit for limit in goal.limits if limit.metric not in own]
    limits += [Limit(name, value) for name, value in own.items()]
    return Judging(Goal(goal.metric, tuple(limits)), front, member)


def _bound(front: Front, member: Member, name: str) -> float:
    """What the member reached, and what noise explains twice, to some digits outward."""
    value = member.metrics[name]
    values = [one.metrics[name] for one in front.members]
    # What is 0 has no relative noise; then that of the front's range counts.
    size = abs(value) or max(values) - min(values)
    noise = front.noises[name].bound(len(member.candidate.judged), KNOWN)
    if described(name).better == "lower":
        return _outward(value + NOISES * noise * size, math.ceil)
    return _outward(max(0.0, value - NOISES * noise * size), math.floor)


def _outward(value: float, rounded: Callable[[float], int]) -> float:
    if value == 0.0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - DIGITS + 1)
    return float(f"{rounded(value / unit) * unit:.{DIGITS}g}")
