"""A candidate with its runs at what was asked and at its neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from advisor.search import Candidate
from advisor.trial import Trial
from advisor.verify import Contender


@dataclass(frozen=True)
class Tried:
    """A candidate at every point."""

    contender: Contender
    runs: tuple[tuple[Trial, ...], ...]
    """By point."""
    again: Mapping[int, tuple[Trial, ...]]
    """Those that were made after the choice, by point."""

    def at(self, point: int) -> Candidate | None:
        """Its finished runs at a point."""
        return self._finished(self.runs[point])

    def after(self, point: int) -> Candidate | None:
        """Its finished runs after the choice."""
        return self._finished(self.again.get(point, ()))

    def why_not(self, point: int) -> str:
        """Why it has no finished run at a point; empty if it has."""
        if self.at(point) is not None:
            return ""
        last = self.runs[point][-1]
        return "does not fit" if last.outcome == "rejected" else f"failed: {last.error}"

    def _finished(self, trials: Sequence[Trial]) -> Candidate | None:
        known = tuple(trial for trial in trials if trial.finished)
        one = self.contender
        return Candidate(one.engine, one.settings, known) if known else None
