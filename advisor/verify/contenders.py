"""Whose settings run on the real engine: the defaults, the user's own, what is recommended, the
rule of thumb, and the runners-up of the search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from advisor import knobs
from advisor.evaluate import Refused, Setup, evaluate, fits_memory
from advisor.knobs import Engine, Settings
from advisor.profile import Profile
from advisor.recommend import Recommendation
from advisor.recommend.recommendation import SQUEEZED
from advisor.search import Study
from advisor.search.ranking import candidates, ranked
from advisor.search.seeds import best_rule
from advisor.spec import Interval
from advisor.trial import Trial, settings_key

BASE = "defaults"
"""What all are compared with where the user gave no settings of their own."""
CURRENT = "current"
RECOMMENDED = "recommended"
RULE = "rule: "
"""What the name of a rule of thumb begins with."""
_ORDER = (CURRENT, SQUEEZED, BASE, RULE, RECOMMENDED)
"""Whom to compare with rather than with the next."""


@dataclass(frozen=True)
class Contender:
    """Settings with what they are called."""

    name: str
    engine: Engine
    settings: Settings
    """Complete, at full size."""


def tried(
    one: Contender,
    setup: Setup,
    seed: int,
    *,
    on_interval: Callable[[Interval], None] | None = None,
    most_wall_seconds: float | None = None,
) -> Trial:
    """A trial of a contender, also of settings that an engine refuses: the others go on."""
    try:
        return evaluate(
            setup,
            one.engine,
            one.settings,
            seed=seed,
            role="verify",
            on_interval=on_interval,
            most_wall_seconds=most_wall_seconds,
        )
    except Refused as refused:
        return refused.trial


def fits(profile: Profile, one: Contender) -> bool:
    """Whether the profile's memory holds a contender; else it does not run."""
    return fits_memory(profile, one.engine, one.settings)


def contenders(
    study: Study, advice: Recommendation, *, runners_up: int, lines: bool
) -> list[Contender]:
    """The contenders of a study, none twice and the base of comparison first: the user's settings,
    squeezed where the memory does not hold them, or the defaults; with `lines`, also what is
    recommended with each of its changes taken back."""
    engine = advice.engine
    found = [*_bases(study, engine), Contender(RECOMMENDED, engine, advice.settings)]
    if (rule := best_rule(study.question, study.looks, engine, advice.goal)) is not None:
        found.append(Contender(RULE + rule.rule, engine, rule.settings))
    found += _runners_up(study, advice, found, runners_up)
    if lines:
        found += [
            Contender(
                f"without {change.knob}",
                engine,
                {**advice.settings, change.knob: advice.current[change.knob]},
            )
            for change in advice.changes
        ]
    return _in_order(study.profile, found)


def finalists(study: Study, advice: Recommendation, count: int) -> list[Contender]:
    """The base of comparison, then the best `count` settings of a search: what is recommended and
    the runners-up. What is recommended is the base where there is nothing to change."""
    base = _in_order(study.profile, _bases(study, advice.engine))[0]
    found = [base, Contender(RECOMMENDED, advice.engine, advice.settings)]
    return _distinct([*found, *_runners_up(study, advice, found, count - 1)])


def _bases(study: Study, engine: Engine) -> list[Contender]:
    """What the others may be compared with."""
    question = study.question
    name = BASE if question.is_own_in_memory(engine) else SQUEEZED
    found = [Contender(name, engine, question.defaults(engine))]
    if engine in question.current:
        found.insert(0, Contender(CURRENT, engine, question.current[engine]))
    return found


def _runners_up(
    study: Study, advice: Recommendation, known: Sequence[Contender], count: int
) -> list[Contender]:
    """The best of the search that keep the goal's limits and are not known already."""
    engine = advice.engine
    seen = {settings_key(engine, _complete(one).settings) for one in known}
    order = [
        one
        for one in ranked(candidates(study.evidence), advice.goal)
        if one.engine == engine
        and one.feasible(advice.goal)
        and settings_key(engine, one.settings) not in seen
    ]
    return [
        Contender(f"runner-up {place}", engine, one.settings)
        for place, one in enumerate(order[:count], 1)
    ]


def _in_order(profile: Profile, found: Sequence[Contender]) -> list[Contender]:
    def order_of(one: Contender) -> tuple[bool, int]:
        # What does not run is nothing to compare with.
        name = RULE if one.name.startswith(RULE) else one.name
        return not fits(profile, one), _ORDER.index(name) if name in _ORDER else len(_ORDER)

    return sorted(_distinct(found), key=order_of)


def _complete(one: Contender) -> Contender:
    return replace(one, settings={**knobs.defaults(one.engine), **one.settings})


def _distinct(found: Sequence[Contender]) -> list[Contender]:
    """Complete settings, each under its first name."""
    first: dict[object, Contender] = {}
    for one in map(_complete, found):
        first.setdefault(settings_key(one.engine, one.settings), one)
    return list(first.values())
