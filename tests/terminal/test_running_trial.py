"""The line of the trial in flight."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.widgets import Sparkline

from tui.widgets.running_trial import RunningTrial


class OneLine(App[None]):
    def compose(self) -> ComposeResult:
        yield RunningTrial(id="running")


async def test_rates_are_drawn_from_the_second_interval_of_a_trial_on() -> None:
    async with OneLine().run_test() as pilot:
        line, spark = pilot.app.query_one(RunningTrial), pilot.app.query_one(Sparkline)
        for number in (1, 2):
            line.start(number, 6, "lsm")
            assert not spark.visible
            for rates in ([1000.0], [1000.0, 3000.0]):
                line.interval({"phase": "run", "ops_per_s": rates[-1], "p99_us": 1500.0})
                assert spark.data == rates
                assert spark.visible == (len(rates) > 1)
