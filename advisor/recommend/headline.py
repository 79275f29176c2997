"""The sentences above everything else: which engine, what to do with its settings, what was tried,
and what the answer does not keep. Reports and screens take them from here, so that all say the
same."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from advisor.recommend import wording
from advisor.search.ranking import candidates

if TYPE_CHECKING:
    from advisor.goal import Limit
    from advisor.recommend.recommendation import Recommendation


def about_engine(r: Recommendation) -> str:
    """The engine, and why this one."""
    if r.verdict is None:
        return f"{r.engine}, the only one that the study looked at"
    if r.verdict.winner == r.engine:
        return r.verdict.text
    asked = "" if r.verdict.winner is None else ", as asked for"
    return f"{r.engine}{asked}; {r.verdict.text}"


def about_settings(r: Recommendation) -> str:
    """How many changes, and what they buy together."""
    if not r.changes:
        tried = {tuple(sorted(t.settings.items())) for t in r.trials if t.engine == r.engine}
        if len(tried) < 2:
            return f"keep the {r.basis}: nothing else was tried"
        return f"keep the {r.basis}; no change that was tried buys anything beyond noise"
    changes = "1 change" if len(r.changes) == 1 else f"{len(r.changes)} changes"
    file = r.standing
    if file is not None and (file.gain is not None or file.left_out):
        told = " ".join(r.file_words(r.dialect)).rstrip(".")
        return f"{changes} to the {r.basis}; the {r.dialect} file. {told}"
    if r.gain is None:
        return f"{changes} to the {r.basis}, which were not measured"
    return f"{changes} to the {r.basis}: {r.gain.words(r.goal)}"


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
