"""A study told on stderr: a line per finished trial, and one that changes while a trial runs."""

from types import TracebackType
from typing import Self

from advisor.goal import Goal
from advisor.search import BestChanged, Event, IntervalSeen, TrialFinished, TrialStarted
from advisor.steadiness import NOT_YET
from advisor.trial import Trial
from tui import format as fmt
from tui.narration import LiveLine, interval_words
from tui.output import narrate


class StudyNarration:
    """Give `tell` to the study as its watcher."""

    def __init__(self, goal: Goal) -> None:
        self._goal = goal
        self._line = LiveLine()
        self._trial = ""
        self._best = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._line.clear()

    def tell(self, event: Event) -> None:
        """Say what happened."""
        match event:
            case TrialStarted(number=number, planned=planned, engine=engine):
                of = f"{number}/{planned}" if planned else str(number)
                self._trial = f"trial {of:>6}  {fmt.ENGINE_TITLES[engine]:<6}"
                self._line.show(self._trial)
            case IntervalSeen(interval=interval):
                self._line.show(f"{self._trial}  {interval_words(interval)}")
            case TrialFinished():
                self._finished(event)
            case BestChanged(score=score, trial=trial):
                self._best = self._written(score, trial)
                kind = "nearest to the best of each" if self._goal.others else "new best"
                self._say(f"{'':>14}  {kind}: {self._best}")

    def _finished(self, event: TrialFinished) -> None:
        trial = event.trial
        if not trial.finished:
            self._say(f"{self._trial}  {trial.outcome}: {trial.error}")
            return
        words = [f"{self._written(event.score, trial):>16}"]
        if trial.rule:
            words.append(trial.why)
        if "ops_per_s" not in self._goal.objectives:
            words.append(f"{fmt.value('ops_per_s', trial.metrics.get('ops_per_s'))} ops/s")
        if "p99_us" not in self._goal.objectives:
            words.append(f"p99 {fmt.value('p99_us', trial.metrics.get('p99_us')):>8}")
        if self._best:
            words.append(f"best so far {self._best}")
        if trial.steady is False:
            words.append(NOT_YET)
        words += [f"breaks {limit}" for limit in self._goal.broken(trial.metrics)]
        self._say(f"{self._trial}  {'  '.join(words)}")

    def _written(self, score: float | None, trial: Trial) -> str:
        values = [(self._goal.metric, score)]
        values += [(name, trial.metrics.get(name)) for name in self._goal.others]
        return ", ".join(f"{fmt.value(name, value)} {fmt.label(name)}" for name, value in values)

    def _say(self, text: str) -> None:
        self._line.clear()
        narrate(text)
