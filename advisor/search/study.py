"""A study: Optuna proposes, trials answer, each answer is stored before the next is asked for.

The bounds are spent in three phases: search (seeds first, then the samplers), repetition (the best
settings and the defaults once more, interleaved and with fresh seeds, because one wall-clock run
proves little), and ablation, which `recommend` carries out through `Study.measure`. A study resumes
by its name: what is stored is told to the samplers again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from advisor import core as bridge
from advisor.core import Cancelled, Core
from advisor.errors import InputError
from advisor.evaluate import Refused, Setup, choose_scale, evaluate
from advisor.knobs import Engine, Settings
from advisor.search.allocate import next_engine
from advisor.search.events import (
    BestChanged,
    Ending,
    IntervalSeen,
    StudyFinished,
    TrialFinished,
    TrialStarted,
    Watcher,
)
from advisor.search.fit import lean_seed, refuse_unanswerable, space_of
from advisor.search.plan import Bounds, Phase, Spending
from advisor.search.question import Question, stored_question
from advisor.search.ranking import (
    VERDICT_RUNS,
    Candidate,
    best,
    candidates,
    ranked,
    signed,
    violations,
)
from advisor.search.sampler import Proposal, Sampler
from advisor.search.seeds import Seed, seeds
from advisor.search.space import Space
from advisor.spec import Interval
from advisor.store import Store, default_path
from advisor.store.lease import leased
from advisor.trial import Role, Trial, settings_key

CONTENDERS = 3
"""Settings that are repeated besides the baselines and the best of the other engine."""


class Study:
    """A search for the best engine and settings. `run` is called in one thread; `stop` and `cancel`
    in any."""

    def __init__(
        self,
        name: str,
        question: Question,
        store: Store,
        *,
        bounds: Bounds | None = None,
        directory: Path | None = None,
        core: Core | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        """Makes the study, or takes up the stored one of this name.

        Raises `InputError` for settings that an engine does not accept, and for a name that stands
        for another question.
        """
        self.name = name
        self.bounds = bounds or Bounds()
        stored = store.study(name)
        self.question = question.settled(self.bounds, stored)
        self.profile = question.profile
        self.goal = question.profile.goal
        self.engines = self.question.engines
        core = core or bridge.load()
        if stored is None:
            refuse_unanswerable(self.question)
            store.add_study(self.question.record(name, core))
        else:
            self.question.refuse_unless_same(stored)
        self._store = store
        self._watcher = watcher or (lambda event: None)
        self._stopping = threading.Event()
        self._cancelling = threading.Event()
        self._setup = Setup(
            self.profile,
            choose_scale(self.profile),
            self.question.seconds or 0.0,
            question.clock,
            directory,
            core,
        )
        self._is_alone = False
        self._refusals: list[Refused] = []
        self._seeds = seeds(self.question)
        self.spaces: dict[Engine, Space] = {
            engine: space_of(self.question, engine, self._seeds, self._setup.scale)
            for engine in self.engines
        }
        self._seeds += self._lean_seeds()
        self._take_up(store.trials(name))

    @classmethod
    def load(
        cls,
        name: str,
        store: Store,
        *,
        bounds: Bounds | None = None,
        directory: Path | None = None,
        core: Core | None = None,
        watcher: Watcher | None = None,
    ) -> Study:
        """The stored study of this name, ready to go on. Raises `InputError` if there is none."""
        return cls(
            name,
            stored_question(name, store),
            store,
            bounds=bounds,
            directory=directory,
            core=core,
            watcher=watcher,
        )

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials so far, those of earlier sessions included."""
        return tuple(self._trials)

    @property
    def results(self) -> Path | None:
        """The results file, if it is not the usual one."""
        path = self._store.path.absolute()
        return None if path == default_path().absolute() else path

    @property
    def scale(self) -> float:
        """Data of a run / data of the profile."""
        return self._setup.scale.factor

    def best(self) -> Candidate | None:
        """The best settings so far; `None` while none keeps the limits."""
        return best((trial for trial in self._trials if trial.role != "ablation"), self.goal)

    def importance(self, engine: Engine) -> dict[str, float]:
        """Share of each searched knob in reaching good scores; empty with too few trials."""
        # A fresh sampler, so that a study that was taken up again answers the same.
        return self._sampler(engine).importance()

    def stop(self) -> None:
        """Ends the study after the running trial."""
        self._stopping.set()

    def cancel(self) -> None:
        """Ends the study now; the running trial is dropped."""
        self._stopping.set()
        self._cancelling.set()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Inside the block no other process runs this study; blocks may nest. Raises `InputError`
        that names the process which does."""
        if self._is_alone:
            yield
            return
        with leased(self._store.path, self.name):
            stored = self._store.trials(self.name)
            if len(stored) != len(self._trials):
                self._take_up(stored)
            self._is_alone = True
            try:
                yield
            finally:
                self._is_alone = False

    def run(self) -> Ending:
        """Searches and repeats until the bounds leave no more than the ablation's part, and says
        why it ended. A trial that the core refuses has failed, and the others go on. Raises
        `InputError` if another process runs the study, or if the core refuses everything that the
        search begins with."""
        with self.alone():
            try:
                self._sow()
                self._refuse_what_never_runs()
                self._search()
                self._repeat()
            except Cancelled:
                pass
            return self._finish()

    def measure(self, engine: Engine, settings: Settings, role: Role, seed: int) -> Trial | None:
        """Tries settings within the bounds and stores the trial; `None` if the study is stopped or
        out of bounds."""
        if not self._may_go_on("ablation"):
            return None
        with self.alone():
            try:
                return self._evaluate(engine, settings, role, seed)
            except Cancelled:
                return None

    def runs_left(self) -> int:
        """About how many trials the bounds still allow; 0 once the study is stopped."""
        return 0 if self._stopping.is_set() else self._spending.left()

    def repeat_seed(self, repeats: int) -> int:
        """Seed of one more repetition after so many: all settings meet the same seeds in the same
        order."""
        return self.question.seed + 1 + repeats

    def _take_up(self, stored: list[Trial]) -> None:
        """Goes on from these trials."""
        self._trials = stored
        self._samplers = {engine: self._sampler(engine) for engine in self.engines}
        counted = sum(trial.outcome != "rejected" for trial in stored)
        self._spending = Spending(self.bounds, counted)
        self._best = self.best()

    def _sow(self) -> None:
        done = {settings_key(trial.engine, trial.settings) for trial in self._trials}
        for seed in self._seeds:
            if settings_key(seed.engine, seed.settings) in done:
                continue
            if not self._may_go_on("search"):
                return
            proposal = self._samplers[seed.engine].fix(seed.settings)
            self._try(seed.engine, proposal, seed.role)
            done.add(settings_key(seed.engine, seed.settings))

    def _search(self) -> None:
        while self._may_go_on("search"):
            engine = self._next_engine()
            proposal = self._samplers[engine].ask()
            if proposal is None:
                return
            self._try(engine, proposal, "search")

    def _try(self, engine: Engine, proposal: Proposal, role: Role) -> None:
        sampler = self._samplers[engine]
        try:
            trial = self._evaluate(engine, proposal.settings, role, self.question.seed)
        except BaseException:
            sampler.forget(proposal)
            raise
        sampler.tell(proposal, *self._answer(trial))

    def _repeat(self) -> None:
        while True:
            open_verdict = self._without_verdict()
            contenders = open_verdict or self._contenders()
            if not (contenders and self._may_go_on("ablation" if open_verdict else "repeat")):
                return
            next_one = min(contenders, key=lambda candidate: candidate.repeats)
            seed = self.repeat_seed(next_one.repeats)
            self._evaluate(next_one.engine, next_one.settings, "repeat", seed)

    def _without_verdict(self) -> list[Candidate]:
        """The best of each engine as long as it was not run often enough to compare engines: that
        goes before the ablation."""
        if len(self.engines) < 2:
            return []
        firsts = [
            best((trial for trial in self._trials if trial.engine == engine), self.goal)
            for engine in self.engines
        ]
        return [one for one in firsts if one is not None and len(one.trials) < VERDICT_RUNS]

    def _contenders(self) -> list[Candidate]:
        """Settings that are worth another look: the best, what they are compared with, and their
        rivals."""
        order = ranked(candidates(self._trials), self.goal)
        if not order:
            return []
        leader = order[0]
        baselines = [self.question.base(leader.engine), self.question.defaults(leader.engine)]
        chosen = [leader]
        chosen += [c for settings in baselines for c in order if _same(c, leader.engine, settings)]
        chosen += order[1:CONTENDERS]
        chosen += [c for c in order if c.engine != leader.engine][:1]
        unique = {settings_key(c.engine, c.settings): c for c in chosen}
        return list(unique.values())

    def _evaluate(self, engine: Engine, settings: Settings, role: Role, seed: int) -> Trial:
        number = len(self._trials) + 1
        self._watcher(TrialStarted(number, self._planned(), engine, role, settings, seed))

        def seen(interval: Interval) -> None:
            self._watcher(IntervalSeen(number, engine, interval))

        try:
            trial = evaluate(
                self._setup,
                engine,
                settings,
                seed=seed,
                role=role,
                on_interval=seen,
                cancelled=self._cancelling.is_set,
            )
        except Refused as refused:
            self._refusals.append(refused)
            trial = refused.trial
        return self._keep(trial)

    def _planned(self) -> int | None:
        planned = self.bounds.planned
        return None if planned is None else planned + len(self._trials) - self._spending.trials

    def _refuse_what_never_runs(self) -> None:
        """Raises the refusal that all trials met."""
        if self._refusals and len(self._refusals) == len(self._trials):
            first = self._refusals[0]
            why = f"{first.found}, in all {len(self._trials)} trials"
            raise InputError(first.source, first.where, why, first.accepted)

    def _keep(self, trial: Trial) -> Trial:
        stored = self._store.add_trial(trial, self.name)
        self._trials.append(stored)
        if stored.outcome != "rejected":
            self._spending.trials += 1
        score = stored.metrics.get(self.goal.metric)
        kept = stored.finished and score is not None and self.goal.kept(stored.metrics)
        self._watcher(TrialFinished(stored, score, kept))
        self._announce_best()
        return stored

    def _announce_best(self) -> None:
        before, now = self._best, self.best()
        self._best = now
        if now is None or (before is not None and _same(now, before.engine, before.settings)):
            return
        score = now.score(self.goal)
        if score is not None:
            previous = before.score(self.goal) if before is not None else None
            self._watcher(BestChanged(now.trials[-1], score, previous))

    def _answer(self, trial: Trial) -> tuple[float | None, dict[str, float]]:
        """Score and constraints as a sampler is told them."""
        memory = {}
        if trial.budget_bytes is not None:
            memory = {"memory": trial.budget_bytes / self.profile.memory_bytes - 1.0}
        if not trial.finished or self.goal.metric not in trial.metrics:
            return None, memory
        metrics = dict(trial.metrics)
        return metrics[self.goal.metric], memory | violations(self.goal, metrics)

    def _next_engine(self) -> Engine:
        made: dict[Engine, int] = dict.fromkeys(self.engines, 0)
        scores: dict[Engine, float] = {}
        for trial in self._trials:
            made[trial.engine] += 1
        for candidate in ranked(candidates(self._trials), self.goal):
            score = candidate.score(self.goal)
            if score is not None and candidate.feasible(self.goal):
                scores.setdefault(candidate.engine, signed(self.goal, score))
        return next_engine(self.engines, made, scores, maximize=True)

    def _may_go_on(self, phase: Phase) -> bool:
        return not self._stopping.is_set() and self._spending.allows(phase)

    def _finish(self) -> Ending:
        ending: Ending = "complete"
        if self._stopping.is_set():
            ending = "cancelled"
        elif self._spending.is_out_of_time():
            ending = "out of time"
        winner = self.best()
        self._watcher(
            StudyFinished(ending, len(self._trials), winner.trials[-1] if winner else None)
        )
        return ending

    def _lean_seeds(self) -> list[Seed]:
        """A start for engines of which no other seed fits the memory."""
        lean = (
            lean_seed(self.question, engine, self._seeds, space)
            for engine, space in self.spaces.items()
        )
        return [seed for seed in lean if seed is not None]

    def _sampler(self, engine: Engine) -> Sampler:
        known = [trial for trial in self._trials if trial.engine == engine]
        # A sampler that starts over would propose the same again.
        sampler = Sampler(
            self.spaces[engine],
            maximize=self.goal.direction == "maximize",
            seed=self.question.seed + len(known),
        )
        for trial in known:
            if trial.role not in ("repeat", "ablation") and trial.outcome != "rejected":
                sampler.recall(trial.settings, *self._answer(trial))
        return sampler


def _same(candidate: Candidate, engine: Engine, settings: Settings) -> bool:
    return settings_key(candidate.engine, candidate.settings) == settings_key(engine, settings)
