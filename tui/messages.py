"""What the study thread tells the screen. Messages of intervals may replace one another, so that a
fast core cannot flood the screen; a finished trial is never replaced."""

from collections.abc import Mapping
from typing import Any

from textual.message import Message

from tui.views import Outcome, TrialView


class TrialStarted(Message):
    """A trial begins: one of so many, if that is known."""

    def __init__(self, number: int, of: int | None, engine: str) -> None:
        super().__init__()
        self.number = number
        self.of = of
        self.engine = engine


class IntervalSeen(Message):
    """The newest sample of the running trial."""

    def __init__(self, interval: Mapping[str, Any]) -> None:
        super().__init__()
        self.interval = interval

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, IntervalSeen)


class TrialFinished(Message):
    """A trial is over and stored."""

    def __init__(self, row: TrialView) -> None:
        super().__init__()
        self.row = row


class StudyEnded(Message):
    """No more trials: the outcome, or why there is none."""

    def __init__(self, outcome: Outcome | None, failure: str) -> None:
        super().__init__()
        self.outcome = outcome
        self.failure = failure
