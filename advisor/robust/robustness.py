"""Runs the candidates of a study at what was asked and at its neighbours, and keeps every run.

As in a study, the smallest copies say which settings to look at, and the next larger ones decide.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence

from advisor.core import Core
from advisor.errors import InputError, WorkError
from advisor.evaluate import Setup, choose_scale
from advisor.goal import refuse_several
from advisor.recommend import recommend
from advisor.robust.mixes import RADIUS
from advisor.robust.neighbours import Neighbour, longer, neighbours
from advisor.robust.outcome import Robustness
from advisor.robust.rivals import fits, rivals
from advisor.robust.stored import stored
from advisor.scale import RUNGS, Ladder, Scale
from advisor.search import Study
from advisor.search.runner import Job, Runner
from advisor.store import RobustPoint, RobustSession, Store
from advisor.verify import Contender, decided

RUNS = 2
"""Runs of each candidate at each point, with seeds of their own: they tell the noise."""
MORE = 2
"""So many times as many runs follow those after a choice where noise leaves open what they were
made to tell."""
SEEDS = 20_000
"""Seeds begin so far behind those of the study: no decision of it saw them."""


def robust(
    study: Study,
    store: Store,
    *,
    radius: float = RADIUS,
    runs: int = RUNS,
    minutes: float | None = None,
    on_point: Callable[[int, int, Neighbour], None] = lambda number, of, point: None,
    stopped: Callable[[], bool] = lambda: False,
    core: Core | None = None,
) -> Robustness:
    """Runs what a study recommends and its rivals at each point, then the choice beside what is
    recommended where that decides, with fresh seeds and on a larger copy.

    `on_point` is told what runs next, with its number from 1. After so many minutes, or once
    `stopped` says so, no further run begins, and a point that was not finished is left out.
    Raises `InputError` for a study that was not simulated or has several objectives, `WorkError`
    where no trial of it finished or the end came before the first point was done, and what
    `evaluate` does.
    """
    if study.question.clock != "simulated":
        found = f"study {study.name} was {study.question.clock}"
        raise InputError("robust", None, found, "a simulated study")
    refuse_several(study.goal, "robust", f"study {study.name}")
    advice = decided(study, recommend(study, measure=False))
    points, no_mix = neighbours(study.profile, radius)
    walk = _Walk(study, store, core, rivals(study, advice, points), stopped, minutes)
    number = 0
    for number, point in enumerate(points):
        on_point(number + 1, len(points), point)
        if not walk.run(number, point, runs):
            break
    else:
        number += 1
    if number == 0:
        raise WorkError(f"robust: {walk.ending} before the first point was done")

    def known() -> Robustness:
        session = RobustSession(walk.session, radius, no_mix, walk.ending)
        return stored(study.name, study.profile.goal, session, store)

    _decide(walk, known, points, runs)
    store.end_robust(study.name, RobustSession(walk.session, radius, no_mix, walk.ending))
    return known()


def _decide(
    walk: _Walk, known: Callable[[], Robustness], points: Sequence[Neighbour], runs: int
) -> None:
    """What was chosen for looking best flatters itself: its gain is that of other runs. Where these
    do not bear it out, the next is the choice."""
    fresh, more = range(runs, 2 * runs), range(2 * runs, (2 + MORE) * runs)
    while walk.ending == "complete":
        found = known()
        choice = found.choice
        if choice is found.recommended or choice.again:
            return
        own = found.tried.index(choice)
        for seeds, asked in ((fresh, Robustness.decisive), (more, Robustness.unsettled)):
            now = known()
            for point in asked(now, now.tried[own]):
                ran = len(now.recommended.again.get(point, ()))
                places = (0, own) if ran < seeds.stop - runs else (own,)
                if not walk.run_again(point, points[point], places, seeds):
                    return


class _Walk:
    """One session."""

    def __init__(
        self,
        study: Study,
        store: Store,
        core: Core | None,
        contenders: Sequence[Contender],
        stopped: Callable[[], bool],
        minutes: float | None,
    ) -> None:
        self.session = str(uuid.uuid4())
        self.ending = "complete"
        self._study = study
        self._store = store
        self._core = core
        self._contenders = contenders
        self._stopped = stopped
        self._end = None if minutes is None else time.monotonic() + 60 * minutes

    def run(self, number: int, point: Neighbour, runs: int) -> bool:
        """All candidates at a point; whether they all ran."""
        places = range(len(self._contenders))
        if not self._carry_out(number, point, places, range(runs), again=False):
            return False
        self._store.add_robust_point(
            self.session,
            number,
            RobustPoint(point.name, point.divergence, point.profile.document()),
        )
        return True

    def run_again(
        self, number: int, point: Neighbour, places: Sequence[int], seeds: range
    ) -> bool:  # fmt: skip
        """Some candidates on a larger copy, with seeds that no choice saw; whether they all ran."""
        return self._carry_out(number, point, places, seeds, again=True)

    def _carry_out(
        self,
        number: int,
        point: Neighbour,
        places: Sequence[int],
        seeds: range,
        *,
        again: bool,
    ) -> bool:
        question = self._study.question
        scale = Scale(question.scale) if question.scale else choose_scale(point.profile)
        ladder = Ladder.above(scale, point.profile.data_bytes, RUNGS)
        rung = ladder.top if again else 0
        setup = Setup(
            point.profile,
            ladder.rungs[rung],
            question.seconds or 0.0,
            "simulated",
            core=self._core,
            times=ladder.work(rung) * longer(point.profile, self._study.profile),
            direct_io=point.profile.passes_page_cache,
        )
        asked: list[int] = []

        def jobs() -> Iterator[Job]:
            for nth in seeds:
                for place in places:
                    one = self._contenders[place]
                    if nth > seeds.start and not fits(point, one.engine, one.settings):
                        continue
                    if self._is_over():
                        return
                    asked.append(place)
                    seed = question.seed + SEEDS + nth
                    yield Job(one.engine, one.settings, "robust", seed, 0)

        for done, (_, answer) in enumerate(Runner([setup]).answers(jobs())):
            place = asked[done]
            name = self._contenders[place].name
            self._store.add_robust(
                self.session, self._study.name, place, name, number, again, answer.trial
            )
        return self.ending == "complete"

    def _is_over(self) -> bool:
        if self._stopped():
            self.ending = "interrupted"
        elif self._end is not None and time.monotonic() > self._end:
            self.ending = "out of time"
        return self.ending != "complete"
