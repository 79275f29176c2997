"""Measurements for the ablation: those of a study's trials, and new ones while its bounds allow."""

from __future__ import annotations

from advisor import knobs
from advisor.errors import InputError
from advisor.evaluate import largest_cache, needed_memory
from advisor.knobs import Engine, Settings
from advisor.search import Candidate, Study
from advisor.search.ranking import candidates
from advisor.search.rules import with_full_cache
from advisor.trial import settings_key


class StudyBench:
    """Reversals on one engine. Without leave to run, only what is stored answers."""

    def __init__(self, study: Study, engine: Engine, *, may_run: bool) -> None:
        self._study = study
        self._engine = engine
        self._may_run = may_run

    def known(self, settings: Settings) -> Candidate | None:
        """What all trials of the study say about these settings."""
        wanted = settings_key(self._engine, settings)
        for candidate in candidates(self._study.trials):
            if settings_key(candidate.engine, candidate.settings) == wanted:
                return candidate if candidate.score(self._study.goal) is not None else None
        return None

    def measure(self, settings: Settings, *, spare: int = 0) -> Candidate | None:
        """One more trial, with the seed that the winner's repetition of the same rank had."""
        if not self._may_run or self._study.runs_left() <= spare:
            return None
        known = self.known(settings)
        seed = self._study.repeat_seed(known.repeats if known else 0)
        trial = self._study.measure(self._engine, settings, "ablation", seed)
        return self.known(settings) if trial is not None and trial.finished else None

    def lawful(self, settings: Settings) -> Settings | None:
        """The settings, with a smaller cache if they would not fit the memory otherwise."""
        try:
            knobs.check(self._engine, settings)
        except InputError:
            return None
        profile = self._study.profile
        if needed_memory(profile, self._engine, settings) <= profile.memory_bytes:
            return settings
        return with_full_cache(
            self._engine, settings, lambda given: largest_cache(profile, self._engine, given)
        )
