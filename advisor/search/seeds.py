"""The settings that a study tries before its samplers speak: the defaults of each engine, what the
user has, and rules of thumb around it."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.evaluate import largest_cache
from advisor.knobs import Engine, Settings
from advisor.search.question import Question
from advisor.search.rules import machine, rules, with_full_cache
from advisor.trial import Role


@dataclass(frozen=True)
class Seed:
    """Settings to try, and why."""

    engine: Engine
    role: Role
    settings: Settings


def seeds(question: Question) -> list[Seed]:
    """All seeds of a settled question, the most telling first; the engines take turns."""
    by_engine = [_of_engine(question, engine) for engine in question.engines]
    rounds = max(len(own) for own in by_engine)
    return [own[i] for i in range(rounds) for own in by_engine if i < len(own)]


def _of_engine(question: Question, engine: Engine) -> list[Seed]:
    found = [Seed(engine, "default", question.defaults(engine))]
    if engine in question.current:
        found.append(Seed(engine, "current", question.current[engine]))
    profile = question.profile
    for rule in rules(engine, machine(profile)):
        settings = {**question.base(engine), **rule.changes}
        filled = with_full_cache(
            engine, settings, lambda given: largest_cache(profile, engine, given)
        )
        if filled is not None:
            found.append(Seed(engine, "rule", filled))
    return found
