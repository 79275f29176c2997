"""Measurements for the answer: those of a study's trials, and new ones while its bounds allow.

What an earlier answer measured is not shown at once. It is uncovered run by run as the same
settings are asked for again, so that whoever decides after each run decides the same when stored
trials are read again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from advisor import knobs
from advisor.errors import InputError
from advisor.evaluate import fits_memory
from advisor.goal import Goal
from advisor.knobs import Engine, Settings
from advisor.noise import Noise
from advisor.recommend.limits import Noises
from advisor.recommend.verdict import VERDICT_LEVEL, compare
from advisor.search import VERDICT_RUNS, Candidate, Study
from advisor.search.ranking import candidates, noise_of
from advisor.search.squeeze import with_full_cache
from advisor.trial import AGAIN, ANSWERING, Trial, settings_key

FINAL_SEEDS = 10_000
"""Seeds of the final runs begin so far behind the others: no decision saw them."""


class StudyBench:
    """Runs on one engine. Without leave to run, only what is stored answers."""

    def __init__(
        self, study: Study, goal: Goal, engine: Engine, *, may_run: bool, looks: bool = False
    ) -> None:
        """`goal` is what the answer is judged by. With `looks` the runs are those of the lowest
        rung, which are many and short, in place of those that decide."""
        self._study = study
        self._rung = 0 if looks else None
        # One run of what has to be compared takes the time of several looks and tells nothing.
        self._decides = bool(study.rung_below) and not looks
        self._goal = goal
        self._engine = engine
        self._may_run = may_run
        self._shown: dict[object, list[Trial]] = defaultdict(list)
        self._covered: dict[object, list[Trial]] = defaultdict(list)
        for trial in study.looks if looks else study.evidence:
            key = settings_key(trial.engine, trial.settings)
            if trial.role == "ablation":
                self._covered[key].append(trial)
            elif trial.role not in ANSWERING and trial.finished:
                self._shown[key].append(trial)
        self._noises: Noises | None = None
        self.is_exhausted = False
        """Whether the last runs that were asked for were more than the bounds allow."""

    def known(self, settings: Settings) -> Candidate | None:
        """What the trials that were shown so far say about these settings."""
        shown = self._shown.get(self._key(settings))
        return self._scored(shown or [])

    def smaller(self, one: Candidate) -> Candidate | None:
        """The same settings on the next smaller copy, as far as they were run there."""
        return self._of(self._study.rung_below, one.settings)

    def measure(self, wanted: Sequence[Settings], *, spare: int = 0) -> None:
        """One more run of each of these settings, the stored ones first, as far as the bounds allow
        runs beyond `spare` others."""
        missing = [one for one in wanted if not self._covered[self._key(one)]]
        made = self._run(missing, spare)
        self.is_exhausted = len(made) < len(missing)
        for settings in wanted:
            key = self._key(settings)
            if self._covered[key]:
                trial = self._covered[key].pop(0)
            elif made:
                trial = made.pop(0)
            else:
                continue
            if trial.finished:
                self._shown[key].append(trial)
        self._noises = None

    def noises(self) -> Noises:
        """Of the goal's metrics, from all settings that were shown more than once."""
        if self._noises is None:
            self._noises = {metric: self._noise(metric) for metric in self._goal.metrics}
        return self._noises

    def lawful(self, settings: Settings) -> Settings | None:
        """The settings, with a smaller cache if they would not fit the memory otherwise."""
        try:
            knobs.check(self._engine, settings)
        except InputError:
            return None
        profile = self._study.profile
        if fits_memory(profile, self._engine, settings):
            return settings
        return with_full_cache(profile, self._engine, settings)

    def finals(self, settings: Settings) -> Candidate | None:
        """The final runs of these settings."""
        return self._of([t for t in self._study.evidence if t.role == "final"], settings)

    def noise_of_finals(self) -> Noise:
        """Of the goal's metric, from what was run more than once among the final runs, and among
        those that were shown."""
        finals = candidates(t for t in self._study.evidence if t.role == "final")
        return noise_of([*finals, *self._repeated()], self._goal.metric)

    def all_finals(self) -> list[Candidate]:
        """The final runs on this engine, by settings."""
        found = candidates(t for t in self._study.evidence if t.role == "final")
        return [one for one in found if one.engine == self._engine and one.score(self._goal)]

    def all_runs(self, settings: Settings) -> Candidate | None:
        """All runs of these settings but final ones, which are of another kind."""
        others = [t for t in self._study.evidence if t.role != "final"]
        return self._of(others, settings)

    def shown(self, settings: Settings) -> Candidate | None:
        """The final runs of settings; where they have too few for a verdict, the others."""
        finals, others = self.finals(settings), self.all_runs(settings)
        enough = finals is not None and len(finals.trials) >= VERDICT_RUNS
        return finals if enough else others or finals

    def side_by_side(self, one: Settings, base: Settings) -> tuple[Candidate, Candidate] | None:
        """Runs of settings and of their base that were made after the settings were found, of the
        same kind: final ones, or others where these alone are enough for a verdict; all of them
        where it takes these to tell the two apart. Others chose among the last few settings, so
        that what they say of the one that was chosen is a little too good."""
        again, before = self.all_runs(one), self.all_runs(base)
        if again is not None:
            again = self._scored([t for t in again.trials if t.role in AGAIN])
        pairs = [(self.finals(one), self.finals(base)), (again, before)]
        whole = [(mine, other) for mine, other in pairs if mine is not None and other is not None]
        enough = (pair for pair in whole if min(len(c.trials) for c in pair) >= VERDICT_RUNS)
        found = next(enough, whole[0] if whole else None)
        if found is not None and self._is_told(found):
            return found
        return self.all_later(one, base) or found

    def all_later(self, one: Settings, base: Settings) -> tuple[Candidate, Candidate] | None:
        """All runs of settings and of their base that were made after the settings were found,
        final ones and others, where these tell the two apart as surely as a verdict is."""
        mine, other = self.later(one), self.later(base)
        if mine is None or other is None or not self._is_told((mine, other)):
            return None
        return mine, other

    def later(self, settings: Settings) -> Candidate | None:
        """All runs of these settings that were made after they were found."""
        return self._of([t for t in self._study.evidence if t.role in AGAIN], settings)

    def missing_look(self, settings: Settings) -> tuple[Engine, Settings, int] | None:
        """A run of these settings with the seed of the search, as the study makes it on the next
        smaller copy; None where there is one, or no such copy, or they do not fit."""
        below = self._study.rung_below
        if not below or self._of(below, settings) or self.lawful(settings) != settings:
            return None
        return self._engine, settings, self._study.question.seed

    def final_run(self, settings: Settings, number: int) -> tuple[Engine, Settings, int]:
        """A final run of these settings, as the study makes it; all of the same number have the
        same seed."""
        return self._engine, settings, self._study.question.repeat_seed(FINAL_SEEDS + number)

    def lacks(self, settings: Settings, runs: int) -> range:
        """The numbers of the final runs that these settings lack, to have so many behind the one
        that found them."""
        later, finals = self.later(settings), self.finals(settings)
        first = len(finals.trials) if finals else 0
        return range(first, first + runs - (len(later.trials) if later else 0))

    def _run(self, wanted: Sequence[Settings], spare: int) -> list[Trial]:
        room = self._study.runs_left(self._rung, beyond=spare) if self._may_run else 0
        if self._decides and room < max(VERDICT_RUNS, len(wanted)):
            return []
        runs = []
        for settings in wanted[: max(0, room)]:
            known = self.known(settings)
            seed = self._study.question.repeat_seed(known.repeats if known else 0)
            runs.append((self._engine, settings, seed))
        return self._study.measure(runs, "ablation", self._rung) if runs else []

    def _is_told(self, pair: tuple[Candidate, Candidate]) -> bool:
        found = compare(self._goal, self.noise_of_finals(), *pair, level=VERDICT_LEVEL)
        return found is not None and not found.within_noise

    def _noise(self, metric: str) -> Noise:
        return noise_of(self._repeated(), metric)

    def _repeated(self) -> Iterator[Candidate]:
        """What was shown, by settings."""
        return (Candidate(t[0].engine, t[0].settings, tuple(t)) for t in self._shown.values() if t)

    def _of(self, trials: Sequence[Trial], settings: Settings) -> Candidate | None:
        key = self._key(settings)
        mine = [t for t in trials if settings_key(t.engine, t.settings) == key]
        return self._scored([t for t in mine if t.finished])

    def _scored(self, trials: list[Trial]) -> Candidate | None:
        if not trials:
            return None
        candidate = Candidate(trials[0].engine, trials[0].settings, tuple(trials))
        return candidate if candidate.score(self._goal) is not None else None

    def _key(self, settings: Settings) -> object:
        return settings_key(self._engine, settings)


class FinalRuns:
    """The final runs on a bench as one that makes no other."""

    is_exhausted = True

    def __init__(self, bench: StudyBench, goal: Goal) -> None:
        self._bench, self._goal = bench, goal

    def known(self, settings: Settings) -> Candidate | None:
        """The final runs of these settings."""
        return self._bench.finals(settings)

    def measure(self, wanted: Sequence[Settings], *, spare: int) -> None:
        """Makes no run."""

    def noises(self) -> Noises:
        """That of the goal's metric is of the final runs too."""
        return {**self._bench.noises(), self._goal.metric: self._bench.noise_of_finals()}

    def lawful(self, settings: Settings) -> Settings | None:
        """As `StudyBench.lawful`."""
        return self._bench.lawful(settings)
