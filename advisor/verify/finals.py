"""The end of a search on the real engine, which picks among the best settings that it found.

The rule: what the search recommends stays, unless others are detectably better on the real engine
(the interval of their ratio, over at least three pairs of runs, leaves 1 out). Better means the
goal's metric. A limit goes before it: who breaks one that the recommended settings keep is not
better, and who keeps one that they break is, if the metric of that limit differs detectably. Of
several that are better the best by the goal is picked. Settings that do not run there are
replaced by any that are so much better than the base of comparison. Runs on less data refute
nothing where the size decides (`size_decides`) and they lose there as predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeGuard

from advisor.errors import InputError
from advisor.goal import FLASH_METRICS, Goal, Limit, described, refuse_several
from advisor.price import METRIC as COST
from advisor.profile import Profile
from advisor.real import RealEngine, engine_of
from advisor.recommend import Recommendation, recommend, recommend_given, wording
from advisor.search import Candidate, Study
from advisor.search.ranking import ranked
from advisor.sizes import format_factor, format_size
from advisor.spec import Interval
from advisor.store import Store
from advisor.trial import settings_key
from advisor.verify.contenders import RECOMMENDED, Contender, finalists
from advisor.verify.less_data import size_decides
from advisor.verify.outcome import Compared, Verification
from advisor.verify.paired import LOOKS, Difference, differences
from advisor.verify.stored import stored
from advisor.verify.verification import Event, Limits, verify


def hold(
    study: Study,
    count: int,
    profile: Profile,
    real: RealEngine,
    store: Store,
    limits: Limits,
    *,
    seed: int = 1,
    directory: Path | None = None,
    on_event: Callable[[Event], None] = lambda event: None,
    on_interval: Callable[[Interval], None] | None = None,
) -> Verification:
    """Runs the best `count` settings of a search and the base of comparison on the real engine, and
    stores which of them it picks, unless an interrupt ended it. `profile` is the study's, on the
    machine that predictions are of. Raises as `verify` and `refuse_unjudged` do."""
    refuse_unjudged(study.goal, "finalists", f"study {study.name}")
    advice = recommend(study, measure=False, engine=engine_of(real))
    found = verify(
        study.name,
        profile,
        finalists(study, advice, count),
        real,
        store,
        limits,
        rival=RECOMMENDED,
        seed=seed,
        directory=directory,
        on_event=on_event,
        on_interval=on_interval,
    )
    if found.ending != "interrupted" and found.product:
        store.add_final(found.session, study.name, found.compared.index(picked(found)))
    return found


def decided(study: Study, advice: Recommendation) -> Recommendation:
    """The advice of a search as the real engine left it: the settings that it picked, with its
    numbers. The same advice where it was not asked about these settings."""
    store = Store(study.results)
    last = store.final(study.name)
    if last is None:
        return advice
    session, place = last
    found = stored(study.name, study.profile, session, store)
    asked, pick = found.recommended, found.compared[place]
    if not _is_of(asked.contender, advice):
        return advice
    another_question = size_decides(found, advice)
    if pick is not asked:
        settings = pick.contender.settings
        engine, dialect = advice.engine, advice.dialect
        advice = recommend_given(study, engine, settings, dialect=dialect, known=advice.known)
    real = (*_words(found, pick), *([another_question] if another_question else ()))
    is_less = bool(another_question) and found.sizing.scale.factor < 1.0
    refuted = "" if is_less and _loses_as_predicted(found, pick) else _refutation(found, pick)
    return replace(advice, real=real, refuted=refuted)


def refuse_unjudged(goal: Goal, source: str, where: str | None = None) -> None:
    """Raises `InputError` for a goal by which no real engine picks: one of several objectives, or
    of what only a simulated drive or a price of the whole data tells."""
    refuse_several(goal, source, where)
    if goal.metric in (*FLASH_METRICS, COST):
        accepted = "a goal of what a real engine tells"
        raise InputError(source, where, f"a goal of {goal.metric}", accepted)


def undecided(advice: Recommendation, why: str) -> Recommendation:
    """The advice of a search whose finalists did not come to their end."""
    return replace(advice, real=(*advice.real, f"The finalists decided nothing: {why}."))


def picked(found: Verification) -> Compared:
    """Which of the finalists the real engine picks, by the rule above."""
    asked = found.recommended
    rival = found.base if asked.error else asked
    better = [one for one in _runners_up(found) if _is_better(one, rival, found)]
    by_settings = {_key(one.contender): one for one in better}
    best = ranked(map(_candidate, better), found.goal)
    return by_settings[settings_key(best[0].engine, best[0].settings)] if best else asked


def _runners_up(found: Verification) -> Sequence[Compared]:
    asked = found.recommended
    return [one for one in found.compared[1:] if one is not asked]


def _is_of(contender: Contender, advice: Recommendation) -> bool:
    return _key(contender) == settings_key(advice.engine, advice.settings)


def _key(one: Contender) -> object:
    return settings_key(one.engine, one.settings)


def _candidate(one: Compared) -> Candidate:
    return Candidate(one.contender.engine, one.contender.settings, one.real)


def _broken(one: Compared, found: Verification) -> tuple[Limit, ...]:
    """The limits that it breaks, of those that anything told of there; sizes at full size as the
    goal means them."""
    judged = replace(found.goal, limits=_judged(found))
    if not one.real:
        return judged.limits
    return judged.broken(found.sizing.scale.carry_back(_candidate(one).metrics()))


def _judged(found: Verification) -> tuple[Limit, ...]:
    """The limits whose metric some run there told of."""
    told = {name for one in found.compared for trial in one.real for name in trial.metrics}
    return tuple(limit for limit in found.goal.limits if limit.metric in told)


def _is_better(one: Compared, rival: Compared, verification: Verification) -> bool:
    mine, theirs = _broken(one, verification), _broken(rival, verification)
    if one.error or set(mine) - set(theirs):
        return False
    mended = [limit.metric for limit in theirs if limit not in mine]
    found = differences(rival.real, one.real)
    return all(_gains(metric, found.get(metric)) for metric in mended or [verification.goal.metric])


def _gains(metric: str, found: Difference | None) -> bool:
    is_higher_better = described(metric).better == "higher"
    return _is_told(found) and (found.ratio > 1) == is_higher_better


def _is_told(found: Difference | None) -> TypeGuard[Difference]:
    return found is not None and found.pairs >= LOOKS[0] and found.is_detectable


def _words(found: Verification, pick: Compared) -> tuple[str, ...]:
    """What the real engine did with the settings that it picked, and why it picked these."""
    goal, asked = found.goal, found.recommended
    others = len(_runners_up(found))
    many = "1 runner-up" if others == 1 else f"{others} runners-up"
    if pick is not asked:
        ahead = differences(asked.real, pick.real).get(goal.metric)
        than = "of what the search recommended, which did not run there"
        if ahead is not None:
            than = f"{_ratio(ahead)} what the search recommended"
        why = f"It picked {pick.contender.name} of the search, of {many}: {than}."
    elif others and found.rounds < LOOKS[0]:
        why = f"Fewer than {LOOKS[0]} rounds, which a verdict needs, so this stayed."
    elif others:
        why = f"None of {many} of the search was detectably better there, so this stayed."
    else:
        why = "No other settings of the search ran there."
    judged = _judged(found)
    if untold := [str(limit) for limit in goal.limits if limit not in judged]:
        why += f" It tells nothing of {', '.join(untold)}."
    return _numbers(found, pick), why


def _numbers(found: Verification, pick: Compared) -> str:
    goal, base = found.goal, found.base
    value, before = pick.value(goal.metric), base.value(goal.metric)
    where = (
        f"On {found.product} itself, with {format_size(found.sizing.data_bytes)} of data "
        f"({format_factor(found.sizing.scale.factor)} of the profile's)"
    )
    if value is None:
        return f"{where}: {found.verdict(pick)}."
    rounds = "1 round" if len(pick.real) == 1 else f"{len(pick.real)} rounds"
    told = f"{where}, in {rounds}: {wording.metric(goal.metric, value)} {goal.metric}"
    difference = pick.differences.get(goal.metric)
    if difference is None or before is None:
        return f"{told}."
    told += f", {_ratio(difference)} the {wording.metric(goal.metric, before)} of "
    predicted = pick.predicted_ratio(goal.metric, base)
    expected = "nothing was predicted" if predicted is None else f"predicted {predicted:.2f}x"
    return f"{told}{base.contender.name}; {expected} on {found.predicted_on}."


def _ratio(found: Difference) -> str:
    if found.pairs < 2:
        return f"{found.ratio:.2f}x (one pair of runs)"
    return f"{found.ratio:.2f}x ({found.low:.2f} to {found.high:.2f})"


def _loses_as_predicted(found: Verification, pick: Compared) -> bool:
    ratio = pick.predicted_ratio(found.goal.metric, found.base)
    is_to_rise = found.goal.direction == "maximize"
    return ratio is not None and ratio != 1.0 and (ratio < 1.0) == is_to_rise


def _refutation(found: Verification, pick: Compared) -> str:
    """What the real engine has against the settings that it picked."""
    goal, base = found.goal, found.base
    if pick.error:
        return f"on {found.product} these settings {found.verdict(pick)}"
    told = [f"break {limit}" for limit in _broken(pick, found)]
    difference = pick.differences.get(goal.metric)
    if _is_told(difference) and not _gains(goal.metric, difference):
        told.append(f"are worse than {base.contender.name}, {_ratio(difference)} {goal.metric}")
    return f"on {found.product} these settings {' and '.join(told)}" if told else ""
