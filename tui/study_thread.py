"""The one thread that runs a study while the screen stays alive."""

from collections.abc import Callable, Mapping
from typing import Any

from textual.message import Message

from tui.messages import IntervalSeen, StudyEnded, TrialFinished, TrialStarted
from tui.views import Plan, Session, TrialView, Watcher
from tui.working import Working


class StudyThread(Working):
    """Runs `session.tune(plan)` and tells `post` what happens."""

    def __init__(self, session: Session, plan: Plan, post: Callable[[Message], bool]) -> None:
        super().__init__("study", self._tune, lambda why: StudyEnded(None, why), post)
        self._session = session
        self._plan = plan

    def _tune(self) -> Message:
        watcher = Watcher(
            attach=self.attach,
            started=self._started,
            interval=self._interval,
            finished=self._finished,
        )
        return StudyEnded(self._session.tune(self._plan, watcher), "")

    def _started(self, number: int, of: int | None, engine: str) -> None:
        self._post(TrialStarted(number, of, engine))

    def _interval(self, interval: Mapping[str, Any]) -> None:
        self._post(IntervalSeen(interval))

    def _finished(self, row: TrialView) -> None:
        self._post(TrialFinished(row))
