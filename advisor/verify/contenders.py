"""Whose settings run on the real engine: the defaults, the user's own, what is recommended, the
rule of thumb, and the runners-up of the search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from advisor import knobs
from advisor.errors import InputError
from advisor.evaluate import needed_memory
from advisor.knobs import Settings
from advisor.real import ENGINE
from advisor.recommend import Recommendation
from advisor.search import Study
from advisor.search.ranking import candidates, ranked
from advisor.search.seeds import seeds
from advisor.trial import settings_key

BASE = "defaults"
"""What all are compared with where the user gave no settings of their own."""
CURRENT = "current"
RECOMMENDED = "recommended"
RULE = "rule of thumb"
_ORDER = (CURRENT, BASE, RULE, RECOMMENDED)
"""Whom to compare with rather than with the next."""


@dataclass(frozen=True)
class Contender:
    """Settings with what they are called."""

    name: str
    settings: Settings
    """Complete, at full size."""


def contenders(
    study: Study, advice: Recommendation, *, runners_up: int, lines: bool
) -> list[Contender]:
    """The contenders of a study, none twice and the base of comparison first: the user's settings,
    or the defaults, or the first that fit the memory; with `lines`, also what is recommended with
    each of its changes taken back. Raises `InputError` for advice about another engine."""
    if advice.engine != ENGINE:
        found = f"a study of {advice.engine} alone"
        raise InputError("--study", None, found, "one with trials of the LSM, which RocksDB runs")
    question = study.question
    contending = [Contender(BASE, question.defaults(ENGINE))]
    if ENGINE in question.current:
        contending.insert(0, Contender(CURRENT, question.current[ENGINE]))
    contending.append(Contender(RECOMMENDED, advice.settings))
    rules = [seed for seed in seeds(question) if seed.engine == ENGINE and seed.role == "rule"]
    contending += [Contender(RULE, seed.settings) for seed in rules[:1]]
    order = ranked(candidates(study.trials), advice.goal)
    others = [one for one in order if one.engine == ENGINE and one.feasible(advice.goal)]
    known = {settings_key(ENGINE, _complete(one.settings)) for one in contending}
    unseen = [one for one in others if settings_key(ENGINE, one.settings) not in known]
    contending += [
        Contender(f"runner-up {place}", one.settings)
        for place, one in enumerate(unseen[:runners_up], 1)
    ]
    if lines:
        contending += [
            Contender(
                f"without {change.knob}",
                {**advice.settings, change.knob: advice.current[change.knob]},
            )
            for change in advice.changes
        ]
    profile = study.profile

    def order_of(one: Contender) -> tuple[bool, int]:
        # What does not fit the memory does not run, and nothing could be compared with it.
        is_too_large = needed_memory(profile, ENGINE, one.settings) > profile.memory_bytes
        return is_too_large, _ORDER.index(one.name) if one.name in _ORDER else len(_ORDER)

    distinct = _distinct(Contender(one.name, _complete(one.settings)) for one in contending)
    return sorted(distinct, key=order_of)


def _complete(settings: Settings) -> Settings:
    return {**knobs.defaults(ENGINE), **settings}


def _distinct(found: Iterable[Contender]) -> list[Contender]:
    first: dict[object, Contender] = {}
    for one in found:
        first.setdefault(settings_key(ENGINE, one.settings), one)
    return list(first.values())
