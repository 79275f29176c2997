"""A query of the results file, what there is to ask, and the answer."""

from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Input, Static

from tui import format as fmt
from tui.views import AnswerView, Session
from tui.widgets.answer_table import AnswerTable
from tui.widgets.title_bar import TitleBar
from tui.widgets.wrapping_table import Heading, WrappingTable
from tui.working import plain_words

FIRST = (
    "SELECT study, engine, count(*) AS trials, max(ops_per_s) AS best FROM run GROUP BY ALL "
    "ORDER BY best DESC"
)
"""Shown while nothing is typed; Enter asks it."""


class QueryInput(Input):
    """One query."""

    HELP = """\
    ## Query

    One query in DuckDB's SQL, which reads the results file and cannot change it. Enter asks it.
    The views and tables are listed below with their columns; `run` has a row for each trial with
    its metrics as columns. `tunebench results --sql 'SELECT ...'` asks the same.
    """


class TablesTable(WrappingTable):
    """One line per view or table."""

    HELP = """\
    ## Views and tables

    What a query can read. Enter asks for the first rows of the one under the cursor.
    """


class QueryScreen(Screen[None]):
    """The query above, the answer and what can be asked below."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "app.pop_screen", "Back")]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    def compose(self) -> ComposeResult:
        yield TitleBar("SQL", "read only")
        with Vertical(id="query-body"):
            with Horizontal(id="query-panel", classes="panel") as panel:
                panel.border_title = "query"
                yield QueryInput(placeholder=FIRST, id="query", compact=True)
            yield Static("", id="query-told", markup=False)
            with Horizontal(id="query-below"):
                with Container(id="answer-panel", classes="panel") as panel:
                    panel.border_title = "answer"
                    yield Static("Enter asks.", classes="empty", id="no-answer")
                    yield AnswerTable(id="answer")
                with Container(id="tables-panel", classes="panel") as panel:
                    panel.border_title = "views and tables"
                    yield TablesTable((Heading("name"), Heading("columns")), id="tables")
        yield Footer()

    def on_mount(self) -> None:
        self.query_one(AnswerTable).display = False
        self.query_one(QueryInput).focus()
        self._read_tables()

    @work(thread=True, exclusive=True, group="tables", exit_on_error=False)
    def _read_tables(self) -> None:
        try:
            found = self._session.tables()
        except Exception as error:
            self.app.call_from_thread(self._say, plain_words(error), True)
        else:
            self.app.call_from_thread(self._list, found)

    def _list(self, tables: dict[str, tuple[str, ...]]) -> None:
        self.query_one(TablesTable).fill(
            {name: (Text(name), Text(", ".join(columns))) for name, columns in tables.items()}
        )

    @on(Input.Submitted, "#query")
    def _submitted(self, event: Input.Submitted) -> None:
        self._ask(event.value.strip() or FIRST)

    @on(DataTable.RowSelected, "#tables")
    def _table_chosen(self) -> None:
        name = self.query_one(TablesTable).key_at_cursor()
        entry = self.query_one(QueryInput)
        entry.value = f'SELECT * FROM "{name}" LIMIT 100'
        self._ask(entry.value)

    @work(thread=True, exclusive=True, group="query", exit_on_error=False)
    def _ask(self, query: str) -> None:
        self.app.call_from_thread(self._say, "asking…", False)
        try:
            answer = self._session.sql(query)
        except Exception as error:
            self.app.call_from_thread(self._say, plain_words(error), True)
        else:
            self.app.call_from_thread(self._answered, answer)

    def _say(self, text: str, is_wrong: bool) -> None:
        told = self.query_one("#query-told", Static)
        told.update(text)
        told.set_class(is_wrong, "-wrong")

    def _answered(self, answer: AnswerView) -> None:
        rows = fmt.counted(len(answer.rows), "row")
        self._say(f"the first {rows}" if answer.is_cut else rows, False)
        self.query_one("#no-answer").display = False
        table = self.query_one(AnswerTable)
        table.display = True
        table.show(answer)
