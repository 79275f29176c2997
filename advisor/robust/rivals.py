"""Which settings of a study run at the neighbours: what a verification runs, the recommended
settings and the rule of thumb made to fit everywhere, and a few of the search that differ from one
another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from advisor.evaluate import fits_memory
from advisor.knobs import Engine, Settings
from advisor.recommend import Recommendation
from advisor.recommend.nearness import is_near
from advisor.robust.neighbours import Neighbour
from advisor.search import Study
from advisor.search.ranking import Candidate, candidates, ranked
from advisor.search.squeeze import squeezed
from advisor.trial import settings_key
from advisor.verify import Contender
from advisor.verify.contenders import RECOMMENDED, RULE, contenders

OTHERS = 4
"""Settings of the search that run beside the others."""
DRAWN_FROM = 3
"""So many times as many of the best are looked at for those that differ most. Choices of ours."""
FIT = ", made to fit "
SQUEEZED = FIT + "everywhere"


def rivals(
    study: Study, advice: Recommendation, points: Sequence[Neighbour], others: int = OTHERS
) -> list[Contender]:
    """The recommended settings first, no settings twice. What the search found and does not fit the
    memory of a neighbour runs with its sizes made smaller until it does."""
    found = contenders(study, advice, runners_up=0, lines=False)
    found.sort(key=lambda one: settings_key(one.engine, one.settings) != _key(advice))
    # Where nothing is to be changed, the base is what is recommended.
    found[0] = Contender(RECOMMENDED, advice.engine, found[0].settings)
    for advised in [one for one in found if one.name.startswith((RECOMMENDED, RULE))]:
        # Fitting the tightest neighbour may cost more as asked than anybody pays.
        wanted = [(SQUEEZED, points), *((f"{FIT}{one.name}", (one,)) for one in points)]
        for name, some in wanted:
            lean = everywhere(some, advised.engine, advised.settings)
            if lean is not None:
                found.append(Contender(advised.name + name, advised.engine, lean))
    for one in _others(study, advice, found, others):
        first = one.trials[0]
        name = RULE + first.rule if first.role == "rule" else f"trial {first.number}"
        lean = everywhere(points, one.engine, one.settings)
        if lean is not None and lean != dict(one.settings):
            found.append(Contender(name + SQUEEZED, one.engine, lean))
        else:
            found.append(Contender(name, one.engine, one.settings))
    return _distinct(found)


def fits(point: Neighbour, engine: Engine, settings: Settings) -> bool:
    """Whether the settings fit the memory there."""
    return fits_memory(point.profile, engine, settings)


def everywhere(points: Iterable[Neighbour], engine: Engine, settings: Settings) -> Settings | None:
    """The settings with sizes that fit the memory of all points; None if none do."""
    for point in points:
        made = squeezed(point.profile, engine, settings)
        if made is None:
            return None
        settings = made
    return settings


def _others(
    study: Study, advice: Recommendation, known: Sequence[Contender], count: int
) -> list[Candidate]:
    """Of the best of the search the first, then again and again the one that is farthest from all
    that were taken."""
    seen = {settings_key(one.engine, one.settings) for one in known}
    pool = [
        one
        for one in ranked(candidates(study.looks), advice.goal)
        if one.engine == advice.engine
        and one.feasible(advice.goal)
        and settings_key(one.engine, one.settings) not in seen
    ][: DRAWN_FROM * count]
    taken: list[Candidate] = []
    while pool and len(taken) < count:
        far = max(pool, key=lambda one: _nearest(one, taken)) if taken else pool[0]
        pool.remove(far)
        taken.append(far)
    return taken


def _nearest(one: Candidate, taken: Iterable[Candidate]) -> int:
    """In how many knobs it differs from the nearest of those that were taken."""
    return min(
        sum(
            value != one.settings[name] and not is_near(one.settings[name], value)
            for name, value in other.settings.items()
            if name in one.settings
        )
        for other in taken
    )


def _key(advice: Recommendation) -> object:
    return settings_key(advice.engine, advice.settings)


def _distinct(found: Iterable[Contender]) -> list[Contender]:
    first: dict[object, Contender] = {}
    for one in found:
        first.setdefault(settings_key(one.engine, one.settings), one)
    return list(first.values())
