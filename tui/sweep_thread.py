"""The thread that walks a sweep while its screen stays alive."""

from collections.abc import Callable

from textual.message import Message

from tui.messages import SweepEnded, SweepMoved, SweepStepBegun
from tui.views import Session, SweepPlan, SweepView, SweepWatcher
from tui.working import Working


class SweepThread(Working):
    """Runs `session.sweep(plan)` and tells `post` what happens."""

    def __init__(self, session: Session, plan: SweepPlan, post: Callable[[Message], bool]) -> None:
        super().__init__("sweep", self._sweep, lambda why: SweepEnded(None, why), post)
        self._session = session
        self._plan = plan

    def _sweep(self) -> Message:
        watcher = SweepWatcher(attach=self.attach, step=self._step, moved=self._moved)
        return SweepEnded(self._session.sweep(self._plan, watcher), "")

    def _step(self, label: str) -> None:
        self._post(SweepStepBegun(label))

    def _moved(self, view: SweepView) -> None:
        self._post(SweepMoved(view))
