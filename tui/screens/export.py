"""Choose a product and a place, and write the file. A file that exists is replaced only on a second
yes."""

from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Label, Select, Static

from advisor.files import expanded, is_file
from tui.screens.confirm import Confirm
from tui.views import DialectView, Outcome, Session
from tui.widgets.field import Field
from tui.working import plain_words

FOLDER = Path("tuned")


class ExportDialog(ModalScreen[str | None]):
    """Dismisses with a sentence that says what was written, or with None."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss(None)", "Cancel")]

    def __init__(self, session: Session, outcome: Outcome) -> None:
        super().__init__()
        self._session = session
        self._outcome = outcome
        self._dialects = {dialect.name: dialect for dialect in session.dialects(outcome)}
        self._proposed = ""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "export"
            if self._dialects:
                yield from self._form()
            else:
                yield Static("No file format is known for this engine.", classes="question")
            with Horizontal(classes="buttons"):
                if self._dialects:
                    yield Button("Write", variant="primary", id="write", compact=True)
                yield Button("Cancel", id="cancel", compact=True)

    def _form(self) -> ComposeResult:
        dialects = list(self._dialects.values())
        with Horizontal(classes="choice"):
            yield Label("product")
            yield Select(
                [(dialect.title, dialect.name) for dialect in dialects],
                value=dialects[0].name,
                allow_blank=False,
                compact=True,
                id="dialect",
            )
        self._proposed = _place(dialects[0])
        yield Field(
            "path",
            "file",
            help_text="Where to write. The report goes beside it.",
            value=self._proposed,
        )

    @on(Select.Changed, "#dialect")
    def _propose_path(self) -> None:
        field = self.query_one(Field)
        if field.value == self._proposed:
            self._proposed = _place(self._chosen())
            field.value = self._proposed
        field.complain("")

    def _chosen(self) -> DialectView:
        return self._dialects[str(self.query_one("#dialect", Select).value)]

    @on(Button.Pressed, "#cancel")
    def _cancel(self) -> None:
        self.dismiss(None)

    @on(Button.Pressed, "#write")
    @on(Input.Submitted)
    def _write(self) -> None:
        text = self.query_one(Field).value
        if not text:
            self.query_one(Field).complain("name a file")
            return
        path = expanded(text)
        if is_file(path):
            question = f"{path} exists already. Replace it?"
            self.app.push_screen(Confirm(question, "Replace", "Keep it"), self._replace)
        else:
            self._write_to(path, force=False)

    def _replace(self, agreed: bool | None) -> None:
        if agreed:
            self._write_to(expanded(self.query_one(Field).value), force=True)

    def _write_to(self, path: Path, *, force: bool) -> None:
        try:
            written = self._session.export(self._outcome, self._chosen().name, path, force=force)
        except Exception as error:
            self.query_one(Field).complain(plain_words(error))
        else:
            self.dismiss(written)


def _place(dialect: DialectView) -> str:
    return str(FOLDER / dialect.file_name)
