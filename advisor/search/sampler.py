"""Proposals for one engine: Optuna's TPE over the axes of a `Space`, asked and told in memory. Of
several objectives it is Optuna's own multi-objective TPE (Ozaki et al., GECCO 2020).

There is one sampler for each engine rather than one with the engine as a category: the two spaces
share no knob, so a joint model would learn nothing across them, and the share of trials that each
engine gets is then a decision that can be read (`allocate.py`) instead of a by-product of the
model.
"""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.importance import PedAnovaImportanceEvaluator
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from advisor.goal import Direction
from advisor.knobs import Settings
from advisor.search.dominance import Point, Scales, covers, non_dominated
from advisor.search.space import Axis, Space
from advisor.trial import settings_key

# Optuna's own handler writes to stderr, over a full-screen app; without any handler Python would
# write its warnings there too.
optuna.logging.disable_default_handler()
logging.getLogger("optuna").addHandler(logging.NullHandler())

STARTUP_TRIALS = 6
"""Trials before the model speaks; the seeds count among them."""
STEPS = (4, 6, 8)
"""Knobs that a step away from the best settings moves: most of them matter little."""
HOMING = 0.5
"""How often a step takes a changed knob back to where it was, which shows changes that do
nothing."""
ASKS = 40
"""Proposals that may be discarded (over the memory, tried before) before one is made by hand."""
IMPORTANCE_QUANTILE = 0.25
REMEMBERED = 300
"""Trials that the model is made of, half of them the best and half the latest, once there are twice
as many: each proposal costs as much time as all of them, and what a search no longer comes near
says little of where it should go."""

Scores = tuple[float, ...]
"""Of a trial, one for each objective."""
Constraints = Mapping[str, float]
"""How far each constraint is violated, relative to its limit; 0 or less is kept."""


@dataclass(frozen=True)
class Proposal:
    """Settings to try, and Optuna's handle to answer for them."""

    settings: Settings
    handle: optuna.Trial


@dataclass(frozen=True)
class _Known:
    """A trial as a sampler was told of it."""

    settings: Settings
    scores: Scores | None
    constraints: Constraints

    @property
    def excess(self) -> float:
        """By how much all broken constraints together are exceeded."""
        return sum(max(0.0, violation) for violation in self.constraints.values())


