"""The one thread that runs a study while the screen stays alive.

It is not a worker of the app: a closed screen cancels it and does not wait; `leaving` does, at the
end of the program. It only posts messages, and a closed screen simply stops listening.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Any

from textual.message import Message

from tui.messages import IntervalSeen, StudyEnded, TrialFinished, TrialStarted
from tui.views import Plan, Session, TrialView, Watcher


@dataclass(frozen=True)
class _Controls:
    stop: Callable[[], None]
    cancel: Callable[[], None]


class StudyThread:
    """Runs `session.tune(plan)` and tells `post` what happens."""

    def __init__(self, session: Session, plan: Plan, post: Callable[[Message], bool]) -> None:
        self._session = session
        self._plan = plan
        self._post = post
        self._lock = Lock()
        self._asked: list[Callable[[_Controls], None]] = []
        self._controls: _Controls | None = None
        self._thread = Thread(target=self._run, name="study")

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End the study after the running trial."""
        self._ask(lambda controls: controls.stop())

    def cancel(self) -> None:
        """End everything: what the running trial measured is dropped, and no advice is made."""
        self._ask(lambda controls: controls.cancel())

    def _run(self) -> None:
        watcher = Watcher(
            attach=self._attach,
            started=self._started,
            interval=self._interval,
            finished=self._finished,
        )
        try:
            outcome = self._session.tune(self._plan, watcher)
        except Exception as error:
            self._post(StudyEnded(None, plain_words(error)))
        else:
            self._post(StudyEnded(outcome, ""))

    def _ask(self, wish: "Callable[[_Controls], None]") -> None:
        """Pass a wish on to the study, at once or as soon as there is one."""
        with self._lock:
            if self._controls is None:
                self._asked.append(wish)
                return
        wish(self._controls)

    def _attach(self, stop: Callable[[], None], cancel: Callable[[], None]) -> None:
        with self._lock:
            self._controls = _Controls(stop, cancel)
        for wish in self._asked:
            wish(self._controls)

    def _started(self, number: int, of: int | None, engine: str) -> None:
        self._post(TrialStarted(number, of, engine))

    def _interval(self, interval: Mapping[str, Any]) -> None:
        self._post(IntervalSeen(interval))

    def _finished(self, row: TrialView) -> None:
        self._post(TrialFinished(row))


def plain_words(error: BaseException) -> str:
    """An error as one sentence; the type is named only where there is no text."""
    return " ".join(str(error).split()) or type(error).__name__
