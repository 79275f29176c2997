"""The one thread that runs a study while the screen stays alive.

It is a daemon, not a worker of the app: quitting must not wait for a trial. It only posts messages, and a closed screen
simply stops listening.
"""

from collections.abc import Callable, Mapping
from threading import Event, Thread
from typing import Any

from textual.message import Message

from tui.messages import IntervalSeen, StudyEnded, TrialFinished, TrialStarted
from tui.views import Plan, Session, TrialView, Watcher


class StudyThread:
    """Runs `session.tune(plan)` and tells `post` what happens."""

    def __init__(self, session: Session, plan: Plan, post: Callable[[Message], bool]) -> None:
        self._session = session
        self._plan = plan
        self._post = post
        self._stopping = Event()
        self._cancelled = Event()
        self._thread = Thread(target=self._run, name="study", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End the study after the running trial."""
        self._stopping.set()

    def cancel(self) -> None:
        """End the running trial too; what it measured is dropped."""
        self._stopping.set()
        self._cancelled.set()

    def join(self, timeout_s: float) -> bool:
        """Wait for the thread; True when it is over."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        watcher = Watcher(
            started=self._started,
            interval=self._interval,
            finished=self._finished,
            stopping=self._stopping.is_set,
            cancelled=self._cancelled.is_set,
        )
        try:
            outcome = self._session.tune(self._plan, watcher)
        except Exception as error:
            self._post(StudyEnded(None, plain_words(error)))
        else:
            self._post(StudyEnded(outcome, ""))

    def _started(self, number: int, engine: str) -> None:
        self._post(TrialStarted(number, engine))

    def _interval(self, interval: Mapping[str, Any]) -> None:
        self._post(IntervalSeen(interval))

    def _finished(self, row: TrialView) -> None:
        self._post(TrialFinished(row))


def plain_words(error: BaseException) -> str:
    """An error as one sentence; the type is named only where there is no text."""
    return " ".join(str(error).split()) or type(error).__name__
