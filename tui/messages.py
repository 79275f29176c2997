"""What working threads tell the screens. Messages of intervals may replace one another, so that a
fast core cannot flood the screen; a finished trial is never replaced."""

from collections.abc import Mapping
from typing import Any

from textual.message import Message

from tui.views import Outcome, PublishedView, SweepView, TrialView


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


class SweepStepBegun(Message):
    """The sweep goes on with a value of its axis."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self.label = label


class SweepMoved(Message):
    """What a running sweep has by now; a later one says all that an earlier one did."""

    def __init__(self, view: SweepView) -> None:
        super().__init__()
        self.view = view

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, SweepMoved)


class SweepEnded(Message):
    """No more steps: the sweep, or why it ended without one."""

    def __init__(self, view: SweepView | None, failure: str) -> None:
        super().__init__()
        self.view = view
        self.failure = failure


class ReplayCounted(Message):
    """Runs of a replay that are done, and runs in all."""

    def __init__(self, done: int, runs: int) -> None:
        super().__init__()
        self.done = done
        self.runs = runs

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, ReplayCounted)


class ReplayMoved(Message):
    """What a replay has by now; a later one says all that an earlier one did."""

    def __init__(self, view: PublishedView) -> None:
        super().__init__()
        self.view = view

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, ReplayMoved)


class ReplayEnded(Message):
    """No more runs: the replay, or why it ended without one."""

    def __init__(self, view: PublishedView | None, failure: str) -> None:
        super().__init__()
        self.view = view
        self.failure = failure
