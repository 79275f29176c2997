"""`tune --finalists`: what is refused before the search, and the real engine's word after it."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from advisor import dialects, knobs
from advisor.errors import InputError, TunebenchError
from advisor.knobs import Engine
from advisor.profile import Profile
from advisor.real import Library, RealEngine, check_settings, judge_of, product_of
from advisor.recommend import Recommendation
from advisor.search import Question, Study
from advisor.store import Store
from advisor.verify import Limits, hold, refuse_unjudged, undecided
from tui import delivery, problem
from tui import format as fmt
from tui.output import narrate
from tui.verification_line import VerificationLine

OPTION = "--finalists"


@dataclass(frozen=True)
class Finals:
    """What was asked for, and can be had."""

    count: int
    limits: Limits
    judges: Mapping[Engine, RealEngine]
    """Of the engines that a real one can judge."""
    profile: Profile
    """The study's, which can be predicted for."""
    directory: Path | None


@dataclass(frozen=True)
class Ended:
    """How it ended: the advice in any case."""

    advice: Recommendation
    is_interrupted: bool = False
    error: TunebenchError | None = None
    """Why the finalists could not run."""


def asked_for(
    count: int | None,
    minutes: float | None,
    rocksdb: Path | None,
    server: Path | None,
    directory: Path | None,
    question: Question,
    dialect: str | None,
) -> Finals | None:
    """What the options ask for. Raises `InputError` where no real engine could judge the study."""
    if count is None:
        for option, given in (
            ("--finalist-minutes", minutes),
            ("--rocksdb", rocksdb),
            ("--server", server),
            ("--directory", directory),
        ):
            if given is not None:
                raise InputError(option, None, str(given), f"with {OPTION} alone")
        return None
    refuse_unjudged(question.profile.goal, OPTION)
    judges = _judges(question, dialect, rocksdb, server, directory)
    profile = problem.predictable(question.profile, None)
    longest = max(map(problem.minutes_of_a_verdict, judges.values()))
    return Finals(count, Limits(minutes or longest), judges, profile, directory)


def _judges(
    question: Question,
    dialect: str | None,
    rocksdb: Path | None,
    server: Path | None,
    directory: Path | None,
) -> dict[Engine, RealEngine]:
    """The real engine of each engine that can win, as far as there are any. Raises `InputError` if
    there is none."""
    found: dict[Engine, RealEngine] = {}
    wanted = question.engines if dialect is None else (dialects.engine_of(dialect),)
    refusal: InputError | None = None
    for engine in (one for one in question.engines if one in wanted):
        try:
            judge = problem.told(judge_of(engine, question.profile.workload, rocksdb, server))
        except InputError as error:
            refusal = error
            continue
        if isinstance(judge, Library):
            if engine in question.current:
                check_settings({**knobs.defaults(engine), **question.current[engine]})
            product = product_of(judge, directory)
        else:
            product = f"{judge.storage} of {judge.path}"
        narrate(f"the finalists of the {engine} engine will run on {product}")
        found[engine] = judge
    if not found and refusal is not None:
        raise refusal
    return found


def run(
    finals: Finals,
    study: Study,
    store: Store,
    advice: Recommendation,
    dialect: str | None,
    current: Path | None,
    seed: int,
) -> Ended:
    """Lets the real engine have the last word on the advice of a search. Whatever comes between,
    the advice that there was stays."""
    judge = finals.judges.get(advice.engine)
    if judge is None:
        why = f"{advice.engine} won, which no real engine here runs"
        narrate(f"the finalists did not run: {why}")
        return Ended(undecided(advice, why))
    narrate(f"the search is done; its best run on the real engine, {finals.limits.minutes:g} min")
    ending = "interrupted"
    # An interrupt that comes before the first stored run has nothing to keep.
    with suppress(KeyboardInterrupt), VerificationLine() as line:
        try:
            found = hold(
                study,
                finals.count,
                finals.profile,
                judge,
                store,
                finals.limits,
                seed=seed,
                directory=finals.directory,
                on_event=line.tell,
                on_interval=line.see,
            )
        except TunebenchError as error:
            return Ended(undecided(advice, str(error)), error=error)
        ending = found.ending or ending
        narrate(f"the finalists ended after {fmt.counted(found.rounds, 'round')}: {ending}")
    if ending == "interrupted":
        narrate("what they measured is kept; the recommendation is that of the search")
        return Ended(undecided(advice, "they were interrupted"), is_interrupted=True)
    return Ended(delivery.advice_for(study, dialect, current, measure=False))
