"""`tune --finalists`: what is refused before the search, and the real engine's word after it."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from advisor import dialects, knobs
from advisor.errors import InputError, TunebenchError
from advisor.knobs import Engine
from advisor.profile import Profile
from advisor.real import ENGINE, Library, check_settings, find, product_of
from advisor.recommend import Recommendation
from advisor.search import Question, Study
from advisor.store import Store
from advisor.verify import Limits, hold, undecided
from tui import delivery, problem
from tui import format as fmt
from tui.options import MINUTES_OF_A_VERDICT
from tui.output import narrate
from tui.verification_line import VerificationLine

OPTION = "--finalists"


@dataclass(frozen=True)
class Finals:
    """What was asked for, and can be had."""

    count: int
    limits: Limits
    library: Library
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
    directory: Path | None,
    question: Question,
    dialect: str | None,
) -> Finals | None:
    """What the options ask for. Raises `InputError` where no real engine could judge the study."""
    if count is None:
        for option, given in (
            ("--finalist-minutes", minutes),
            ("--rocksdb", rocksdb),
            ("--directory", directory),
        ):
            if given is not None:
                raise InputError(option, None, str(given), f"with {OPTION} alone")
        return None
    _refuse_other_engines(question.engines, dialect)
    if ENGINE in question.current:
        check_settings({**knobs.defaults(ENGINE), **question.current[ENGINE]})
    profile, library = problem.predictable(question.profile, None), find(rocksdb)
    narrate(f"the finalists will run on {product_of(library, directory)}")
    return Finals(count, Limits(minutes or MINUTES_OF_A_VERDICT), library, profile, directory)


def _refuse_other_engines(engines: Sequence[Engine], dialect: str | None) -> None:
    if ENGINE not in engines:
        found = f"a search of {' and '.join(engines)}"
        raise InputError(OPTION, None, found, f"--engine {ENGINE}, which a real engine runs")
    if dialect is not None and dialects.engine_of(dialect) != ENGINE:
        spoken = ", ".join(dialects.for_engine(ENGINE))
        raise InputError(
            OPTION, None, f"--to {dialect}", f"one that a real engine judges: {spoken}"
        )


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
    if advice.engine != ENGINE:
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
                finals.library,
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
