"""A study whose trials are rows of a recorded table.

The study proposes as it always does, but that the closed forms choose among the rows in place of
random settings. Each proposal, that of a seed too, gives way to the nearest row that was not taken
yet, and the sampler is told of that row's settings, not of its own: a table of random settings
cannot answer for any others. Near is the sum over the axes of the study's space of how far apart
the places on them are, of the length of the axis; values without an order are 1 apart. With fifteen
axes or more nothing is very near, so that a table says less of a sampler than of seeds and forms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from optuna.trial import TrialState

from advisor.analytic.columns import Columns
from advisor.analytic.model import Model
from advisor.evaluate import Setup
from advisor.goal import Direction
from advisor.knobs import Engine, Settings
from advisor.search import Bounds, Event, Question, Study, TrialFinished
from advisor.search import looking as looking_module
from advisor.search import runner as runner_module
from advisor.search.fit import space_of
from advisor.search.sampler import Proposal, Sampler
from advisor.search.seeds import seeds
from advisor.search.space import Space
from advisor.store import Store, StudyRecord
from advisor.trial import Role, Trial, settings_key
from tests.support.recorded import profile_of, recorded, scale_of

NEAR = 0.05
"""Of the best score of a table: what counts as found."""
METRIC = "ops_per_s"


@dataclass(frozen=True)
class Table:
    """The rows of a table as points of the space that a study walks."""

    trials: tuple[Trial, ...]
    space: Space
    points: Any

    @classmethod
    def of(cls, workload: str, engine: Engine) -> Table:
        question = Question(profile_of(workload), engines=(engine,), clock="simulated")
        settled = question.settled(Bounds(), None)
        scale = scale_of(question.profile)
        space = space_of(settled, engine, seeds(settled), scale)
        trials = recorded(workload, engine)
        return cls(trials, space, np.stack([_point(space, one.settings) for one in trials]))

    def nearest(self, settings: Settings, taken: set[int]) -> int:
        """The row nearest to settings among those that were not taken."""
        distance = np.abs(self.points - _point(self.space, settings)).sum(axis=1)
        distance[list(taken)] = np.inf
        return int(np.argmin(distance))

    @property
    def near_best(self) -> int:
        """How many rows are within `NEAR` of the best."""
        goal = self.target
        return sum(one.metrics.get(METRIC, 0.0) >= goal for one in self.trials)

    @property
    def target(self) -> float:
        return (1.0 - NEAR) * max(one.metrics.get(METRIC, 0.0) for one in self.trials)

    def random_looks(self) -> int:
        """The median of how many rows in random order are looked at until one is near the best."""
        rows, near, missed = len(self.trials), self.near_best, 1.0
        for looks in range(1, rows + 1):
            missed *= (rows - near - looks + 1) / (rows - looks + 1)
            if missed <= 0.5:
                return looks
        return rows


def _point(space: Space, settings: Settings) -> Any:
    """A knob with an order has an axis from 0 to 1, any other one for each value, which is 1/2
    there: two that differ are 1 apart."""
    columns: list[float] = []
    for axis in space.axes:
        place = axis.index(settings[axis.name])
        if axis.ordered:
            columns.append(place / (len(axis.values) - 1))
        else:
            columns += [0.5 * (place == i) for i in range(len(axis.values))]
    return np.array(columns)


def looks_until_near(table: Table, workload: str, seed: int, most: int, folder: Path) -> int | None:
    """Looks of a study until one is near the best of its table; None where `most` are too few."""
    engine = table.space.engine
    profile = profile_of(workload)
    question = Question(
        profile,
        engines=(engine,),
        clock="simulated",
        seed=seed,
        seconds=1.0,
        scale=scale_of(profile).factor,
        cold=True,
    )
    scores: list[float] = []

    def watch(event: Event) -> None:
        # What ended beside the last look is no look of its own.
        has_ended = bool(scores) and (scores[-1] >= table.target or len(scores) >= most)
        if isinstance(event, TrialFinished) and not has_ended:
            scores.append(event.score or 0.0)
            if scores[-1] >= table.target or len(scores) >= most:
                study.stop()

    with ExitStack() as patched:
        patched.enter_context(patch.object(looking_module, "Sampler", _snapping(table)))
        patched.enter_context(patch.object(runner_module, "evaluate", _answering(table)))
        patched.enter_context(patch.object(Model, "draw", drawing(table)))
        # Search is about half of a study.
        bounds = Bounds(trials=2 * most)
        study = Study("judged", question, _Forgetful(folder / "x"), bounds=bounds, watcher=watch)
        study.run()
    return len(scores) if scores and scores[-1] >= table.target else None


def _snapping(table: Table) -> type[Sampler]:
    class Snapping(Sampler):
        """Proposes rows alone."""

        def __init__(self, space: Space, *, directions: Sequence[Direction], seed: int) -> None:
            super().__init__(space, directions=directions, seed=seed)
            self._taken: set[int] = set()

        def fix(self, settings: Settings) -> Proposal:
            row = table.nearest(settings, self._taken)
            self._taken.add(row)
            return super().fix(table.trials[row].settings)

        def ask(self) -> Proposal | None:
            asked = super().ask()
            rows = {settings_key("", table.trials[row].settings) for row in self._taken}
            if asked is None or settings_key("", asked.settings) in rows:
                return asked
            self._study.tell(asked.handle, state=TrialState.FAIL)
            return self.fix(asked.settings)

    return Snapping


def drawing(table: Table) -> Callable[..., Columns]:
    """In place of `Model.draw`: the rows of a table."""
    rows = Columns.of([one.settings for one in table.trials])

    def draw(self: Model, *ignored: Any) -> Columns:
        return rows

    return draw


def _answering(table: Table) -> Callable[..., Trial]:
    rows = {settings_key("", one.settings): one for one in table.trials}

    def evaluate(
        setup: Setup, engine: Engine, settings: Settings, *, role: Role, seed: int, **ignored: Any
    ) -> Trial:
        return replace(rows[settings_key("", settings)], role=role, seed=seed)

    return evaluate


class _Forgetful(Store):
    """Keeps nothing."""

    def study(self, name: str) -> StudyRecord | None:
        return None

    def add_study(self, record: StudyRecord) -> None:
        pass

    def trials(self, study: str | None = None, **ignored: Any) -> list[Trial]:
        return []

    def add_trials(self, trials: Sequence[Trial], study: str | None = None) -> list[Trial]:
        return list(trials)
