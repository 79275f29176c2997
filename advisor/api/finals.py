"""The end of a search on real engines: which of them can judge it, and their word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from advisor import knobs
from advisor.errors import InputError
from advisor.knobs import Engine
from advisor.real import Library, RealEngine, check_settings, judge_of
from advisor.recommend import Recommendation
from advisor.search import Question, Study
from advisor.store import Store
from advisor.verify import Limits, hold, refuse_unjudged

MINUTES = 15.0
"""What the finalists take where nobody says."""


@dataclass(frozen=True)
class Finals:
    """How many finalists run, for how long, and on what."""

    count: int
    minutes: float
    judges: Mapping[Engine, RealEngine]
    """Of the engines that a real one can judge."""


def asked_finals(
    count: int | None,
    minutes: float,
    rocksdb: str | Path | None,
    server: str | Path | None,
    question: Question,
) -> Finals | None:
    """None where no finalists are asked for. Raises `InputError` where no real engine could judge
    them, before the search."""
    if count is None:
        for name, given in (("rocksdb", rocksdb), ("server", server)):
            if given is not None:
                raise InputError(name, None, str(given), "with finalists alone")
        return None
    refuse_unjudged(question.profile.goal, "finalists")
    if unfit := question.profile.hardware.unfit:
        raise InputError("finalists", None, unfit, "hardware by name, which predictions are of")
    found: dict[Engine, RealEngine] = {}
    refusal: InputError | None = None
    for engine in question.engines:
        try:
            judge = judge_of(engine, question.profile.workload, _path(rocksdb), _path(server))
        except InputError as error:
            refusal = error
            continue
        if isinstance(judge, Library) and engine in question.current:
            check_settings({**knobs.defaults(engine), **question.current[engine]})
        found[engine] = judge
    if not found and refusal is not None:
        raise refusal
    return Finals(count, minutes, found)


def have_judged(finals: Finals, study: Study, advice: Recommendation, store: Store) -> None:
    """Stores which settings the real engine picks, where there is one of the engine that won."""
    judge = finals.judges.get(advice.engine)
    if judge is not None:
        limits, seed = Limits(finals.minutes), study.question.seed
        hold(study, finals.count, study.profile, judge, store, limits, seed=seed)


def _path(given: str | Path | None) -> Path | None:
    return None if given is None else Path(given)
