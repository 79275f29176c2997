"""A verification put together again from its stored runs."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter

from advisor.profile import Profile
from advisor.scale import Scale
from advisor.store import Store, VerifiedRun
from advisor.trial import Trial
from advisor.verify.contenders import Contender
from advisor.verify.outcome import Compared, Sizing, Verification, failure


def newest(study: str, profile: Profile, store: Store) -> Verification | None:
    """The newest verification of a study in which the real engine finished a run of the base of
    comparison."""
    session = store.verified_session(study)
    return None if session is None else stored(study, profile, session, store)


def stored(study: str, profile: Profile, session: str, store: Store) -> Verification:
    """The verification of this session, which has runs."""
    runs = store.verified_runs(session)
    found = [_compared(list(mine)) for _, mine in groupby(runs, attrgetter("place"))]
    done = (operations_of(run.trial) for run in runs if run.trial.finished)
    sizing = Sizing.of(profile, Scale(runs[0].trial.scale), next(done, 0))
    return Verification.of(study, session, profile, found, sizing, None)


def operations_of(trial: Trial) -> int:
    """Of the measured phase, as stored trials have them without their intervals."""
    return round(sum(latencies["count"] for latencies in trial.by_operation.values()))


def _compared(runs: list[VerifiedRun]) -> Compared:
    """One contender."""
    finished = [run for run in runs if run.trial.finished]
    failed = [run for run in runs if run.round and not run.trial.finished]
    return Compared(
        contender=Contender(runs[0].contender, runs[0].trial.engine, runs[0].trial.settings),
        predicted=tuple(run.trial for run in finished if not run.round),
        real=tuple(run.trial for run in finished if run.round),
        error=failure(failed[0].trial, failed[0].round) if failed else None,
    )
