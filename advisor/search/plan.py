"""How the bounds of a study are spent: search, then repetitions, then the reversal of single
changes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Phase = Literal["search", "repeat", "ablation"]

DEFAULT_TRIALS = 40
PHASE_ENDS: dict[Phase, float] = {"search": 0.55, "repeat": 0.7, "ablation": 1.0}
"""Share of the bounds that is spent when a phase ends."""

DEFAULT_TRIAL_SECONDS = 2.5
"""Wall time of a trial, loading included: 40 of them take under two minutes."""
MEASURED_SHARE = 0.5
"""Part of a trial's wall time that is measured; loading and warming up take the rest."""
SHORTEST_SECONDS, LONGEST_SECONDS = 0.3, 60.0


@dataclass(frozen=True)
class Bounds:
    """What a study may use; the first bound that is reached ends it. Both absent: 40 trials."""

    trials: int | None = None
    minutes: float | None = None

    @property
    def planned(self) -> int | None:
        """Number of trials, when trials bound the study."""
        if self.trials is None and self.minutes is None:
            return DEFAULT_TRIALS
        return self.trials

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
    now: Callable[[], float] = time.monotonic
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.now()

    def used(self) -> float:
        """Share of the bound that is nearest to its end; 1 and more means that nothing is left."""
        shares = [0.0]
        if self.bounds.planned is not None:
            shares.append(self.trials / self.bounds.planned if self.bounds.planned else 1.0)
        if self.bounds.minutes is not None:
            elapsed = self.now() - self._began
            shares.append(
                elapsed / (self.bounds.minutes * 60.0) if self.bounds.minutes > 0 else 1.0
            )
        return max(shares)

    def left(self) -> int:
        """About how many trials the bounds still allow."""
        used = self.used()
        if used >= 1.0:
            return 0
        if self.bounds.minutes is None or not self.trials:
            return (self.bounds.planned or 1) - self.trials
        return max(1, int(self.trials * (1.0 - used) / used)) if used > 0 else 1

    def allows(self, phase: Phase) -> bool:
        """Whether a trial of this phase may start."""
        return self.used() < PHASE_ENDS[phase]

    def is_out_of_time(self) -> bool:
        """Whether the time bound, not the number of trials, is what ended the study."""
        if self.bounds.minutes is None:
            return False
        return self.now() - self._began >= self.bounds.minutes * 60.0
