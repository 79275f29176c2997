"""A thread that works for a screen which stays alive.

It is not a worker of the app: a closed screen cancels it and does not wait; `leaving` does, at the
end of the program. It only posts messages, and a closed screen simply stops listening.
"""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock, Thread

from textual.message import Message


@dataclass(frozen=True)
class _Controls:
    stop: Callable[[], None]
    cancel: Callable[[], None]


class Working:
    """Runs `work` in a thread, and posts what comes of it."""

    def __init__(
        self,
        name: str,
        work: Callable[[], Message],
        failed: Callable[[str], Message],
        post: Callable[[Message], bool],
    ) -> None:
        """`work` answers the last message; what it raises is posted as `failed`, in words."""
        self._work = work
        self._failed = failed
        self._post = post
        self._lock = Lock()
        self._asked: list[Callable[[_Controls], None]] = []
        self._controls: _Controls | None = None
        self._thread = Thread(target=self._run, name=name)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End behind what runs now."""
        self._ask(lambda controls: controls.stop())

    def cancel(self) -> None:
        """End everything: what runs now is dropped."""
        self._ask(lambda controls: controls.cancel())

    def attach(self, stop: Callable[[], None], cancel: Callable[[], None]) -> None:
        """The work tells what stops and what cancels it; wishes of before reach it now."""
        with self._lock:
            self._controls = _Controls(stop, cancel)
        for wish in self._asked:
            wish(self._controls)

    def _run(self) -> None:
        try:
            last = self._work()
        except Exception as error:
            last = self._failed(plain_words(error))
        self._post(last)

    def _ask(self, wish: Callable[[_Controls], None]) -> None:
        """Pass a wish on, at once or as soon as somebody hears it."""
        with self._lock:
            if self._controls is None:
                self._asked.append(wish)
                return
        wish(self._controls)


def plain_words(error: BaseException) -> str:
    """An error as one sentence; the type is named only where there is no text."""
    return " ".join(str(error).split()) or type(error).__name__
