"""The tags of a study: a dialog over the results."""

from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Button, Input, Static

from tui.views import Session, StudyView
from tui.widgets.field import Field
from tui.working import plain_words


class TagsDialog(ModalScreen[bool]):
    """Dismisses with whether any tag was written or taken off."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "close", "Done")]

    def __init__(self, session: Session, study: StudyView, known: list[str]) -> None:
        """`known` are the tags of all studies, which are offered."""
        super().__init__()
        self._session = session
        self._study = study
        self._known = known
        self._tags = study.tags

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = f"tags of {self._study.name}"
            yield Static(classes="question", id="tags-now", markup=False)
            yield Field(
                "tag",
                "tag",
                help_text="A word to find the study by. Enter writes it on the study; one that "
                "the study has is taken off.",
            )
            with Horizontal(classes="buttons"):
                yield Button("Done", id="done", compact=True)

    def on_mount(self) -> None:
        entry = self.query_one("#input-tag", Input)
        entry.suggester = SuggestFromList(self._known, case_sensitive=False)
        entry.placeholder = "a new one is written, one of these is taken off"
        entry.focus()
        self._show()

    def _show(self) -> None:
        told = " · ".join(self._tags) or "It has none yet."
        self.query_one("#tags-now", Static).update(told)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        name = self.query_one(Field).value
        if name:
            self._write(name)
        else:
            self.action_close()

    @work(thread=True, exclusive=True, exit_on_error=False)
    def _write(self, name: str) -> None:
        try:
            tags = self._session.tag(self._study.name, name)
        except Exception as error:
            self.app.call_from_thread(self.query_one(Field).complain, plain_words(error))
        else:
            self.app.call_from_thread(self._written, tags)

    def _written(self, tags: tuple[str, ...]) -> None:
        self._tags = tags
        field = self.query_one(Field)
        field.value = ""
        field.complain("")
        self._show()

    @on(Button.Pressed, "#done")
    def action_close(self) -> None:
        """Back to the studies."""
        self.dismiss(self._tags != self._study.tags)
