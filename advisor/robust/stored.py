"""A robustness put together again from its stored runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from advisor.goal import Goal
from advisor.profile import Profile
from advisor.robust.neighbours import Neighbour
from advisor.robust.outcome import Robustness
from advisor.robust.tried import Tried
from advisor.store import RobustRun, RobustSession, Store
from advisor.verify import Contender


def newest(study: str, profile: Profile, store: Store) -> Robustness | None:
    """The newest of a study; None if it has none."""
    session = store.robust_session(study)
    return None if session is None else stored(study, profile.goal, session, store)


def stored(study: str, goal: Goal, session: RobustSession, store: Store) -> Robustness:
    """That of a session, at whose first point all candidates ran."""
    points = tuple(
        Neighbour(one.name, Profile.model_validate(one.profile), one.divergence)
        for one in store.robust_points(session.session)
    )
    runs = store.robust_runs(session.session)
    tried = tuple(
        _tried(list(own), len(points)) for _, own in groupby(runs, key=attrgetter("place"))
    )
    return Robustness(
        study,
        session.session,
        goal,
        session.radius,
        points,
        session.no_mix,
        tried,
        session.ending,
    )


def _tried(runs: Sequence[RobustRun], points: int) -> Tried:
    """One candidate."""
    first, again = runs[0].trial, [run for run in runs if run.again]
    return Tried(
        Contender(runs[0].candidate, first.engine, first.settings),
        tuple(
            tuple(run.trial for run in runs if run.point == point and not run.again)
            for point in range(points)
        ),
        {
            point: tuple(run.trial for run in again if run.point == point)
            for point in {run.point for run in again}
        },
    )
