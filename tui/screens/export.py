"""Choose a product, read the file as it would be written, and write it. A file that exists is
replaced only on a second yes."""

from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Label, Select, Static
from textual.worker import get_current_worker

from advisor.files import expanded, is_file
from tui import format as fmt
from tui.screens.confirm import Confirm
from tui.views import DialectView, Outcome, Session
from tui.widgets.field import Field
from tui.widgets.file_preview import FilePreview
from tui.working import plain_words

FOLDER = Path("tuned")


class ExportDialog(ModalScreen[str | None]):
    """Dismisses with a sentence that says what was written, or with None."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "cancel", "Cancel")]

    def __init__(self, session: Session, outcome: Outcome) -> None:
        super().__init__()
        self._session = session
        self._outcome = outcome
        self._dialects = {dialect.name: dialect for dialect in session.dialects(outcome)}
        self._proposed = ""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="export-dialog") as dialog:
            dialog.border_title = "export"
            yield from self._form()
            with Vertical(id="preview-panel", classes="panel"):
                yield FilePreview(id="preview")
            with Horizontal(classes="buttons"):
                yield Static(id="writing", markup=False)
                yield Button("Write", variant="primary", id="write", compact=True)
                yield Button("Cancel", id="cancel", compact=True)

    def _form(self) -> ComposeResult:
        dialects = list(self._dialects.values())
        with Horizontal(classes="choice"):
            yield Label("product")
            yield Select(
                [(_label(dialect), dialect.name) for dialect in dialects],
                value=dialects[0].name,
                allow_blank=False,
                compact=True,
                id="dialect",
            )
        self._proposed = _place(dialects[0])
        yield Field(
            "path",
            "file",
            help_text="Where to write. The reports go beside it.",
            value=self._proposed,
        )

    @on(Select.Changed, "#dialect")
    def _show_dialect(self) -> None:
        field = self.query_one(Field)
        if field.value == self._proposed:
            self._proposed = _place(self._chosen())
            field.value = self._proposed
        field.complain("")
        self._show_preview(self._chosen(), "", "reading")
        self._read_preview(self._chosen())

    @work(thread=True, exclusive=True, group="preview", exit_on_error=False)
    def _read_preview(self, dialect: DialectView) -> None:
        worker = get_current_worker()
        try:
            text = self._session.preview(self._outcome, dialect.name)
            remark = fmt.counted(len(text.splitlines()), "line")
        except Exception as error:
            text, remark = f"# {plain_words(error)}", "no file"
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show_preview, dialect, text, remark)

    def _show_preview(self, dialect: DialectView, text: str, remark: str) -> None:
        panel = self.query_one("#preview-panel")
        panel.border_title, panel.border_subtitle = dialect.file_name, remark
        self.query_one(FilePreview).show(text)

    def _chosen(self) -> DialectView:
        return self._dialects[str(self.query_one("#dialect", Select).value)]

    @on(Button.Pressed, "#cancel")
    def action_cancel(self) -> None:
        """Close the dialog; what is being written is waited for."""
        if not self.query_one("#write", Button).disabled:
            self.dismiss(None)

    @on(Button.Pressed, "#write")
    @on(Input.Submitted)
    def _write(self) -> None:
        if self.query_one("#write", Button).disabled:
            return
        text = self.query_one(Field).value
        if not text:
            self.query_one(Field).complain("name a file")
            return
        path = expanded(text)
        if is_file(path):
            question = f"{path} exists already. Replace it?"
            self.app.push_screen(Confirm(question, "Replace", "Keep it"), self._replace)
        else:
            self._begin_to_write(path, force=False)

    def _replace(self, agreed: bool | None) -> None:
        if agreed:
            self._begin_to_write(expanded(self.query_one(Field).value), force=True)

    def _begin_to_write(self, path: Path, *, force: bool) -> None:
        self._busy(True)
        self._write_to(self._chosen().name, path, force)

    @work(thread=True, exclusive=True, group="write", exit_on_error=False)
    def _write_to(self, dialect: str, path: Path, force: bool) -> None:
        try:
            written = self._session.export(self._outcome, dialect, path, force=force)
        except Exception as error:
            self.app.call_from_thread(self._refuse, plain_words(error))
        else:
            self.app.call_from_thread(self.dismiss, written)

    def _refuse(self, why: str) -> None:
        self._busy(False)
        self.query_one(Field).complain(why)

    def _busy(self, is_busy: bool) -> None:
        """While the file is written nothing else may be begun."""
        self.query_one("#writing", Static).update("writing the file and its reports" * is_busy)
        for name in ("#write", "#cancel", "#dialect", "#input-path"):
            self.query_one(name).disabled = is_busy


def _label(dialect: DialectView) -> str:
    return f"{dialect.title} ({dialect.remark})" if dialect.remark else dialect.title


def _place(dialect: DialectView) -> str:
    return str(FOLDER / dialect.file_name)
