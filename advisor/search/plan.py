"""How the bounds of a study are spent: search, then repetitions, then what single changes buy."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Phase = Literal["search", "repeat", "verdict", "ablation"]

DEFAULT_TRIALS = 100
PHASE_ENDS: dict[Phase, float] = {"search": 0.55, "repeat": 0.7, "verdict": 1.0, "ablation": 1.0}
"""Share of the trials that is spent when a phase ends."""
MINUTE_ENDS: dict[Phase, float] = {"search": 0.5, "repeat": 0.7, "verdict": 0.7, "ablation": 1.0}
"""Share of the minutes. A run that decides takes several times as long as a look, and may not take
the time in which single lines are measured: a file of lines of which nobody knows what they buy is
no advice, and a verdict that is open can be left open."""

LEAST_RULES = 2
RULES_SHARE = 0.2
"""Part of the trials that rules of thumb may take, but for the first: the search shall speak
too."""

DEFAULT_TRIAL_SECONDS = 1.6
"""Wall time of a trial, loading included: 100 of them take under three minutes."""
MEASURED_SHARE = 0.5
"""Part of a trial's wall time that is measured; loading and warming up take the rest."""
SHORTEST_SECONDS, LONGEST_SECONDS = 0.3, 60.0
OTHER_SHARE = 0.05
"""Share of the minutes that may be kept for a look at each line of the engine that does not lead:
on a slow machine they would take a tenth."""
LONGEST_SHARE = 0.06
"""Share of the minutes that one trial may take."""


@dataclass(frozen=True)
class Bounds:
    """What a study may use; the first bound that is reached ends it. Both absent: 100 trials."""

    trials: int | None = None
    minutes: float | None = None

    @property
    def planned(self) -> int | None:
        """Number of trials, when trials bound the study."""
        if self.trials is None and self.minutes is None:
            return DEFAULT_TRIALS
        return self.trials

    @property
    def most_rules(self) -> int | None:
        """How many rules of thumb are tried, at most; None for all."""
        return None if self.planned is None else max(LEAST_RULES, int(RULES_SHARE * self.planned))

    @property
    def longest_trial_s(self) -> float | None:
        """Seconds of wall time that a simulated trial may take, where minutes bound the study."""
        return None if self.minutes is None else 60.0 * self.minutes * LONGEST_SHARE

    def measured_seconds(self) -> float:
        """Length of the measured phase of a trial that fits these bounds."""
        wall = DEFAULT_TRIAL_SECONDS
        if self.trials and self.minutes:
            wall = self.minutes * 60.0 / self.trials
        return min(max(wall * MEASURED_SHARE, SHORTEST_SECONDS), LONGEST_SECONDS)


@dataclass
class Spending:
    """How much of the bounds is used. Trials of earlier sessions count; time is that of this
    session."""

    bounds: Bounds
    trials: int = 0
    usual_s: float | None = None
    """What those of earlier sessions took each."""
    now: Callable[[], float] = time.monotonic
    _began: float = field(init=False)
    _trials_before: int = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.now()
        self._trials_before = self.trials

    def _used_trials(self, running: int = 0) -> float:
        """Share of the trials, with so many under way; 1 and more means that none is left."""
        if self.bounds.planned is None:
            return 0.0
        return (self.trials + running) / self.bounds.planned if self.bounds.planned else 1.0

    def _used_minutes(self, ahead_s: float = 0.0) -> float:
        """Share of the minutes so many seconds from now."""
        if self.bounds.minutes is None:
            return 0.0
        elapsed = self.now() - self._began + ahead_s
        return elapsed / (self.bounds.minutes * 60.0) if self.bounds.minutes > 0 else 1.0

    def left(self, phase: Phase = "ablation") -> int:
        """About how many trials the bounds still allow until a phase ends, the last one unless
        another is named."""
        if not self.allows(phase):
            return 0
        by_bound = []
        if self.bounds.planned is not None:
            by_bound.append(PHASE_ENDS[phase] * self.bounds.planned - self.trials)
        if self.bounds.minutes is not None and (each := self._seconds_each()):
            end_s = MINUTE_ENDS[phase] * self.bounds.minutes * 60.0
            left_s = end_s - (self.now() - self._began)
            by_bound.append(left_s / each)
        return max(1, int(min(by_bound, default=1.0)))

    def _seconds_each(self) -> float | None:
        """What a trial takes: as those of this session did, which may run side by side, or as those
        before it; None before there is any."""
        made = self.trials - self._trials_before
        return (self.now() - self._began) / made if made else self.usual_s

    def allows(
        self, phase: Phase, running: int = 0, takes_s: float = 0.0, then_s: float = 0.0
    ) -> bool:
        """Whether a trial of this phase may start beside those that are under way, if it will have
        ended in so many seconds. The search leaves `then_s` seconds to what repeats it, but keeps
        half of its minutes."""
        end = MINUTE_ENDS[phase]
        if then_s and self.bounds.minutes:
            before = MINUTE_ENDS["repeat"] - then_s / (self.bounds.minutes * 60.0)
            end = min(end, max(end / 2.0, before))
        by_trials = self._used_trials(running) < PHASE_ENDS[phase]
        return by_trials and self._used_minutes(takes_s) < end

    def is_out_of_time(self) -> bool:
        """Whether the time bound, not the number of trials, is what ended the study."""
        return self._used_minutes() >= 1.0
