"""The line on stderr that says what a verification does."""

from advisor.spec import Interval
from advisor.verify import Event
from tui import format as fmt
from tui.narration import LiveLine, interval_words


class VerificationLine(LiveLine):
    """Give `tell` and `see` to a verification."""

    def __init__(self) -> None:
        super().__init__()
        self._now = ""

    def tell(self, event: Event) -> None:
        """Say what is about to run."""
        self._now = _words(event)
        self.show(self._now)

    def see(self, interval: Interval) -> None:
        """Say how it goes."""
        self.show(f"{self._now} · {interval_words(interval)}")


def _words(event: Event) -> str:
    left = f"{fmt.duration(event.seconds_left)} left"
    if event.what == "pilot":
        return f"{left} · trying how fast this machine loads"
    if event.what == "prediction":
        return f"{left} · predicting {event.contender}"
    return f"{left} · round {event.round}, {event.contender}"
