"""Proposals for one engine: Optuna's TPE over the axes of a `Space`, asked and told in memory.

There is one sampler for each engine rather than one with the engine as a category: the two spaces
share no knob, so a joint model would learn nothing across them, and the share of trials that each
engine gets is then a decision that can be read (`allocate.py`) instead of a by-product of the
model.
"""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.importance import PedAnovaImportanceEvaluator
from optuna.trial import TrialState, create_trial

from advisor.knobs import Settings
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

Constraints = Mapping[str, float]
"""How far each constraint is violated, relative to its limit; 0 or less is kept."""


@dataclass(frozen=True)
class Proposal:
    """Settings to try, and Optuna's handle to answer for them."""

    settings: Settings
    handle: optuna.Trial


class Sampler:
    """Asks for settings of one engine and learns from what they gave."""

    def __init__(self, space: Space, *, maximize: bool, seed: int) -> None:
        self._space = space
        self._random = random.Random(seed)
        self._distributions = {axis.name: _distribution(axis) for axis in space.axes}
        self._tried: set[object] = set()
        self._best: tuple[float, Settings] | None = None
        self._asked = 0
        self._maximize = maximize
        self._study = optuna.create_study(
            direction="maximize" if maximize else "minimize",
            sampler=optuna.samplers.TPESampler(n_startup_trials=STARTUP_TRIALS, seed=seed),
        )

    def fix(self, settings: Settings) -> Proposal:
        """A proposal of exactly these settings, for a seed."""
        self._study.enqueue_trial(self._space.encode(settings))
        return Proposal(settings, self._study.ask(self._distributions))

    def ask(self) -> Proposal | None:
        """Settings that fit the memory and were not tried; `None` when the space is exhausted.

        The model and small steps away from the best settings take turns: with twenty knobs and as
        many trials a model knows little yet, and a step keeps most of what was good.
        """
        self._asked += 1
        if self._best is not None and self._asked % 2 == 0:
            step = self._step()
            if step is not None:
                return self.fix(step)
        for _ in range(ASKS):
            handle = self._study.ask(self._distributions)
            settings = self._space.decode(handle.params)
            excess = self._space.memory_excess(settings)
            if excess > 0:
                handle.set_constraint("memory", excess)
                self._study.tell(handle, state=TrialState.PRUNED)
            elif self._is_known(settings):
                self._study.tell(handle, state=TrialState.FAIL)
            else:
                return Proposal(settings, handle)
        step = self._step()
        return None if step is None else self.fix(step)

    def tell(self, proposal: Proposal, score: float | None, constraints: Constraints) -> None:
        """What a proposal gave; no score means that its run failed."""
        for name, violation in constraints.items():
            proposal.handle.set_constraint(name, violation)
        if score is None:
            proposal.handle.set_constraint("finished", 1.0)
            self._study.tell(proposal.handle, state=TrialState.PRUNED)
        else:
            self._study.tell(proposal.handle, score)
        self._remember(proposal.settings, score, constraints)

    def forget(self, proposal: Proposal) -> None:
        """Drops a proposal that was not carried out."""
        self._study.tell(proposal.handle, state=TrialState.FAIL)

    def recall(self, settings: Settings, score: float | None, constraints: Constraints) -> None:
        """A trial of an earlier session."""
        violations = dict(constraints) if score is not None else {**constraints, "finished": 1.0}
        self._study.add_trial(
            create_trial(
                state=TrialState.PRUNED if score is None else TrialState.COMPLETE,
                value=score,
                params=self._space.encode(settings),
                distributions=self._distributions,
                constraints=violations,
            )
        )
        self._remember(settings, score, constraints)

    def importance(self) -> dict[str, float]:
        """Share of each knob in reaching the better quarter of the scores (PED-ANOVA); empty with
        too few trials."""
        finished = self._study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        if len(finished) < STARTUP_TRIALS or not self._tells_apart(finished):
            return {}
        evaluator = PedAnovaImportanceEvaluator(target_quantile=IMPORTANCE_QUANTILE)
        return optuna.importance.get_param_importances(self._study, evaluator=evaluator)

    def _tells_apart(self, finished: Sequence[optuna.trial.FrozenTrial]) -> bool:
        """Whether the better quarter of the scores, at least two, leaves any other out."""
        scores = sorted((trial.values[0] for trial in finished), reverse=self._maximize)
        last = max(2, math.ceil(IMPORTANCE_QUANTILE * len(scores))) - 1
        return bool(scores[last] != scores[-1])

    def _is_known(self, settings: Settings) -> bool:
        return settings_key(self._space.engine, settings) in self._tried

    def _remember(self, settings: Settings, score: float | None, constraints: Constraints) -> None:
        self._tried.add(settings_key(self._space.engine, settings))
        if score is None or any(violation > 0 for violation in constraints.values()):
            return
        sign = 1.0 if self._maximize else -1.0
        if self._best is None or sign * score > sign * self._best[0]:
            self._best = (score, settings)

    def _step(self) -> Settings | None:
        """The best settings with some knobs moved."""
        start = self._best[1] if self._best is not None else self._space.base
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


def _distribution(axis: Axis) -> BaseDistribution:
    if axis.ordered:
        return IntDistribution(0, len(axis.values) - 1)
    return CategoricalDistribution(_choices(axis))


def _choices(axis: Axis) -> list[Any]:
    return list(range(len(axis.values)))
