"""What a study looks at on the lowest rung of its ladder: its seeds, what the closed forms foresee,
what the samplers propose, and once more what may lead but does not stand yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from advisor.goal import described
from advisor.knobs import Engine
from advisor.scale import Scale
from advisor.search.allocate import next_engine
from advisor.search.doubts import LONGER, Doubts
from advisor.search.first_tier import Forecast
from advisor.search.fit import lean_seed, space_of
from advisor.search.plan import Bounds
from advisor.search.question import Question
from advisor.search.ranking import signed, violations
from advisor.search.runner import Job
from advisor.search.sampler import Proposal, Sampler, Scores
from advisor.search.seeds import seeds, tried
from advisor.search.space import Space
from advisor.search.tally import Tally
from advisor.trial import AGAIN, ANSWERING, PROPOSED, Role, Trial, settings_key


class Looking:
    """The looks of one study, before and after they are made. `take_up` begins."""

    def __init__(
        self,
        question: Question,
        bounds: Bounds,
        lowest: Scale,
        *,
        may_go_on: Callable[[], bool],
        left: Callable[[], int],
        running: Callable[[Engine], int],
    ) -> None:
        """`question` is settled; `lowest` is the scale of a look. `may_go_on` says whether one more
        may begin, `left` about how many, and `running` how many of an engine are under way."""
        self._question = question
        self._goal = question.profile.goal
        self._may_go_on = may_go_on
        self._left = left
        self._running = running
        # The axes are the same within all bounds, so that a study which goes on has those it had.
        own = seeds(question)
        self.spaces: dict[Engine, Space] = {
            engine: space_of(question, engine, own, lowest) for engine in question.engines
        }
        lean = (lean_seed(question, engine, own, space) for engine, space in self.spaces.items())
        self._seeds = tried(own, bounds.most_rules) + [seed for seed in lean if seed is not None]

    def take_up(self, made: Sequence[Trial], tally: Tally) -> None:
        """Goes on from these trials of the lowest rung, to which others will be added, and from
        their tally, without what the answer measured."""
        self._made = made
        self._tally = tally
        self._again: list[tuple[Job, Trial]] = []
        self._samplers = {engine: self._sampler(engine) for engine in self.spaces}
        self._forecasts = {
            engine: Forecast(
                self._question.profile,
                space,
                self._question.seed,
                direct_io=self._question.direct_io,
            )
            for engine, space in self.spaces.items()
        }

    @property
    def is_in_doubt(self) -> bool:
        """Whether something has to be looked at once more."""
        return bool(self._again)

    def importance(self, engine: Engine) -> dict[str, float]:
        """Share of each searched knob in reaching good scores; empty with too few trials."""
        # A fresh sampler, so that a study that was taken up again answers the same.
        return self._sampler(engine).importance()

    def seeds(self) -> Iterator[Job]:
        """Those that were not looked at yet."""
        done = {trial.key for trial in self._made}
        for seed in self._seeds:
            if settings_key(seed.engine, seed.settings) in done:
                continue
            if not self._may_go_on():
                return
            proposal = self._samplers[seed.engine].fix(seed.settings)
            yield self._look(seed.engine, proposal, seed.role, seed.rule)
            done.add(settings_key(seed.engine, seed.settings))

    def proposals(self) -> Iterator[Job]:
        """What the closed forms and the samplers come upon, each after what has to be looked at
        once more by then."""
        return self._again_first(self._proposals())

    def doubtful(self) -> Iterator[Job]:
        """What has to be looked at once more, and nothing else."""
        return self._again_first(iter(()))

    def learn(self, job: Job, trial: Trial) -> None:
        """Tells the sampler of a look, or has it looked at for longer or again first."""
        if job.proposal is None:
            return
        if self._may_go_on() and self._looked_again(job, trial) is not None:
            self._again.append((job, trial))
        else:
            self._tell(job, trial)

    def _proposals(self) -> Iterator[Job]:
        left = list(self.spaces)
        while left and self._may_go_on():
            engine = self._next_engine(left)
            sampler = self._samplers[engine]
            if (foreseen := self._forecasts[engine].next(self._made)) is not None:
                yield self._look(engine, sampler.fix(foreseen), "analytic")
                continue
            proposal = sampler.ask()
            if proposal is None:
                left.remove(engine)
            else:
                yield self._look(engine, proposal, "search")

    def _again_first(self, looks: Iterator[Job]) -> Iterator[Job]:
        """The looks, each time after what has to be looked at once more, if it still has to."""
        while True:
            if self._again and self._may_go_on():
                job, trial = self._again.pop(0)
                if (again := self._looked_again(job, trial)) is not None:
                    yield again
                else:
                    self._tell(job, trial)
            elif (look := next(looks, None)) is not None:
                yield look
            else:
                return

    def _look(self, engine: Engine, proposal: Proposal, role: Role, rule: str = "") -> Job:
        return Job(engine, proposal.settings, role, self._question.seed, 0, proposal, rule)

    def _next_engine(self, engines: Sequence[Engine]) -> Engine:
        """Of those that have settings left to try."""
        made = Counter(one.engine for one in self._made if one.role not in ANSWERING)
        scores: dict[Engine, list[float]] = {}
        searched: dict[Engine, list[float]] = {}
        for engine in self.spaces:
            made[engine] += self._running(engine)
        # Of several objectives none names a leader: the engines take turns.
        order = [] if self._goal.others else self._tally.feasible
        sign = signed(self._goal, 1.0)
        for candidate in order:
            score = sign * candidate.metrics()[self._goal.metric]
            scores.setdefault(candidate.engine, []).append(score)
            if candidate.trials[0].role in PROPOSED:
                searched.setdefault(candidate.engine, []).append(score)
        return next_engine(
            engines,
            made,
            scores,
            self._left(),
            searched=searched,
            noise=self._tally.noise.relative_sd,
            wanted=self._question.wanted,
        )

    def _looked_again(self, job: Job, trial: Trial) -> Job | None:
        """The look once more, for longer or with another seed; None where that is not needed."""
        doubts = self._doubts()
        match doubts.of(trial, job.times):
            case "unsettled":
                return replace(job, times=LONGER)
            case "chance":
                known = doubts.all_looks(trial)
                seed = self._question.repeat_seed(known.repeats if known else 0)
                return replace(job, role="repeat", seed=seed)
        return None

    def _doubts(self) -> Doubts:
        return Doubts(self._goal, self._tally)

    def _tell(self, job: Job, trial: Trial) -> None:
        if job.proposal is not None:
            self._samplers[job.engine].tell(job.proposal, *self._answer(trial))

    def _answer(self, trial: Trial) -> tuple[Scores | None, dict[str, float]]:
        """Scores and constraints as a sampler is told them."""
        memory = {}
        if trial.budget_bytes is not None:
            memory = {"memory": trial.budget_bytes / self._question.profile.memory_bytes - 1.0}
        # Of settings that were looked at again all looks speak, whichever of them failed.
        looked_at = self._doubts().all_looks(trial)
        metrics = looked_at.metrics() if looked_at else trial.metrics
        if looked_at is None or not self._goal.is_measured(metrics):
            return None, memory
        scores = tuple(metrics[name] for name in self._goal.objectives)
        return scores, memory | violations(self._goal, metrics)

    def _sampler(self, engine: Engine) -> Sampler:
        known = [trial for trial in self._made if trial.engine == engine]
        longest = {
            trial.key: trial
            for trial in sorted(known, key=lambda trial: trial.seconds)
            if trial.role not in AGAIN and trial.outcome != "rejected"
        }
        # A sampler that starts over would propose the same again.
        sampler = Sampler(
            self.spaces[engine],
            directions=[described(name).direction for name in self._goal.objectives],
            seed=self._question.seed + len(known),
        )
        for trial in sorted(longest.values(), key=lambda trial: trial.number):
            sampler.recall(trial.settings, *self._answer(trial))
        return sampler
