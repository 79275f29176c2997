"""The number to watch: the best score of the study, in digits that can be read from across the
room."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Digits, Static

from tui import format as fmt


class BestSoFar(Vertical):
    """Big digits, what they count, and how far they are from the starting point."""

    HELP = """\
    ## Best so far

    The best trial of this study under its goal, against the settings the study started from.
    A trial that broke a limit of the goal is never the best. Of several objectives the first is
    shown; the advice has the front.
    """

    def compose(self) -> ComposeResult:
        yield Static("best so far", classes="caption")
        yield Digits("", id="best-digits")
        yield Static("", id="best-unit")
        yield Static("waiting for the first trial", id="best-note")

    def show_none(self) -> None:
        """No trial so far can be the best."""
        note = "no trial has kept the limits yet;\nthe table has the nearest on top"
        self.query_one("#best-note", Static).update(note)

    def show(
        self, metric: str, number: float, engine: str, trial: int, baseline: float | None
    ) -> None:
        """Show a new best: the metric of the goal, its value, and where it was found."""
        written = fmt.value(metric, number)
        digits, _, unit = written.partition(" ")
        self.query_one("#best-digits", Digits).update(digits.rstrip("x"))
        label = fmt.label(metric)
        self.query_one("#best-unit", Static).update(f"{unit} {label}".strip())
        lines = [f"{fmt.ENGINE_TITLES.get(engine, engine)}, trial {trial}"]
        gain = fmt.difference(baseline, number)
        if gain:
            lines.append(f"{gain} against the start" if gain != "same" else "same as the start")
        self.query_one("#best-note", Static).update("\n".join(lines))
        self.set_class(True, "-known")
