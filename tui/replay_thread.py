"""The thread that replays a published experiment while its screen stays alive."""

from collections.abc import Callable

from textual.message import Message

from tui.messages import ReplayCounted, ReplayEnded, ReplayMoved
from tui.views import PublishedView, ReplayWatcher, Session
from tui.working import Working


class ReplayThread(Working):
    """Runs `session.replay(name)` and tells `post` what happens."""

    def __init__(self, session: Session, name: str, post: Callable[[Message], bool]) -> None:
        super().__init__("replay", self._replay, lambda why: ReplayEnded(None, why), post)
        self._session = session
        self.experiment = name

    def _replay(self) -> Message:
        watcher = ReplayWatcher(attach=self.attach, runs=self._counted, moved=self._moved)
        return ReplayEnded(self._session.replay(self.experiment, watcher), "")

    def _counted(self, done: int, runs: int) -> None:
        self._post(ReplayCounted(done, runs))

    def _moved(self, view: PublishedView) -> None:
        self._post(ReplayMoved(view))
