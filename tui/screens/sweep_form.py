"""What a new sweep walks along: a dialog over the screen of sweeps."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Label, Select

from advisor.sizes import format_size
from tui.views import FormProblems, ProfileView, Session, SweepForm, SweepPlan
from tui.widgets.field import Field
from tui.working import plain_words

FIELDS = (
    (
        "over",
        "over",
        "What changes: memory, data, clients or a knob, such as `memory=1GiB..32GiB` or "
        "`clients=1,4,16`.",
        "such as memory=1GiB..32GiB",
    ),
    ("steps", "steps", "How many values a range has, its ends included.", "11"),
    (
        "retune",
        "trials a step",
        "Search anew at every step with so many trials. Empty: settings stay what they are, and "
        "the cache fills the memory.",
        "none, settings stay",
    ),
    ("data", "data size", "How much data the workload has, such as `200GiB`.", ""),
    ("memory", "memory", "What the engine may use, where the sweep does not change it.", ""),
    ("clients", "clients", "How many clients work at the same time.", ""),
    ("goal", "goal", "What is compared, such as `minimize p99_us`.", ""),
    ("seconds", "seconds per run", "Length of the measured phase of each run.", "1.25"),
)


class SweepDialog(ModalScreen[SweepPlan | None]):
    """Dismisses with a sweep that is ready to start, or with None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("ctrl+s", "start", "Start"),
        ("escape", "dismiss(None)", "Cancel"),
    ]

    def __init__(self, session: Session, profile: str = "") -> None:
        super().__init__()
        self._session = session
        self._profiles = {one.name: one for one in session.profiles() if not one.problem}
        self._chosen = profile if profile in self._profiles else next(iter(self._profiles), "")

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "new sweep"
            with VerticalScroll(id="sweep-fields", can_focus=False):
                with Horizontal(classes="choice"):
                    yield Label("profile")
                    yield Select(
                        [(name, name) for name in self._profiles],
                        value=self._chosen or Select.NULL,
                        allow_blank=not self._chosen,
                        compact=True,
                        id="sweep-profile",
                    )
                for name, label, text, _ in FIELDS:
                    yield Field(name, label, help_text=text)
            with Horizontal(classes="buttons"):
                yield Button("Start the sweep", variant="primary", id="start", compact=True)
                yield Button("Cancel", id="cancel", compact=True)

    def on_mount(self) -> None:
        self._offer()
        self.query_one("#input-over", Input).focus()

    @on(Select.Changed, "#sweep-profile")
    def _offer(self) -> None:
        """Show what holds while fields are empty."""
        profile = self._profiles.get(self._profile())
        kept = {name: usual for name, _, _, usual in FIELDS} | _own(profile)
        for field in self.query(Field):
            field.placeholder = kept[field.field_name]
            field.complain("")

    def _profile(self) -> str:
        return str(self.query_one("#sweep-profile", Select).value)

    @on(Button.Pressed, "#cancel")
    def _cancel(self) -> None:
        self.dismiss(None)

    @on(Button.Pressed, "#start")
    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.action_start()

    def action_start(self) -> None:
        """Check what was typed, and leave with the sweep."""
        fields = {field.field_name: field for field in self.query(Field)}
        form = SweepForm(self._profile(), **{name: one.value for name, one in fields.items()})
        problems: dict[str, str] = {}
        try:
            plan = self._session.plan_sweep(form)
        except FormProblems as wrong:
            problems = wrong.problems
        except Exception as error:
            problems = {"": plain_words(error)}
        else:
            self.dismiss(plan)
            return
        for name, field in fields.items():
            field.complain(problems.get(name, ""))
        for name, text in problems.items():
            if name not in fields:
                self.notify(text, severity="error")
        first = next((one for name, one in fields.items() if name in problems), None)
        if first is not None:
            first.query_one(Input).focus()


def _own(profile: ProfileView | None) -> dict[str, str]:
    if profile is None:
        return {}
    return {
        "data": format_size(profile.data_bytes) if profile.data_bytes else "",
        "memory": format_size(profile.memory_bytes) if profile.memory_bytes else "",
        "clients": str(profile.clients or ""),
        "goal": profile.goal,
    }
