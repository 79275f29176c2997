"""The trial in flight: which it is, what it does now, and its throughput over the last seconds."""

from collections import deque
from collections.abc import Mapping
from typing import Any

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Sparkline, Static

from tui import format as fmt
from tui.narration import interval_words

KEPT_INTERVALS = 60


class RunningTrial(Horizontal):
    """One line that changes as the core reports."""

    HELP = """\
    ## The running trial

    The workload runs against one set of settings. Data is loaded first, then the caches warm up,
    and only then is anything measured.
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._title = ""
        self._rates: deque[float] = deque(maxlen=KEPT_INTERVALS)

    def compose(self) -> ComposeResult:
        yield Static("preparing the study", id="running-text")
        yield Sparkline(summary_function=max, id="running-spark")

    def start(self, number: int, of: int | None, engine: str) -> None:
        """A new trial begins."""
        total = f"/{of}" if of else ""
        self._title = f"trial {number}{total} · {fmt.ENGINE_TITLES.get(engine, engine)}"
        self._rates.clear()
        self._say("starting")
        self.query_one(Sparkline).visible = False

    def interval(self, interval: Mapping[str, Any]) -> None:
        """The newest sample of the running trial, as the core reports it."""
        if interval.get("ops_per_s") is not None:
            self._rates.append(interval["ops_per_s"])
        self._say(interval_words(interval))
        spark = self.query_one(Sparkline)
        spark.visible = len(self._rates) > 1
        spark.data = list(self._rates)

    def finish(self, sentence: str) -> None:
        """Nothing runs any more: say what became of the study."""
        self._title = ""
        self._say(sentence)
        self.query_one(Sparkline).visible = False

    def _say(self, words: str) -> None:
        line = f"{self._title} · {words}" if self._title else words
        self.query_one("#running-text", Static).update(line)
