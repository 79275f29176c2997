"""The settings that a study tries before its samplers speak: the defaults of each engine, what the
user has, what earlier studies of like questions found, and rules of thumb."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from advisor import engines, knobs
from advisor.goal import Goal
from advisor.knobs import Engine, Setting, Settings
from advisor.memory import MIB
from advisor.search.earlier import Earlier
from advisor.search.question import Question
from advisor.search.ranking import candidates, ranked
from advisor.search.rules import rules
from advisor.search.squeeze import squeezed
from advisor.trial import Role, Trial, settings_key


@dataclass(frozen=True)
class Seed:
    """Settings to try, and why."""

    engine: Engine
    role: Role
    settings: Settings
    rule: str = ""
    """The name of the rule of thumb, or where what is `earlier` is from."""


def seeds(question: Question) -> list[Seed]:
    """All seeds of a settled question, the most telling first; the engines take turns."""
    by_engine = [_of_engine(question, engine) for engine in question.engines]
    rounds = max(len(own) for own in by_engine)
    return [own[i] for i in range(rounds) for own in by_engine if i < len(own)]


def tried(found: Sequence[Seed], most_rules: int | None) -> list[Seed]:
    """The seeds with at most so many rules of thumb among them."""
    first = [seed for seed in found if seed.role == "rule"][:most_rules]
    return [seed for seed in found if seed.role != "rule" or seed in first]


def best_rule(
    question: Question, trials: Sequence[Trial], engine: Engine, goal: Goal | None = None
) -> Seed | None:
    """The rule of thumb of an engine that did best in the trials of a settled question, by its goal
    or another; the first where none was measured."""
    own = [seed for seed in _of_engine(question, engine) if seed.role == "rule"]
    by_key = {settings_key(engine, seed.settings): seed for seed in own}
    order = ranked(candidates(trials), goal or question.profile.goal)
    measured = (by_key.get(settings_key(one.engine, one.settings)) for one in order)
    return next((seed for seed in measured if seed is not None), next(iter(own), None))


def _of_engine(question: Question, engine: Engine) -> list[Seed]:
    found = [Seed(engine, "default", question.defaults(engine))]
    if engine in question.current:
        found.append(Seed(engine, "current", question.current[engine]))
    for known in question.earlier:
        if known.engine == engine and (fitted := _fitted(question, known)) is not None:
            found.append(Seed(engine, "earlier", fitted, known.told))
    stock, fixed = question.stock(engine), question.unsearched(engine)
    for rule in rules(engine):
        settings = rule.settings(question.profile, stock, fixed)
        if settings is not None:
            found.append(Seed(engine, "rule", settings, rule.name))
    return _distinct(found)


def _fitted(question: Question, known: Earlier) -> dict[str, Setting] | None:
    """What an earlier study found for the searched knobs, with the cache in proportion to the
    memory, on the engine's defaults. None where it does not fit, or has a value that is no longer
    accepted."""
    engine, profile = known.engine, question.profile
    catalogue, fixed = knobs.catalogue(engine), question.unsearched(engine)
    opened = [name for name in question.opened if name in catalogue]
    made: dict[str, Setting] = dict(question.stock(engine))
    for name in knobs.searchable(engine, include=opened):
        if name not in fixed and name in known.settings:
            value = catalogue[name].normal(known.settings[name])
            if value is None:
                return None
            made[name] = value
    cache = engines.of(engine).cache_knob
    size = made[cache]
    assert isinstance(size, int), "a cache is a size"
    made[cache] = max(MIB, size * profile.memory_bytes // known.memory_bytes // MIB * MIB)
    return squeezed(profile, engine, made)


def _distinct(found: list[Seed]) -> list[Seed]:
    """Each settings once, as what they are first."""
    first: dict[object, Seed] = {}
    for seed in found:
        first.setdefault(settings_key(seed.engine, seed.settings), seed)
    return list(first.values())