class Sampler:
    """Asks for settings of one engine and learns from what they gave."""

    def __init__(self, space: Space, *, directions: Sequence[Direction], seed: int) -> None:
        """One direction for each objective; scores come in their order."""
        self._space = space
        self._random = random.Random(seed)
        self._distributions = {axis.name: _distribution(axis) for axis in space.axes}
        self._tried: set[object] = set()
        self._front: list[tuple[Point, Settings]] = []
        self._asked = 0
        self._directions = directions
        self._known: list[_Known] = []
        # Others are under way when one is asked for: it should not be one of them again.
        self._model = optuna.samplers.TPESampler(
            n_startup_trials=STARTUP_TRIALS, seed=seed, constant_liar=True
        )
        self._study = self._of([])

    def fix(self, settings: Settings) -> Proposal:
        """A proposal of exactly these settings, for a seed."""
        self._study.enqueue_trial(self._space.encode(settings))
        self._tried.add(settings_key(self._space.engine, settings))
        return Proposal(settings, self._study.ask(self._distributions))

    def ask(self) -> Proposal | None:
        """Settings that fit the memory and were not tried; `None` when the space is exhausted.

        The model and small steps away from the best settings take turns: with twenty knobs and as
        many trials a model knows little yet, and a step keeps most of what was good.
        """
        self._asked += 1
        if len(self._study.get_trials(deepcopy=False)) > 2 * REMEMBERED:
            self._study = self._of(self._remembered())
        if self._front and self._asked % 2 == 0:
            step = self._step()
            if step is not None:
                return self.fix(step)
        for _ in range(ASKS):
            handle = self._study.ask(self._distributions)
            settings = self._space.decode(handle.params)
            if self._space.memory_excess(settings) > 0 or self._is_known(settings):
                # Nothing was measured: it is no trial to the model, which takes a part of all.
                self._study.tell(handle, state=TrialState.FAIL)
            else:
                self._tried.add(settings_key(self._space.engine, settings))
                return Proposal(settings, handle)
        step = self._step()
        return None if step is None else self.fix(step)

    def tell(self, proposal: Proposal, scores: Scores | None, constraints: Constraints) -> None:
        """What a proposal gave; no scores mean that its run failed."""
        if proposal.handle.study is not self._study:
            # It was asked for before the model was made anew.
            self.recall(proposal.settings, scores, constraints)
            return
        for name, violation in _violations(scores, constraints).items():
            proposal.handle.set_constraint(name, violation)
        if scores is None:
            self._study.tell(proposal.handle, state=TrialState.PRUNED)
        else:
            self._study.tell(proposal.handle, scores)
        self._remember(_Known(proposal.settings, scores, constraints))

    def recall(self, settings: Settings, scores: Scores | None, constraints: Constraints) -> None:
        """A trial of an earlier session."""
        known = _Known(settings, scores, constraints)
        self._study.add_trial(self._told(known))
        self._remember(known)

    def _of(self, known: Iterable[_Known]) -> optuna.Study:
        """The model of some trials."""
        study = optuna.create_study(directions=self._directions, sampler=self._model)
        study.add_trials(map(self._told, known))
        return study

    def _told(self, known: _Known) -> FrozenTrial:
        return create_trial(
            state=TrialState.PRUNED if known.scores is None else TrialState.COMPLETE,
            values=known.scores,
            params=self._space.encode(known.settings),
            distributions=self._distributions,
            constraints=_violations(known.scores, known.constraints),
        )

    def _remembered(self) -> list[_Known]:
        """The latest trials, and the best of those before them."""
        before, latest = self._known[: -REMEMBERED // 2], self._known[-REMEMBERED // 2 :]
        points = [self._point(one.scores) for one in before if one.scores is not None]
        if not points:
            return latest
        scales = Scales.of([points[place] for place in non_dominated(points)])

        def far(known: _Known) -> tuple[float, float]:
            if known.scores is None:
                return math.inf, math.inf
            return known.excess, scales.from_ideal(self._point(known.scores))

        return [*sorted(before, key=far)[: REMEMBERED // 2], *latest]

    def importance(self) -> dict[str, float]:
        """Share of each knob in reaching the better quarter of the scores (PED-ANOVA), of several
        objectives in being near to the best of each; empty with too few trials."""
        judged = self._of(self._known) if len(self._directions) == 1 else self._by_distance()
        finished = judged.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        if len(finished) < STARTUP_TRIALS or not _tells_apart(finished, judged.direction):
            return {}
        evaluator = PedAnovaImportanceEvaluator(target_quantile=IMPORTANCE_QUANTILE)
        return optuna.importance.get_param_importances(judged, evaluator=evaluator)

    def _by_distance(self) -> optuna.Study:
        """The finished trials with their distance from the ideal point."""
        finished = [self._told(one) for one in self._known if one.scores is not None]
        points = [self._point(trial.values) for trial in finished]
        judged = optuna.create_study(direction="minimize")
        if not points:
            return judged
        scales = Scales.of([points[place] for place in non_dominated(points)])
        for trial, point in zip(finished, points, strict=True):
            judged.add_trial(
                create_trial(
                    value=scales.from_ideal(point),
                    params=trial.params,
                    distributions=trial.distributions,
                )
            )
        return judged

    def _point(self, scores: Sequence[float]) -> Point:
        """The scores, each so that higher is better."""
        pairs = zip(scores, self._directions, strict=True)
        return tuple(score if way == "maximize" else -score for score, way in pairs)

    def _is_known(self, settings: Settings) -> bool:
        return settings_key(self._space.engine, settings) in self._tried

    def _remember(self, known: _Known) -> None:
        self._known.append(known)
        self._tried.add(settings_key(self._space.engine, known.settings))
        if known.scores is None or known.excess > 0:
            return
        point = self._point(known.scores)
        if any(covers(other, point) for other, _ in self._front):
            return
        self._front = [one for one in self._front if not covers(point, one[0])]
        self._front.append((point, known.settings))

    def _start(self) -> Settings:
        """The best settings; of several objectives any of which none is better in all."""
        if not self._front:
            return self._space.base
        one_of = self._random.choice(self._front) if len(self._front) > 1 else self._front[0]
        return one_of[1]

    def _step(self) -> Settings | None:
        """The best settings with some knobs moved."""
        start = self._start()
        for _ in range(ASKS):
            moved = dict(start)
            count = min(self._random.choice(STEPS), len(self._space.axes))
            for axis in self._random.sample(self._space.axes, k=count):
                home = self._space.base[axis.name]
                away = moved[axis.name] != home and self._random.random() < HOMING
                moved[axis.name] = home if away else self._random.choice(axis.values)
            moved = self._space.raised(moved)
            if self._space.memory_excess(moved) <= 0 and not self._is_known(moved):
                return moved
        return None


def _violations(scores: Scores | None, constraints: Constraints) -> dict[str, float]:
    return dict(constraints) if scores is not None else {**constraints, "finished": 1.0}


def _tells_apart(finished: Sequence[FrozenTrial], direction: StudyDirection) -> bool:
    """Whether the better quarter of the scores, at least two, leaves any other out."""
    scores = sorted(
        (trial.values[0] for trial in finished), reverse=direction == StudyDirection.MAXIMIZE
    )
    last = max(2, math.ceil(IMPORTANCE_QUANTILE * len(scores))) - 1
    return bool(scores[last] != scores[-1])


def _distribution(axis: Axis) -> BaseDistribution:
    if axis.ordered:
        return IntDistribution(0, len(axis.values) - 1)
    return CategoricalDistribution(_choices(axis))


def _choices(axis: Axis) -> list[Any]:
    return list(range(len(axis.values)))
