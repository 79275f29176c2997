"""What was measured before: stored studies, their trials, and the way back to their advice."""

from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Input, Static

from tui import format as fmt
from tui.screens.confirm import Confirm
from tui.views import Session, StudyView, TrialView
from tui.widgets.studies_table import StudiesTable
from tui.widgets.title_bar import TitleBar
from tui.widgets.trials_table import TrialsTable
from tui.working import plain_words

LEAST = 2
"""Studies that can be compared."""


class FilterInput(Input):
    """Words that studies must have."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "screen.show_all", "All studies")]

    HELP = """\
    ## Filter

    Only studies are listed that have every word you type in their name, workload, tags or goal.
    Enter goes to them, Esc shows all again.
    """


class ResultsScreen(Screen[None]):
    """Studies above, the trials of the chosen one below."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("slash", "filter", "Filter"),
        ("space", "mark", "Mark"),
        ("c", "compare", "Compare"),
        ("t", "tag", "Tag"),
        ("a", "open", "Advice"),
        ("q", "query", "SQL"),
        ("d", "delete", "Delete"),
        ("escape", "app.pop_screen", "Back"),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._studies: list[StudyView] = []
        self._marked: list[str] = []
        """In the order in which they were marked."""

    def compose(self) -> ComposeResult:
        yield TitleBar("results")
        with Vertical(id="results-body"):
            with Container(id="studies-panel", classes="panel") as panel:
                panel.border_title = "studies"
                yield FilterInput(
                    placeholder="name, workload, tag or goal", id="filter", compact=True
                )
                yield Static("Reading the results…", classes="empty", id="no-studies")
                yield StudiesTable(id="studies")
            with Container(id="runs-panel", classes="panel") as panel:
                panel.border_title = "trials"
                yield TrialsTable(id="trials")
        yield Footer()

    def on_mount(self) -> None:
        self.query_one(FilterInput).display = False
        self.query_one(StudiesTable).display = False
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
        names = {one.name for one in studies}
        self._marked = [name for name in self._marked if name in names]
        self._list()
        self.refresh_bindings()
        if studies:
            self.query_one(StudiesTable).focus()

    def _list(self) -> None:
        """Show the studies that the filter leaves."""
        words = self.query_one(FilterInput).value.lower().split()
        left = [one for one in self._studies if _has_all(one, words)]
        table = self.query_one(StudiesTable)
        table.display = bool(left)
        self.query_one("#no-studies").display = not left
        if not left:
            self._say(
                "No study has all these words."
                if self._studies
                else "No study is stored yet.\nStart one from a profile, or run `tunebench tune`."
            )
        table.show(left, self._marked)
        if not left:
            self._show_trials("", [])
        told = [f"{len(left)} of {len(self._studies)}"] if words else []
        told += [f"{len(self._marked)} marked"] if self._marked else []
        self.query_one("#studies-panel").border_subtitle = " · ".join(told)

    @on(Input.Changed, "#filter")
    def _filter_changed(self) -> None:
        self._list()

    @on(Input.Submitted, "#filter")
    def _filtered(self) -> None:
        self.query_one(StudiesTable).focus()

    @on(DataTable.RowHighlighted, "#studies")
    def _study_highlighted(self) -> None:
        name = self.query_one(StudiesTable).key_at_cursor()
        if name is not None:
            self._read_trials(name)

    @work(thread=True, exclusive=True, group="trials", exit_on_error=False)
    def _read_trials(self, study: str) -> None:
        try:
            trials = self._session.trials(study)
        except Exception as error:
            self.app.call_from_thread(self.notify, plain_words(error), severity="error")
        else:
            self.app.call_from_thread(self._show_trials, study, trials)

    def _show_trials(self, study: str, trials: list[TrialView]) -> None:
        """Those of a study, if the cursor is still on it."""
        if study == (self.query_one(StudiesTable).key_at_cursor() or ""):
            self.query_one(TrialsTable).show(trials)

    @on(DataTable.RowSelected)
    def _row_selected(self) -> None:
        self.action_open()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "compare":
            return True if len(self._studies) >= LEAST else None
        return True

    def action_filter(self) -> None:
        """Type which studies to list."""
        entry = self.query_one(FilterInput)
        entry.display = True
        entry.focus()

    def action_show_all(self) -> None:
        """List all studies again."""
        entry = self.query_one(FilterInput)
        entry.value = ""
        entry.display = False
        self._list()
        self.query_one(StudiesTable).focus()

    def action_mark(self) -> None:
        """Mark the study under the cursor, or take its mark off, and go on to the next."""
        study = self._chosen()
        if study is None:
            return
        if study.name in self._marked:
            self._marked.remove(study.name)
        else:
            self._marked.append(study.name)
        self._list()
        self.query_one(StudiesTable).action_cursor_down()

    def action_compare(self) -> None:
        """Set the marked studies side by side; a single one with that under the cursor."""
        study, names = self._chosen(), list(self._marked)
        if study is not None and len(names) == 1 and study.name not in names:
            names.append(study.name)
        if len(names) < LEAST:
            self.notify("Mark the studies to compare with space.")
            return
        self._read_comparison(names)

    @work(thread=True, exclusive=True, group="comparison", exit_on_error=False)
    def _read_comparison(self, names: list[str]) -> None:
        try:
            found = self._session.compare(names)
        except Exception as error:
            self.app.call_from_thread(self.notify, plain_words(error), severity="error")
            return
        from tui.screens.comparison import ComparisonScreen

        screen = ComparisonScreen(found)
        self.app.call_from_thread(self.app.push_screen, screen)

    def action_tag(self) -> None:
        """Write tags on the chosen study, or take them off."""
        study = self._chosen()
        if study is None:
            return
        from tui.screens.tags import TagsDialog

        known = sorted({tag for one in self._studies for tag in one.tags})

        def closed(changed: bool | None) -> None:
            if changed:
                self._read_studies()

        self.app.push_screen(TagsDialog(self._session, study, known), closed)

    def action_query(self) -> None:
        """Ask the results file in SQL."""
        from tui.screens.query import QueryScreen

        self.app.push_screen(QueryScreen(self._session))

    def action_open(self) -> None:
        """Open the recommendation of the chosen study."""
        study = self._chosen()
        if study is not None:
            self._read_outcome(study.name)

    def action_delete(self) -> None:
        """Delete the chosen study, once the user has agreed."""
        study = self._chosen()
        if study is None:
            return
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

    def _chosen(self) -> StudyView | None:
        """The study under the cursor."""
        name = self.query_one(StudiesTable).key_at_cursor()
        return next((one for one in self._studies if one.name == name), None)

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


def _has_all(study: StudyView, words: list[str]) -> bool:
    text = " ".join((study.name, study.workload, study.goal, *study.tags)).lower()
    return all(word in text for word in words)
