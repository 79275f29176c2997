"""The sentences above everything else: which engine, what to do with its settings, what was tried,
and what the answer does not keep. Reports and screens take them from here, so that all say the
same."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from advisor import knobs
from advisor.recommend import wording
from advisor.search.ranking import candidates

if TYPE_CHECKING:
    from advisor.goal import Limit
    from advisor.recommend.recommendation import Recommendation
    from advisor.search.front import Member


def about_engine(r: Recommendation) -> str:
    """The engine, and why this one; of several objectives also which others have their place."""
    if r.verdict is None:
        return f"{r.engine}, the only one that the study looked at"
    told = r.verdict.text
    if r.front is not None:
        there = dict.fromkeys(one.engine for one in r.front.members if one.overall)
        if others := [engine for engine in there if engine != (r.verdict.winner or r.engine)]:
            told += f"; on the front is {' and '.join(others)} too"
    if r.verdict.winner == r.engine:
        return told
    asked = "" if r.verdict.winner is None else ", as asked for"
    return f"{r.engine}{asked}; {told}"


def about_other(r: Recommendation) -> str:
    """How the engine that is not recommended fared, to stand behind its name: `lost: lsm has +17%
    ops_per_s`; empty where the study looked at one."""
    verdict = r.verdict
    if verdict is None:
        return ""
    if verdict.winner is None:
        return "may be as good: no verdict" if verdict.is_open else "is equal"
    if verdict.winner != r.engine:
        return "won"
    if verdict.comparison is not None:
        told = wording.difference(r.goal, verdict.comparison.gain)
        return f"lost: {verdict.winner} has {told}"
    return "lost: no run kept the limits" if r.goal.limits else f"lost: no {r.goal.metric}"


def about_settings(r: Recommendation) -> str:
    """How many changes, and what they buy together."""
    if not r.changes:
        tried = {tuple(sorted(t.settings.items())) for t in r.trials if t.engine == r.engine}
        if len(tried) < 2:
            return f"keep the {r.basis}: nothing else was tried"
        if r.untold is not None:
            seen = r.untold.words(r.goal)
            return f"keep the {r.basis}; too few runs to tell: the best that was tried, {seen}"
        return f"keep the {r.basis}; no change that was tried buys anything beyond noise"
    changes = "1 change" if len(r.changes) == 1 else f"{len(r.changes)} changes"
    file = r.standing
    if file is not None and (file.gain is not None or file.left_out):
        told = " ".join(r.file_words(r.dialect)).rstrip(".")
        return f"{changes} to the {r.basis}; the {r.dialect} file. {told}"
    if r.gain is None:
        return f"{changes} to the {r.basis}, which no run of their own has measured yet"
    told = f"{changes} to the {r.basis}: {r.gain.words(r.goal)}"
    return told if r.over == r.basis else f"{told} against the {r.over}"


def about_rebuilds(r: Recommendation) -> list[str]:
    """What each rebuild that the user did not allow would buy, in sentences."""
    catalogue = knobs.catalogue(r.engine)
    found = []
    for one in r.rebuilds:
        told = "not measured: no run was left" if one.gain is None else one.gain.words(r.goal)
        what = f"{one.knob} = {catalogue[one.knob].show(one.value)}"
        found.append(f"a rebuild of the data with {what} would buy: {told}")
    return found


def about_front(r: Recommendation) -> str:
    """What may be chosen from, by which rule one is recommended, and what its answer is judged by;
    empty where the study has one objective."""
    front, member = r.front, r.member
    if front is None:
        return ""
    if member is None:
        return f"Nothing that was tried keeps the limits of {front.goal}: there is no front"
    own = sum(one.overall for one in front.members)
    told = "1 member" if own == 1 else f"{own} members"
    if beaten := len(front.members) - own:
        told += f", and {beaten} more of the front of one engine alone"
    told = f"The front of {', '.join(front.goal.objectives)} has {told}"
    if r.as_measured:
        told += f"; number {member.number} as it was measured, as asked for"
    else:
        told += (
            f"; number {member.number} is recommended, the nearest to the best of each objective "
            "on scales of the front's own ranges"
        )
    return f"{told}. Lines, runs and verdicts are judged by it: {r.goal}"


def about_member(r: Recommendation, member: Member) -> str:
    """What a member of the front is besides its numbers; empty for one among others."""
    front = r.front
    best = front.recommended() if front is not None else None
    remarks = ["recommended"] if best is not None and best.number == member.number else []
    if r.member is not None and r.member.number == member.number and not remarks:
        remarks.append("as asked for")
    if not member.overall:
        remarks.append(f"of {member.engine} alone")
    return ", ".join(remarks)


def tried(r: Recommendation) -> str:
    """How many trials there were, and of which engine: `30 trials (24 of lsm, 6 of btree)`."""
    count = "1 trial" if len(r.trials) == 1 else f"{len(r.trials)} trials"
    engines = Counter(trial.engine for trial in r.trials)
    shares = ", ".join(f"{number} of {engine}" for engine, number in engines.most_common())
    return f"{count} ({shares})" if shares else count


def warning(r: Recommendation) -> str:
    """The limits that the recommended settings break, and by how much, and what the product itself
    has against them; empty if they keep all and it has nothing."""
    return "; ".join(filter(None, (_broken_limits(r), r.refuted)))


def _broken_limits(r: Recommendation) -> str:
    broken = [limit for limit in r.goal.limits if str(limit) in r.broken]
    if not broken:
        return ""
    limits = ", ".join(map(str, broken))
    numbers = "; ".join(_measured(r, limit) for limit in broken)
    if any(one.feasible(r.goal) for one in candidates(r.trials) if one.engine == r.engine):
        return f"the recommended settings did not keep {limits} when they were repeated ({numbers})"
    return f"no settings kept {limits}; these come nearest ({numbers})"


def _measured(r: Recommendation, limit: Limit) -> str:
    told = []
    for column in r.columns:
        spread = column.metrics.get(limit.metric)
        shown = "not measured" if spread is None else wording.metric(limit.metric, spread.median)
        told.append(f"{column.title} {shown}")
    return f"{limit.metric}: {', '.join(told)}"
