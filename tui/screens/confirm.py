"""A yes-or-no question over the current screen."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Static


class Confirm(ModalScreen[bool]):
    """Dismisses with True when the user agrees."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "dismiss(False)", "Cancel"),
        ("y", "dismiss(True)", "Yes"),
        ("n", "dismiss(False)", "No"),
    ]

    def __init__(self, question: str, agree: str, decline: str) -> None:
        super().__init__()
        self._question = question
        self._agree = agree
        self._decline = decline

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(self._question, classes="question", markup=False)
            with Horizontal(classes="buttons"):
                yield Button(self._agree, variant="primary", id="agree", compact=True)
                yield Button(self._decline, id="decline", compact=True)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.dismiss(event.button.id == "agree")
