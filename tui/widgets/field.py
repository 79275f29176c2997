"""One line of a form: a label, an input, and room for what is wrong with it."""

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Label, Static


class _Entry(Input):
    """An input that brings its own page of help."""

    def __init__(self, help_text: str, *, id: str) -> None:  # noqa: A002
        super().__init__(id=id, compact=True)
        setattr(self, "HELP", help_text)  # noqa: B010


class Field(Vertical):
    """A labelled input. Its message is empty while the value is fine."""

    def __init__(self, name: str, label: str, *, help_text: str, value: str = "") -> None:
        super().__init__(id=f"field-{name}")
        self.field_name = name
        self._label = label
        self._help = help_text
        self._value = value

    def compose(self) -> ComposeResult:
        entry = _Entry(f"## {self._label}\n\n{self._help}", id=f"input-{self.field_name}")
        entry.value = self._value
        with Horizontal():
            yield Label(self._label)
            yield entry
        yield Static("", classes="message", markup=False)

    @property
    def value(self) -> str:
        """What is written in the field, without the spaces around it."""
        return self.query_one(Input).value.strip()

    @value.setter
    def value(self, text: str) -> None:
        self.query_one(Input).value = text

    @property
    def placeholder(self) -> str:
        """What holds while the field is empty."""
        return self.query_one(Input).placeholder

    @placeholder.setter
    def placeholder(self, text: str) -> None:
        self.query_one(Input).placeholder = text

    def complain(self, message: str) -> None:
        """Show what is wrong, or nothing."""
        self.query_one(".message", Static).update(message)
        self.set_class(bool(message), "-wrong")
