"""The study, live: the best so far, the trial in flight, every finished trial."""

from asyncio import to_thread
from collections.abc import Sequence
from importlib import import_module
from math import inf
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import DataTable, Footer, Static

from tui import format as fmt
from tui.messages import IntervalSeen, StudyEnded, TrialFinished, TrialStarted
from tui.screens.confirm import Confirm
from tui.study_thread import StudyThread
from tui.views import Outcome, Plan, Session, TrialView
from tui.widgets.best_so_far import BestSoFar
from tui.widgets.running_trial import RunningTrial
from tui.widgets.title_bar import TitleBar
from tui.widgets.trials_table import TrialsTable

if TYPE_CHECKING:
    from tui.widgets.trial_chart import TrialChart

REDRAW_S = 0.1
CHART_S = 0.5
"""The chart draws all its dots each time."""


class StudyScreen(Screen[None]):
    """Starts the study when it appears, and cancels it when it goes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("s", "stop", "Stop after this trial"),
        ("a", "recommendation", "Advice"),
        ("escape", "leave", "Back"),
    ]

    def __init__(self, session: Session, plan: Plan) -> None:
        super().__init__()
        self._session = session
        self._plan = plan
        self._study_thread = StudyThread(session, plan, self.post_message)
        self._trials: list[TrialView] = []
        self._points: list[tuple[int, str, float, bool]] = []
        """Of the chart."""
        self._charted = 0
        self._drawn = 0
        """How many of them are on the screen."""
        self._best: TrialView | None = None
        self._chart: TrialChart | None = None
        self._redrawing: list[Timer] = []
        self._latest: IntervalSeen | None = None
        self._unfinished = True
        self._outcome: Outcome | None = None

    def compose(self) -> ComposeResult:
        yield TitleBar(self._plan.title, fmt.CLOCK_TITLES.get(self._plan.clock, self._plan.clock))
        with Vertical(id="study-body"):
            with Horizontal(id="study-top"):
                yield BestSoFar()
                with Container(id="chart-panel", classes="panel") as panel:
                    panel.border_title = Text(self._plan.goal)
                    panel.border_subtitle = f"{fmt.label(self._plan.metric)} by trial"
                    yield Static("A dot per finished trial.", classes="empty", id="no-chart")
            yield RunningTrial(id="running")
            with Container(id="trials-panel", classes="panel") as panel:
                panel.border_title = "trials"
                yield Static("The first trial is under way.", classes="empty", id="no-trials")
                yield TrialsTable(id="trials")
        yield Footer()

    def on_mount(self) -> None:
        self.query_one(TrialsTable).display = False
        self._redrawing = [
            self.set_interval(REDRAW_S, self._draw),
            self.set_interval(CHART_S, self._draw_chart),
        ]
        self._add_chart()
        self._study_thread.start()

    def on_unmount(self) -> None:
        self._study_thread.cancel()

    def on_screen_suspend(self) -> None:
        """What lies over the study, a palette say, is drawn with all that moves below it."""
        for timer in self._redrawing:
            timer.pause()

    def on_screen_resume(self) -> None:
        for timer in self._redrawing:
            timer.resume()
        self._draw()
        self._draw_chart()

    @work
    async def _add_chart(self) -> None:
        """The chart brings NumPy: it joins once the rest is on the screen."""
        module = await to_thread(import_module, "tui.widgets.trial_chart")
        chart: TrialChart = module.TrialChart(id="chart", less_is_better=self._plan.less_is_better)
        chart.display = False
        panel = self.query_one("#chart-panel")
        # Whoever leaves meanwhile takes the screen away.
        if not panel.is_attached:
            return
        await panel.mount(chart)
        self._chart = chart
        self._draw_chart()

    def _draw_chart(self) -> None:
        points = self._points
        if self._chart is not None and len(points) > self._charted:
            self._charted = len(points)
            self.query_one("#no-chart").display = False
            self._chart.display = True
            self._chart.show(points)

    @on(TrialStarted)
    def _trial_started(self, event: TrialStarted) -> None:
        self._latest = None
        self.query_one(RunningTrial).start(event.number, event.of, event.engine)

    @on(IntervalSeen)
    def _interval_seen(self, event: IntervalSeen) -> None:
        self._latest = event

    @on(TrialFinished)
    def _trial_finished(self, event: TrialFinished) -> None:
        trial = event.row
        self._trials.append(trial)
        value = trial.metrics.get(self._plan.metric)
        if value is not None:
            self._points.append((trial.number, trial.engine, value, trial.score is not None))

    def _draw(self) -> None:
        """Show what came since the last time: however fast trials end, keys are answered."""
        if self._latest is not None and self._unfinished:
            self.query_one(RunningTrial).interval(self._latest.interval)
            self._latest = None
        if len(self._trials) > self._drawn:
            self._draw_trials(self._trials[self._drawn :])
            self._drawn = len(self._trials)

    def _draw_trials(self, arrived: Sequence[TrialView]) -> None:
        self.query_one("#no-trials").display = False
        table = self.query_one(TrialsTable)
        if not table.display:
            table.display = True
            table.focus()
        table.add_trials(arrived)
        best = max((one for one in arrived if one.score is not None), key=_score, default=None)
        if best is not None and (self._best is None or _score(best) > _score(self._best)):
            self._best = best
            self._show_best(best)
        if self._best is None:
            self.query_one(BestSoFar).show_none()

    def _show_best(self, trial: TrialView) -> None:
        value = trial.metrics.get(self._plan.metric)
        if value is None:
            return
        start = self._trials[0].metrics.get(self._plan.metric)
        self.query_one(BestSoFar).show(self._plan.metric, value, trial.engine, trial.number, start)

    @on(StudyEnded)
    def _study_ended(self, event: StudyEnded) -> None:
        self._unfinished = False
        self._outcome = event.outcome
        running = self.query_one(RunningTrial)
        if event.outcome is None:
            running.finish("the study ended without a recommendation")
            if not self._trials:
                self.query_one("#no-trials", Static).update("No trial was finished.")
            self.notify(
                event.failure,
                title="The study stopped",
                severity="error",
                timeout=12,
                markup=False,
            )
        else:
            running.finish(f"done after {event.outcome.trials} trials: press a for the advice")
        self.refresh_bindings()

    @on(DataTable.RowSelected)
    def _row_selected(self) -> None:
        self.action_recommendation()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "stop":
            return self._unfinished
        if action == "recommendation":
            return self._outcome is not None
        return True

    def action_stop(self) -> None:
        """Ask the study to end between two trials."""
        self._study_thread.stop()
        self.notify("The study ends with the running trial. What was measured is kept.")

    def action_recommendation(self) -> None:
        """Open what the study found."""
        if self._outcome is None:
            return
        from tui.screens.recommendation import RecommendationScreen

        self.app.push_screen(RecommendationScreen(self._session, self._outcome))

    def action_leave(self) -> None:
        """Back to the profiles; a running study is stopped first, if the user agrees."""
        if not self._unfinished:
            self.app.pop_screen()
            return
        question = (
            "The study is still running.\n"
            "Leaving ends it and drops the trial in flight; the finished trials are kept."
        )
        self.app.push_screen(Confirm(question, "Leave", "Stay"), self._left)

    def _left(self, agreed: bool | None) -> None:
        if agreed:
            self.app.pop_screen()


def _score(trial: TrialView) -> float:
    return -inf if trial.score is None else trial.score
