"""What the closed forms would try: of many settings the best by their corrected prediction, and
among these the most different."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from advisor.analytic.columns import Columns, Numbers
from advisor.analytic.correction import Correction
from advisor.analytic.model import Model
from advisor.goal import Goal
from advisor.knobs import Engine, Setting, Settings, defaults
from advisor.profile import Profile
from advisor.trial import Key, Trial, settings_key

CANDIDATES = 100_000
SHORTLIST = 2_000
"""Candidates among which different ones are picked."""
LEAST_TRIALS = 4
TELLING = 0.8
"""What is said of formulas that miss by less than this part of what knowing nothing would: the
trials that they are held against first are all sensible, and much alike."""


@dataclass(frozen=True)
class Error:
    """How far the corrected formulas are off, each trial predicted without itself."""

    trials: int
    median: float
    """Half of the trials are missed by less than this part: 0.1 is 10%."""
    worst: float
    rms: float
    """Root mean square of logarithms."""
    blind: float
    """What the mean of the other trials would miss by."""

    @property
    def is_telling(self) -> bool:
        """Whether the formulas know more than nothing."""
        return self.trials >= LEAST_TRIALS and self.rms < TELLING * self.blind


@dataclass(frozen=True)
class Proposals:
    """Settings to try, the most promising first; none where the formulas cannot be held against
    trials enough."""

    settings: tuple[Settings, ...]
    error: Error | None


@dataclass(frozen=True)
class FirstTier:
    """The closed forms of one engine, held against trials."""

    model: Model
    goal: Goal

    @classmethod
    def of(cls, profile: Profile, engine: Engine, *, direct_io: bool = False) -> FirstTier | None:
        """None where nothing is known of the workload, or the formulas do not predict the goal.
        With `direct_io` files pass the page cache by, whatever the settings say."""
        model = Model.of(profile, engine, direct_io=direct_io)
        return None if model is None else cls(model, profile.goal)

    def error(self, trials: Sequence[Trial]) -> Error | None:
        """How well the formulas predict the goal's metric in trials of the engine; None where they
        cannot be held against any."""
        found = self._corrections(trials).get(self.goal.metric)
        return None if found is None else _error(found)

    def propose(
        self,
        values: Mapping[str, Sequence[Setting]],
        trials: Sequence[Trial],
        *,
        count: int,
        seed: int,
        lawful: Callable[[Settings], bool] = lambda settings: True,
        candidates: int = CANDIDATES,
    ) -> Proposals:
        """Settings that were not tried, drawn from these values of the knobs. A knob that the
        formulas do not look at stays as the best trial has it."""
        corrections = self._corrections(trials)
        correction = corrections.get(self.goal.metric)
        if correction is None:
            return Proposals((), None)
        if _error(correction).trials < LEAST_TRIALS:
            return Proposals((), _error(correction))
        drawn = self.model.draw(self._best(trials).settings, values, candidates, seed)
        needed = self.model.needed_bytes(drawn)
        fits = needed <= self.model.profile.memory_bytes
        drawn, needed = drawn.take(fits), needed[fits]
        if not drawn.count:
            return Proposals((), _error(correction))
        predicted = self.model.predict(drawn, needed)
        scores = correction.log(predicted) * self._sign
        for limit in self.goal.limits:
            if (own := corrections.get(limit.metric)) is not None:
                value = np.exp(own.log(predicted))
                beyond = value > limit.value if limit.sign == "<=" else value < limit.value
                scores = np.where(beyond, -np.inf, scores)
        tried = {settings_key(trial.engine, trial.settings) for trial in trials}
        chosen = self._different(drawn, scores, correction.error, count, tried, lawful)
        return Proposals(tuple(chosen), _error(correction))

    def _corrections(self, trials: Sequence[Trial]) -> dict[str, Correction]:
        """Of the goal's metrics, from trials of this engine that measured them all."""
        wanted = self.goal.metrics
        known = [one for one in self._own(trials) if all(name in one.metrics for name in wanted)]
        if not known:
            return {}
        predicted = self._predicted(known)
        found = {
            name: Correction.of(name, predicted, [one.metrics[name] for one in known])
            for name in wanted
        }
        return {name: one for name, one in found.items() if one is not None}

    def _predicted(self, trials: Sequence[Trial]) -> dict[str, Numbers]:
        # A stored trial may be older than some knob.
        known = defaults(self.model.engine)
        settings = Columns.of([{**known, **one.settings} for one in trials])
        return self.model.predict(settings, self.model.needed_bytes(settings))

    def _own(self, trials: Sequence[Trial]) -> list[Trial]:
        """One for each of the engine's settings: what is predicted without a trial shall not be
        told by its repetition."""
        groups: dict[Key, list[Trial]] = {}
        for one in trials:
            if one.engine == self.model.engine and one.finished:
                groups.setdefault(one.key, []).append(one)
        return [_merged(group) for group in groups.values()]

    @property
    def _sign(self) -> float:
        return 1.0 if self.goal.direction == "maximize" else -1.0

    def _best(self, trials: Sequence[Trial]) -> Trial:
        metric = self.goal.metric
        known = [one for one in self._own(trials) if metric in one.metrics]
        return max(known, key=lambda one: self._sign * one.metrics[metric])

    def _different(
        self,
        drawn: Columns,
        scores: Numbers,
        error: float,
        count: int,
        tried: Collection[object],
        lawful: Callable[[Settings], bool],
    ) -> list[Settings]:
        """One after the other the settings with the highest sum of score and distance to those
        already chosen. Over the mean distance of the shortlist it weighs as much as the error: what
        the formulas cannot tell apart, they may as well tell apart by difference."""
        order = np.argsort(-scores, kind="stable")[:SHORTLIST]
        order = order[np.isfinite(scores[order])]
        points = _points(drawn)[order]
        own = scores[order]
        chosen: list[Settings] = []
        nearest = np.full(len(order), np.inf)
        scale = _mean_distance(points)
        while len(chosen) < count and np.isfinite(own).any():
            bonus = error * np.minimum(nearest, 2 * scale) / scale if chosen else 0.0
            pick = int(np.argmax(own + bonus))
            own[pick] = -np.inf
            settings = drawn.settings(int(order[pick]))
            if settings_key(self.model.engine, settings) in tried or not lawful(settings):
                continue
            chosen.append(settings)
            nearest = np.minimum(nearest, np.abs(points - points[pick]).sum(axis=1))
        return chosen


def _merged(trials: Sequence[Trial]) -> Trial:
    """The first of some trials of the same settings, with the medians of all."""
    names = set.intersection(*(set(one.metrics) for one in trials))
    medians = {name: median(one.metrics[name] for one in trials) for name in names}
    return replace(trials[0], metrics=medians)


def _error(found: Correction) -> Error:
    return Error(len(found.misses), found.median, found.worst, found.error, found.blind_error)


def _points(settings: Columns) -> Numbers:
    """Settings in the space of their knobs: a knob with an order from 0 to 1, any other with an
    axis for each of its values."""
    columns = []
    for name, own in settings.values.items():
        places = settings.places[name]
        if any(isinstance(value, str) for value in own):
            columns += [(places == i) / 2.0 for i in range(len(own))]
        else:
            columns.append(places / max(1, len(own) - 1))
    return np.stack(columns, axis=1) if columns else np.zeros((settings.count, 0))


def _mean_distance(points: Numbers) -> float:
    """To the next in order, which is any other."""
    if len(points) < 2:
        return 1.0
    return max(1e-9, float(np.abs(np.diff(points, axis=0)).sum(axis=1).mean()))
