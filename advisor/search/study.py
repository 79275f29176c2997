"""A study: Optuna proposes, trials answer, each answer is stored before its place is given away.

The bounds are spent in three phases: search (seeds first, then the samplers) on the lowest rung of
the ladder; proof on the highest (the best settings and the defaults, interleaved, repeated and with
fresh seeds, because one run of a small copy proves little); and the answer (ablation, final runs),
which `recommend` carries out through `Study.measure`. Simulated trials run side by side. A study
resumes by its name: what is stored is told to the samplers again.
"""

from __future__ import annotations

import math
import statistics
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from advisor import core as bridge
from advisor import knobs
from advisor.core import Cancelled, Core
from advisor.errors import InputError
from advisor.evaluate import Refused, Setup, choose_scale
from advisor.knobs import Engine, Settings
from advisor.scale import RUNGS, Ladder, Scale
from advisor.search.contenders import Contender, Field
from advisor.search.earlier import earlier
from advisor.search.events import (
    BestChanged,
    Ending,
    IntervalSeen,
    StudyFinished,
    TrialFinished,
    TrialStarted,
    Watcher,
)
from advisor.search.fit import refuse_unanswerable
from advisor.search.front import Front
from advisor.search.looking import Looking
from advisor.search.plan import OTHER_SHARE, Bounds, Phase, Spending
from advisor.search.question import Question, stored_question
from advisor.search.ranking import Candidate
from advisor.search.runner import Afar, Answer, Job, Runner
from advisor.search.tally import Tally
from advisor.spec import Interval
from advisor.store import Store, default_path
from advisor.store.lease import leased
from advisor.trial import ANSWERING, Key, Role, Trial, settings_key


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
        afar: Afar | None = None,
    ) -> None:
        """Makes the study, or takes up the stored one of this name. `afar` makes its trials, if
        they are simulated; else this machine does.

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
            if not self.question.cold:
                told = earlier(self.profile, self.engines, self.question.clock, store)
                self.question = replace(self.question, earlier=told)
            refuse_unanswerable(self.question)
            store.add_study(self.question.record(name, core))
        else:
            self.question.refuse_unless_same(stored)
        self._store = store
        self._watcher = watcher or (lambda event: None)
        self._stopping = threading.Event()
        setup = Setup(
            self.profile,
            Scale(self.question.scale) if self.question.scale else choose_scale(self.profile),
            self.question.seconds or 0.0,
            question.clock,
            directory,
            core,
            direct_io=self.question.direct_io,
        )
        rungs = RUNGS if question.clock == "simulated" else 1
        self.ladder = Ladder.above(setup.scale, self.profile.data_bytes, rungs)
        setups = [
            replace(setup, scale=scale, times=self.ladder.work(rung))
            for rung, scale in enumerate(self.ladder.rungs)
        ]
        self._runner = Runner(setups, self._interval, afar, self.bounds.longest_trial_s)
        self._is_alone = False
        self._refusals: list[Refused] = []
        self._looking = Looking(
            self.question,
            self.bounds,
            self.ladder.lowest,
            may_go_on=lambda: self._may_go_on("search"),
            left=lambda: self._spending.left("search"),
            running=self._runner.running_of,
        )
        self._take_up([_completed(one) for one in store.trials(name, intervals=False)])

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
    def looks(self) -> Sequence[Trial]:
        """The trials of the lowest rung, on which the search finds what may be worth its while."""
        return self._of_rung(0)

    @property
    def evidence(self) -> Sequence[Trial]:
        """The trials that decide: those of the highest rung, once two settings were run there, and
        one of each engine; before that the looks."""
        return self._of_rung(self._deciding())

    @property
    def scale(self) -> float:
        """Data of a run of the evidence / data of the profile."""
        return self.ladder.rungs[self._deciding()].factor

    @property
    def scale_of_looks(self) -> float:
        """Data of a look / data of the profile."""
        return self.ladder.lowest.factor

    @property
    def rung_below(self) -> Sequence[Trial]:
        """The trials of the rung below the evidence's; empty if it is the lowest."""
        rung = self._deciding()
        return self._of_rung(rung - 1) if rung else ()

    def best(self) -> Candidate | None:
        """The best settings so far; `None` while none keeps the limits. Of several objectives those
        that a front recommends."""
        return self._tallies[self._deciding()].best

    def front(self) -> Front:
        """The settings of the search of which none is better in all objectives."""
        return Front.of(self._tallies[self._deciding()].eligible, self.goal)

    def importance(self, engine: Engine) -> dict[str, float]:
        """Share of each searched knob in reaching good scores; empty with too few trials."""
        return self._looking.importance(engine)

    def stop(self) -> None:
        """Ends the study after the running trial; what runs beside it and has not ended by then is
        dropped."""
        self._stopping.set()

    def cancel(self) -> None:
        """Ends the study now; the running trial is dropped."""
        self._stopping.set()
        self._runner.cancel()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Inside the block no other process runs this study; blocks may nest. Raises `InputError`
        that names the process which does."""
        if self._is_alone:
            yield
            return
        with leased(self._store.path, self.name):
            stored = self._store.trials(self.name, intervals=False)
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
                self._carry_out(self._looking.seeds())
                self._refuse_what_never_runs()
                self._carry_out(self._looking.proposals())
                # What the last looks, or the last settings that there are, ask to see again.
                while self._looking.is_in_doubt and self._may_go_on("search"):
                    self._carry_out(self._looking.doubtful())
                self._carry_out(self._climbing_jobs())
                self._carry_out(self._repeat_jobs())
            except Cancelled:
                pass
            return self._finish()

    def measure(
        self,
        wanted: Sequence[tuple[Engine, Settings, int]],
        role: Role,
        rung: int | None = None,
    ) -> list[Trial]:
        """Tries settings of engines, each with its seed, side by side and stores the trials, in
        their order; on the rung that decides, or another. They are fewer once the study is stopped
        or out of bounds."""
        made: list[Trial] = []
        rung = self._deciding() if rung is None else rung

        def jobs() -> Iterator[Job]:
            for engine, settings, seed in wanted:
                if not self._may_go_on("ablation", self._runner.would_begin_s(rung)):
                    return
                times = self._times(engine, settings, role, rung)
                yield Job(engine, settings, role, seed, rung, times=times)

        with self.alone(), suppress(Cancelled):
            for _, trial in self._made(jobs()):
                made.append(trial)
        return made

    def runs_left(self, rung: int | None = None, *, beyond: int = 0) -> int:
        """About how many trials the bounds still allow on the rung that decides, or another, after
        so many on the one that decides; none once the study is stopped."""
        if self._stopping.is_set():
            return 0
        cost = self._cost(self._deciding())
        own = cost if rung is None else self._cost(rung)
        left = self._spending.left()
        # What is left of the minutes is enough for one more, whatever it takes.
        return max(int((left - beyond * cost) / own), 1 if left and not beyond else 0)

    def as_runs(self, looks: int) -> int:
        """How many runs on the rung that decides take as much of the bounds as so many looks."""
        return math.ceil(looks * self._cost(0) / self._cost(self._deciding()))

    def _cost(self, rung: int) -> float:
        """What a trial of a rung takes of the bounds, in usual trials."""
        known = [trial.wall_seconds for trial in self._of_rung(rung) if trial.finished]
        usual = [trial.wall_seconds for trial in self._trials if trial.finished]
        if self.bounds.minutes is None or not known or not sum(usual):
            return 1.0
        return statistics.fmean(known) / statistics.fmean(usual)

    def _take_up(self, stored: list[Trial]) -> None:
        """Goes on from these trials."""
        self._trials: list[Trial] = []
        self._rungs: list[list[Trial]] = [[] for _ in self.ladder.rungs]
        # Without what the answer measured.
        self._tallies = [Tally(self.goal) for _ in self.ladder.rungs]
        for trial in stored:
            self._file(trial)
        self._arrived: dict[int, Trial] = {}
        self._looking.take_up(self._of_rung(0), self._tallies[0])
        counted = [trial for trial in stored if trial.outcome != "rejected"]
        self._spending = Spending(self.bounds, len(counted), _usual_s(counted))
        self._best = self.best()

    def _file(self, trial: Trial) -> None:
        """Puts a stored trial where it is asked for."""
        self._trials.append(trial)
        rung = self.ladder.place(trial.scale) if self.ladder.top else 0
        if rung is None:
            return
        self._rungs[rung].append(trial)
        self._runner.learn_time(rung, trial)
        if trial.role not in ANSWERING:
            self._tallies[rung].add(trial)

    def _climbing_jobs(self) -> Iterator[Job]:
        """The first runs on the highest rung."""
        if self.ladder.top == 0:
            return
        for one in self._field().climbers(self._tallies[0].ranked):
            if not self._may_decide("repeat"):
                return
            yield self._repetition(one)

    def _repeat_jobs(self) -> Iterator[Job]:
        while True:
            field = self._field()
            opened = field.open_verdict()
            wanted = opened or field.contenders()
            if not (wanted and self._may_decide("verdict" if opened else "repeat")):
                return
            yield self._repetition(min(wanted, key=lambda one: one.runs))

    def _repetition(self, one: Contender) -> Job:
        seed, top = self.question.repeat_seed(one.runs), self.ladder.top
        times = self._times(one.engine, one.settings, "repeat", top)
        return Job(one.engine, one.settings, "repeat", seed, top, times=times)

    def _times(self, engine: Engine, settings: Settings, role: Role, rung: int) -> float:
        """How much longer than usual on a rung one more trial of these settings lasts: as long as
        the others of them, and in an ablation as those of the settings that changes are taken back
        of."""
        same = {settings_key(engine, settings)}
        leader = self.best() if role in ANSWERING else None
        if leader is not None and leader.engine == engine:
            same.add(leader.key)
        lasted = [one.seconds for one in self._of_rung(rung) if one.finished and one.key in same]
        usual = (self.question.seconds or 0.0) * self.ladder.work(rung)
        return max(lasted, default=usual) / usual if usual else 1.0

    def _field(self) -> Field:
        """The highest rung."""
        question, top = self.question, self.ladder.top
        return Field(
            self.engines,
            self.goal,
            lambda engine: (question.base(engine), question.defaults(engine)),
            self._tallies[top],
            self.question.wanted,
            lambda key: self._runner.under_way(key, top),
        )

    def _of_rung(self, rung: int) -> Sequence[Trial]:
        return self._rungs[rung]

    def _deciding(self) -> int:
        """The rung whose trials are the evidence."""
        top = self.ladder.top
        if top == 0:
            return top
        climbed, looks = self._tallies[top].candidates, self._tallies[0].candidates
        is_enough = len(climbed) > 1 and _engines_of(looks) <= _engines_of(climbed)
        return top if is_enough else 0

    def _carry_out(self, jobs: Iterator[Job]) -> None:
        for job, trial in self._made(jobs):
            self._looking.learn(job, trial)

    def _made(self, jobs: Iterator[Job]) -> Iterator[tuple[Job, Trial]]:
        """Every job with its stored trial, until the study is stopped. A trial is stored when it
        ends, and known to the study when all that were asked for before it are."""
        last = max((trial.number for trial in self._trials), default=0)
        numbered = (replace(job, number=last + place) for place, job in enumerate(jobs, start=1))
        answers = self._runner.answers(numbered, self._announce, self._store_answers)
        try:
            for job, answer in answers:
                yield job, self._keep(self._arrived.pop(answer.trial.number))
                if self._stopping.is_set():
                    return
        finally:
            answers.close()
            # What ended behind one that did not.
            for number in sorted(self._arrived):
                self._keep(self._arrived.pop(number))

    def _store_answers(self, made: Sequence[tuple[Job, Answer]]) -> list[Answer]:
        trials = [answer.trial.numbered(job.number) for job, answer in made]
        # Intervals are read from the store where they are drawn: kept here, those of a long study
        # would fill the memory.
        kept = self._store.add_trials(trials, self.name)
        stored = [replace(one, intervals=()) for one in kept]
        self._arrived |= {trial.number: trial for trial in stored}
        answers = [answer for _, answer in made]
        self._refusals += [one.refusal for one in answers if one.refusal is not None]
        return [replace(one, trial=trial) for one, trial in zip(answers, stored, strict=True)]

    def _announce(self, job: Job) -> None:
        self._watcher(
            TrialStarted(job.number, self._planned(), job.engine, job.role, job.settings, job.seed)
        )

    def _interval(self, job: Job, interval: Interval) -> None:
        self._watcher(IntervalSeen(job.number, job.engine, interval))

    def _planned(self) -> int | None:
        planned = self.bounds.planned
        return None if planned is None else planned + len(self._trials) - self._spending.trials

    def _refuse_what_never_runs(self) -> None:
        """Raises the refusal that all trials met."""
        if self._refusals and len(self._refusals) == len(self._trials):
            first = self._refusals[0]
            why = f"{first.found}, in all {len(self._trials)} trials"
            raise InputError(first.source, first.where, why, first.accepted)

    def _keep(self, stored: Trial) -> Trial:
        self._file(stored)
        if stored.outcome != "rejected":
            self._spending.trials += 1
        score = stored.metrics.get(self.goal.metric)
        is_judged = stored.finished and self.goal.is_measured(stored.metrics)
        kept = is_judged and self.goal.kept(stored.metrics)
        self._watcher(TrialFinished(stored, score, kept))
        self._announce_best()
        return stored

    def _announce_best(self) -> None:
        before, now = self._best, self.best()
        self._best = now
        if now is None or (before is not None and now.key == before.key):
            return
        score = now.score(self.goal)
        if score is not None:
            is_comparable = before is not None and before.trials[0].scale == now.trials[0].scale
            previous = before.score(self.goal) if before is not None and is_comparable else None
            self._watcher(BestChanged(now.trials[-1], score, previous))

    def _may_go_on(self, phase: Phase, takes_s: float = 0.0) -> bool:
        if self._stopping.is_set():
            return False
        if phase != "ablation":
            takes_s += self._lines_of_other_s()
        then_s = 0.0
        if phase == "search" and self.ladder.top and self.bounds.minutes is not None:
            # The best of each engine, a rule of thumb and what there is climb at least.
            then_s = self._runner.would_take_s(self.ladder.top, len(self.engines) + 2)
        return self._spending.allows(phase, self._runner.running, takes_s, then_s)

    def _lines_of_other_s(self) -> float:
        """Seconds that a look at each line of the engine that does not lead takes, where minutes
        bound the study: what is said of the leader's takes the rest of them."""
        if not self.ladder.top or self.bounds.minutes is None or self.question.wanted:
            return 0.0
        order = self._tallies[0].ranked
        rival = next((one for one in order if one.engine != order[0].engine), None)
        changes = 0 if rival is None else self.question.changes(rival.engine, rival.settings)
        takes_s = self._runner.would_take_s(0, changes) if changes else 0.0
        return min(takes_s, 60.0 * self.bounds.minutes * OTHER_SHARE)

    def _may_decide(self, phase: Phase) -> bool:
        """Whether one more run on the highest rung would end within a phase."""
        return self._may_go_on(phase, self._runner.would_take_s(self.ladder.top))

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


def _completed(stored: Trial) -> Trial:
    """With the knobs that have come since: it did with them what the defaults do."""
    settings = {**knobs.defaults(stored.engine), **stored.settings}
    return stored if len(settings) == len(stored.settings) else replace(stored, settings=settings)


def _usual_s(trials: Sequence[Trial]) -> float | None:
    return statistics.fmean(one.wall_seconds for one in trials) if trials else None


def _engines_of(settings: Iterable[Key]) -> set[str]:
    return {engine for engine, _ in settings}
