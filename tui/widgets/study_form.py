"""The few things to decide before a study starts. An empty field keeps the profile's own value,
shown in grey."""

from collections.abc import Mapping

from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.message import Message
from textual.widgets import Button, Checkbox, Input, Label, Select

from advisor.sizes import format_size
from tui.views import ProfileView, StudyForm, UsualBounds
from tui.widgets.field import Field

ENGINES = (("LSM and B-tree", "both"), ("LSM only", "lsm"), ("B-tree only", "btree"))
FIELDS = (
    (
        "data",
        "data size",
        "How much data the workload has, such as `200GiB`. Trials run a scaled-down copy.",
    ),
    ("memory", "memory", "What the engine may use for its caches and buffers, such as `8GiB`."),
    ("clients", "clients", "How many clients work at the same time."),
    ("goal", "goal", "What is best, such as `maximize ops_per_s subject to p99_us <= 5000`."),
    ("trials", "trials", "How many settings are tried. 20 gives a first answer, 60 a good one."),
    (
        "minutes",
        "minutes",
        "Optional: the search ends after so many, with what it found.",
    ),
    (
        "seconds",
        "seconds per trial",
        "Length of the measured phase. Longer is steadier, and slower.",
    ),
    (
        "current",
        "current settings",
        "Optional: your `my.cnf` or `OPTIONS` file; the advice starts from it.",
    ),
)


OF_THE_PROFILE = ("data", "memory", "clients", "goal")
"""Fields that stand for a profile's own values: what is typed there is meant for that profile."""


class StudyFormView(VerticalScroll):
    """Fields, the engine, and the button that starts the study."""

    class Submitted(Message):
        """The user wants this study."""

        def __init__(self, form: StudyForm) -> None:
            super().__init__()
            self.form = form

    can_focus = False

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes="panel")
        self.border_title = "study"
        self._profile = ""
        self._typed: dict[str, dict[str, str]] = {}

    def compose(self) -> ComposeResult:
        for name, label, text in FIELDS:
            yield Field(name, label, help_text=text)
        with Horizontal(classes="choice"):
            yield Label("engines")
            yield Select(ENGINES, value="both", allow_blank=False, compact=True, id="engine")
        with Horizontal(classes="choice"):
            yield Label("durability")
            yield Checkbox("try settings that may lose commits", compact=True, id="durability")
        with Horizontal(classes="choice"):
            yield Label("rebuild")
            yield Checkbox("the data may be rebuilt, for other pages", compact=True, id="rebuild")
        with Horizontal(classes="choice"):
            yield Label("earlier studies")
            yield Checkbox("begin without what they found", compact=True, id="cold")
        with Horizontal(id="form-buttons"):
            yield Button("Start the study", variant="primary", id="start", compact=True)

    def show(self, profile: ProfileView) -> None:
        """Offer this profile's values as the ones to keep, and what was typed for it before."""
        self._typed[self._profile] = self._of_the_profile()
        self._profile = profile.name
        self.disabled = bool(profile.problem)
        kept = {
            "data": format_size(profile.data_bytes) if profile.data_bytes else "",
            "memory": format_size(profile.memory_bytes) if profile.memory_bytes else "",
            "clients": str(profile.clients or ""),
            "goal": profile.goal,
            "minutes": "no limit",
            "current": "the engine's defaults",
        }
        for field in self.query(Field):
            field.placeholder = kept.get(field.field_name, field.placeholder)
            field.complain("")
        engines = profile.engines or ("lsm", "btree")
        usual = dict.fromkeys(OF_THE_PROFILE, "")
        usual["engine"] = engines[0] if len(engines) == 1 else "both"
        self._restore(self._typed.get(profile.name, usual))

    def _of_the_profile(self) -> dict[str, str]:
        typed = {field.field_name: field.value for field in self.query(Field)}
        kept = {name: typed[name] for name in OF_THE_PROFILE}
        return {**kept, "engine": str(self.query_one(Select).value)}

    def _restore(self, typed: Mapping[str, str]) -> None:
        self.query_one(Select).value = typed["engine"]
        for field in self.query(Field):
            if field.field_name in OF_THE_PROFILE:
                field.value = typed[field.field_name]

    def offer_usual(self, usual: UsualBounds) -> None:
        """Show what holds while trials and seconds are left empty."""
        shown = {"trials": str(usual.trials or ""), "seconds": f"{usual.seconds:g}"}
        for field in self.query(Field):
            field.placeholder = shown.get(field.field_name, field.placeholder)

    def complain(self, problems: dict[str, str]) -> list[str]:
        """Show each problem under its field and go to the first; answers the ones that have no
        field."""
        fields = {field.field_name: field for field in self.query(Field)}
        for name, field in fields.items():
            field.complain(problems.get(name, ""))
        wrong = [name for name in fields if name in problems]
        if wrong:
            fields[wrong[0]].query_one(Input).focus()
        return [text for name, text in problems.items() if name not in fields]

    def form(self) -> StudyForm:
        """What is filled in now."""
        typed = {field.field_name: field.value for field in self.query(Field)}
        return StudyForm(
            profile=self._profile,
            engine=str(self.query_one(Select).value),
            durability=self.query_one("#durability", Checkbox).value,
            rebuild=self.query_one("#rebuild", Checkbox).value,
            cold=self.query_one("#cold", Checkbox).value,
            **typed,
        )

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.post_message(self.Submitted(self.form()))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Submitted(self.form()))
