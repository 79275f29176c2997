"""What was measured before: stored studies, their trials, and the way back to their advice."""

from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Static

from tui import format as fmt
from tui.screens.confirm import Confirm
from tui.views import Session, StudyView, TrialView
from tui.widgets.title_bar import TitleBar
from tui.widgets.trials_table import TrialsTable
from tui.widgets.wrapping_table import Heading, WrappingTable
from tui.working import plain_words

HEADINGS = (
    Heading("study"),
    Heading("workload", optional=True),
    Heading("created"),
    Heading("trials", right=True),
    Heading("clock"),
    Heading("verified on", optional=True),
    Heading("goal"),
)


class StudiesTable(WrappingTable):
    """One line per stored study."""

    HELP = """\
    ## Studies

    Every study of this results file, the newest first. Its trials are shown below; Enter opens
    its advice, d deletes it.
    """


class ResultsScreen(Screen[None]):
    """Studies above, the trials of the chosen one below."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("a", "open", "Advice"),
        ("d", "delete", "Delete"),
        ("escape", "app.pop_screen", "Back"),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._studies: list[StudyView] = []

    def compose(self) -> ComposeResult:
        yield TitleBar("results")
        with Vertical(id="results-body"):
            with Container(id="studies-panel", classes="panel") as panel:
                panel.border_title = "studies"
                yield Static("Reading the results…", classes="empty", id="no-studies")
                yield StudiesTable(HEADINGS, id="studies")
            with Container(id="runs-panel", classes="panel") as panel:
                panel.border_title = "trials"
                yield TrialsTable(id="trials")
        yield Footer()

    def on_mount(self) -> None:
        table = self.query_one(StudiesTable)
        table.display = False
        self._read_studies()

    @work(thread=True, exclusive=True, group="studies", exit_on_error=False)
    def _read_studies(self) -> None:
        """DuckDB takes a moment to import: not on the screen's thread."""
        try:
            studies = self._session.studies()
        except Exception as error:
            self.app.call_from_thread(self._say, plain_words(error))
        else:
            self.app.call_from_thread(self._fill, studies)

    def _say(self, text: str) -> None:
        self.query_one("#no-studies", Static).update(Text(text))

    def _fill(self, studies: list[StudyView]) -> None:
        self._studies = studies
        table = self.query_one(StudiesTable)
        table.display = bool(studies)
        self.query_one("#no-studies").display = not studies
        if not studies:
            self._say("No study is stored yet.\nStart one from a profile, or run `tunebench tune`.")
            self._show_trials([])
            return
        table.fill({study.name: _cells(study) for study in studies})
        table.focus()

    @on(DataTable.RowHighlighted, "#studies")
    def _study_highlighted(self, event: DataTable.RowHighlighted) -> None:
        if event.cursor_row < len(self._studies):
            self._read_trials(self._studies[event.cursor_row].name)

    @work(thread=True, exclusive=True, group="trials", exit_on_error=False)
    def _read_trials(self, study: str) -> None:
        try:
            trials = self._session.trials(study)
        except Exception as error:
            self.app.call_from_thread(self.notify, plain_words(error), severity="error")
        else:
            self.app.call_from_thread(self._show_trials, trials)

    def _show_trials(self, trials: list[TrialView]) -> None:
        self.query_one(TrialsTable).show(trials)

    @on(DataTable.RowSelected)
    def _row_selected(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        """Open the recommendation of the chosen study."""
        if self._studies:
            self._read_outcome(self._chosen().name)

    def action_delete(self) -> None:
        """Delete the chosen study, once the user has agreed."""
        if not self._studies:
            return
        study = self._chosen()
        trials = fmt.counted(study.trials, "trial")
        question = f"Delete the study {study.name} with {trials}? They cannot be brought back."

        def answered(agreed: bool | None) -> None:
            if agreed:
                self._delete(study.name)

        self.app.push_screen(Confirm(question, "Delete", "Keep it"), answered)

    @work(thread=True, exclusive=True, group="studies", exit_on_error=False)
    def _delete(self, study: str) -> None:
        try:
            self._session.delete(study)
            studies = self._session.studies()
        except Exception as error:
            self.app.call_from_thread(self.notify, plain_words(error), severity="error")
        else:
            self.app.call_from_thread(self._fill, studies)

    def _chosen(self) -> StudyView:
        return self._studies[self.query_one(StudiesTable).cursor_row]

    @work(thread=True, exclusive=True, group="outcome", exit_on_error=False)
    def _read_outcome(self, study: str) -> None:
        try:
            outcome = self._session.outcome(study)
        except Exception as error:
            self.app.call_from_thread(self.notify, plain_words(error), severity="error")
            return
        from tui.screens.recommendation import RecommendationScreen

        screen = RecommendationScreen(self._session, outcome)
        self.app.call_from_thread(self.app.push_screen, screen)


def _cells(study: StudyView) -> tuple[Text, ...]:
    return (
        Text(study.name),
        Text(study.workload),
        Text(study.created),
        Text(str(study.trials), justify="right"),
        Text(study.clock),
        Text(study.verified),
        Text(study.goal),
    )
