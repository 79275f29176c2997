"""Where everything starts: choose a workload, adjust its numbers, start the study."""

from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Footer, Input, OptionList
from textual.widgets.option_list import Option

from tui.views import FormProblems, ProfileView, Session
from tui.widgets.profile_details import ProfileDetails
from tui.widgets.study_form import StudyFormView
from tui.widgets.title_bar import TitleBar
from tui.working import plain_words


class ProfileList(OptionList):
    """The profiles to choose from."""

    HELP = """\
    ## Profiles

    A profile is a workload with its sizes, its hardware and a goal. Choose the one nearest to
    yours, then change its numbers in the form. Profile files (`*.toml`) of the
    current folder are listed too.
    """


class ProfilesScreen(Screen[None]):
    """Profiles on the left, the chosen one and its form on the right."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("ctrl+s", "start", "Start"),
        ("ctrl+r", "app.results", "Results"),
        ("ctrl+o", "sweeps", "Sweeps"),
        ("ctrl+l", "app.published", "Published"),
        Binding("escape", "back_to_list", "Profiles", show=False),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._profiles: list[ProfileView] = []

    def compose(self) -> ComposeResult:
        yield TitleBar("choose a workload")
        with Horizontal(id="profiles-body"):
            yield ProfileList(id="profile-list", classes="panel")
            with Vertical(id="profile-side"):
                yield ProfileDetails(id="profile-details", classes="panel")
                yield StudyFormView(id="study-form")
        yield Footer()

    def on_mount(self) -> None:
        self.query_one(ProfileList).border_title = "profiles"
        # Reading the files takes longer than the first paint should.
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        try:
            self._profiles = self._session.profiles()
        except Exception as error:
            self.notify(plain_words(error), title="The profiles cannot be read", severity="error")
            return
        profiles = self.query_one(ProfileList)
        profiles.clear_options()
        profiles.add_options(Option(profile.name, id=profile.name) for profile in self._profiles)
        if self._profiles:
            profiles.highlighted = 0
            profiles.focus()
        else:
            self.query_one(ProfileDetails).update("No profiles were found.")
        self._read_usual_bounds()

    @work(thread=True, exit_on_error=False)
    def _read_usual_bounds(self) -> None:
        usual = self._session.usual_bounds()
        self.app.call_from_thread(self.query_one(StudyFormView).offer_usual, usual)

    @on(OptionList.OptionHighlighted)
    def _show_profile(self, event: OptionList.OptionHighlighted) -> None:
        profile = self._profiles[event.option_index]
        self.query_one(ProfileDetails).show(profile)
        self.query_one(StudyFormView).show(profile)

    @on(OptionList.OptionSelected)
    def _go_to_form(self) -> None:
        self.query_one(StudyFormView).query(Input).first().focus()

    @on(StudyFormView.Submitted)
    def _submitted(self, event: StudyFormView.Submitted) -> None:
        form = self.query_one(StudyFormView)
        try:
            plan = self._session.plan(event.form)
        except FormProblems as wrong:
            for text in form.complain(wrong.problems):
                self.notify(text, severity="error", markup=False)
            return
        except Exception as error:
            self.notify(plain_words(error), severity="error", markup=False)
            return
        form.complain({})
        from tui.screens.study import StudyScreen

        self.app.push_screen(StudyScreen(self._session, plan))

    def action_start(self) -> None:
        """Start the study of the form."""
        form = self.query_one(StudyFormView)
        if self._profiles and not form.disabled:
            form.post_message(StudyFormView.Submitted(form.form()))

    def action_sweeps(self) -> None:
        """Open the sweeps, a new one of the chosen profile."""
        from tui.screens.sweeps import SweepsScreen

        at = self.query_one(ProfileList).highlighted
        chosen = "" if at is None else self._profiles[at].name
        self.app.push_screen(SweepsScreen(self._session, chosen))

    def action_back_to_list(self) -> None:
        """Leave the form."""
        self.query_one(ProfileList).focus()
