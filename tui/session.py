"""The library as the workbench sees it: profiles and forms in, trials and advice out.

What is heavy (Optuna, DuckDB) is imported by the methods that need it, after the first paint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from advisor.files import expanded
from tui.views import (
    AnswerView,
    ComparisonView,
    DialectView,
    ExperimentRow,
    Outcome,
    Plan,
    ProfileView,
    PublishedView,
    ReplayWatcher,
    StudyForm,
    StudyView,
    SweepForm,
    SweepPlan,
    SweepRow,
    SweepView,
    SweepWatcher,
    TrialView,
    UsualBounds,
    Watcher,
)

if TYPE_CHECKING:
    from advisor.goal import Goal
    from advisor.knobs import Setting
    from advisor.profile import Profile
    from advisor.search import Bounds, Question, Study
    from advisor.search import Event as StudyEvent
    from advisor.store import Store
    from advisor.trial import Trial

ROLES = {"default": "the defaults", "current": "the current settings"}


class LibrarySession:
    """Everything the workbench does, over one results file."""

    def __init__(self, results: Path | None = None) -> None:
        self._results = results
        self._replayed: dict[str, PublishedView] = {}

    def profiles(self) -> list[ProfileView]:
        """The shipped profiles, then the TOML files of the current folder that are profiles or say
        why they are not."""
        from advisor import profile
        from advisor.errors import InputError

        views = [_profile_view(name, one) for name, one in profile.shipped().items()]
        for path in sorted(Path.cwd().glob("*.toml")):
            if not _looks_like_a_profile(path):
                continue
            try:
                views.append(_profile_view(path.name, profile.load(path)))
            except InputError as error:
                views.append(ProfileView(path.name, problem=str(error)))
        return views

    def usual_bounds(self) -> UsualBounds:
        """The bounds of a study whose form leaves them open; loads the search."""
        from advisor.search import Bounds

        bounds = Bounds()
        return UsualBounds(bounds.planned, bounds.measured_seconds())

    def plan(self, form: StudyForm) -> Plan:
        """Check a form; raises `FormProblems`."""
        from tui.forms import question_of

        question, bounds = question_of(form)
        goal = question.profile.goal
        return Plan(
            title=question.profile.name,
            metric=goal.metric,
            goal=str(goal),
            clock=question.clock,
            trials=bounds.planned,
            less_is_better=goal.direction == "minimize",
            details=(question, bounds, form),
        )

    def tune(self, plan: Plan, watcher: Watcher) -> Outcome:
        """Run the study in the calling thread, until done or asked to stop. Raises `Cancelled`."""
        wishes = Wishes()
        watcher.attach(wishes.stop, wishes.cancel)
        from advisor.search import Study

        wishes.refuse_if_cancelled()
        from tui.advice_session import outcome_of
        from tui.delivery import advice_for

        wishes.refuse_if_cancelled()
        store = self._store()
        question: Question
        bounds: Bounds
        question, bounds, form = plan.details
        study = Study(
            store.free_name(question.profile.name),
            question,
            store,
            bounds=bounds,
            watcher=lambda event: _tell(event, question, watcher),
        )
        wishes.pass_on_to(study)
        current = expanded(form.current) if form.current else None
        with study.alone():
            study.run()
            wishes.refuse_if_cancelled()
            advice = advice_for(study, None, current)
        wishes.refuse_if_cancelled()
        return outcome_of(advice, form.current, study)

    def studies(self) -> list[StudyView]:
        """The stored studies, the newest first."""
        return [
            StudyView(
                name=study.name,
                workload=study.workload,
                created=study.created.replace("T", " ")[:16],
                trials=study.trials,
                clock=study.clock,
                goal=study.goal,
                verified=study.verified or "",
                tags=study.tags,
            )
            for study in self._store().studies()
        ]

    def trials(self, study: str) -> list[TrialView]:
        """The trials of a stored study."""
        from advisor.search import stored_question

        store = self._store()
        question = stored_question(study, store)
        trials = store.trials(study, intervals=False)
        return [trial_view(trial, question) for trial in trials]

    def delete(self, study: str) -> None:
        """Remove a stored study and its trials."""
        self._store().delete_study(study)

    def tag(self, study: str, name: str) -> tuple[str, ...]:
        """Tag a stored study, or take the tag off where it has it; answers its tags."""
        store = self._store()
        return store.untag(study, name) if name in store.tags(study) else store.tag(study, name)

    def compare(self, studies: Sequence[str]) -> ComparisonView:
        """What stored studies recommend, side by side."""
        from advisor.compare import compare
        from tui import compare_report

        return compare_report.view(compare(studies, self._store()))

    def sql(self, query: str) -> AnswerView:
        """Ask the results file, which the query cannot change."""
        from tui import query_session

        return query_session.answer(query, self._store())

    def tables(self) -> dict[str, tuple[str, ...]]:
        """What a query can read: the columns of every view and table."""
        from tui import query_session

        return query_session.tables(self._store())

    def outcome(self, study: str) -> Outcome:
        """The recommendation of a stored study."""
        from advisor.handover import own_file
        from advisor.search import Study
        from tui.advice_session import outcome_of
        from tui.delivery import advice_for

        stored = Study.load(study, self._store())
        current = own_file(stored)
        advice = advice_for(stored, None, current, measure=False)
        return outcome_of(advice, str(current or ""), stored)

    def sweeps(self) -> list[SweepRow]:
        """The stored sweeps, the newest first."""
        from tui import sweep_session

        return sweep_session.rows(self._store())

    def stored_sweep(self, name: str) -> SweepView:
        """A stored sweep."""
        from tui import sweep_session

        return sweep_session.shown(name, self._store())

    def plan_sweep(self, form: SweepForm) -> SweepPlan:
        """Check the form of a sweep; raises `FormProblems`."""
        from tui import sweep_session

        return sweep_session.plan(form)

    def sweep(self, plan: SweepPlan, watcher: SweepWatcher) -> SweepView:
        """Walk the axis in the calling thread, until done or asked to stop. Raises `Cancelled`."""
        from tui import sweep_session

        return sweep_session.walk(plan, self._store(), watcher)

    def experiments(self) -> list[ExperimentRow]:
        """The published experiments."""
        from tui import published_session

        return published_session.rows()

    def published(self, name: str) -> PublishedView:
        """An experiment as it was last replayed since the program started, or not yet."""
        from tui import published_session

        return self._replayed.get(name) or published_session.shown(name)

    def replay(self, name: str, watcher: ReplayWatcher) -> PublishedView:
        """Replay an experiment in the calling thread, until done or asked to stop."""
        from tui import published_session

        self._replayed[name] = published_session.run(name, watcher)
        return self._replayed[name]

    def dialects(self, outcome: Outcome) -> list[DialectView]:
        """The formats of the recommended engine, the one of the user's own file first, then those
        of the other."""
        from tui import advice_session

        return advice_session.dialects_of(outcome)

    def preview(self, outcome: Outcome, dialect: str) -> str:
        """The file as it would be written."""
        from tui import advice_session

        return advice_session.preview(outcome, dialect, self._store())

    def export(self, outcome: Outcome, dialect: str, path: Path, *, force: bool) -> str:
        """Write the file and its reports; answers what was written."""
        from tui import advice_session

        return advice_session.export(outcome, dialect, path, self._store(), force=force)

    def _store(self) -> Store:
        from advisor.store import Store

        return Store(self._results)


class Wishes:
    """What the user asks of a study, before there is one too."""

    def __init__(self) -> None:
        self._stopping = Event()
        self._cancelling = Event()
        self._study: Study | None = None

    def stop(self) -> None:
        """End the study after its running trial."""
        self._stopping.set()
        if self._study is not None:
            self._study.stop()

    def cancel(self) -> None:
        """End everything now."""
        self._cancelling.set()
        if self._study is not None:
            self._study.cancel()

    def pass_on_to(self, study: Study) -> None:
        """From now on the study hears the wishes, those of before included."""
        self._study = study
        if self._stopping.is_set():
            study.stop()
        if self._cancelling.is_set():
            study.cancel()

    def refuse_if_cancelled(self) -> None:
        """Raises `Cancelled` if nobody waits for the answer any more."""
        from advisor.core import Cancelled

        if self._cancelling.is_set():
            raise Cancelled("the study was cancelled")


def trial_view(trial: Trial, question: Question) -> TrialView:
    """A trial as the tables show it."""
    from advisor.search.ranking import excess, signed

    goal = question.profile.goal
    value = trial.metrics.get(goal.metric)
    judged = trial.finished and value is not None
    kept = judged and goal.kept(trial.metrics)
    return TrialView(
        number=trial.number,
        engine=trial.engine,
        score=signed(goal, value) if kept and value is not None else None,
        metrics=trial.metrics,
        changed=_changed(trial, question),
        note=_note(trial, goal),
        steady=trial.steady,
        beyond=excess(goal, dict(trial.metrics)) if judged else inf,
    )


def _changed(trial: Trial, question: Question) -> str:
    from advisor.knobs import catalogue

    if trial.rule:
        return trial.why
    if trial.role in ROLES:
        return ROLES[trial.role]
    base: Mapping[str, Setting] = question.base(trial.engine)
    knobs = catalogue(trial.engine)
    words = [
        f"{name}={knob.show(trial.settings[name])}"
        for name, knob in knobs.items()
        if name in trial.settings and trial.settings[name] != base.get(name)
    ]
    return " ".join(words) or "nothing"


def _note(trial: Trial, goal: Goal) -> str:
    if trial.error:
        return trial.error
    broken = goal.broken(trial.metrics)
    return f"breaks {', '.join(str(limit) for limit in broken)}" if broken else ""


def _tell(event: StudyEvent, question: Question, watcher: Watcher) -> None:
    from advisor.search import IntervalSeen, TrialFinished, TrialStarted

    match event:
        case TrialStarted(number=number, planned=planned, engine=engine):
            watcher.started(number, planned, engine)
        case IntervalSeen(interval=interval):
            watcher.interval(interval)
        case TrialFinished(trial=trial):
            watcher.finished(trial_view(trial, question))


def _profile_view(name: str, profile: Profile) -> ProfileView:
    return ProfileView(
        name=name,
        text=profile.text,
        workload=profile.workload.kind,
        hardware=profile.hardware.text,
        data_bytes=profile.data_bytes,
        memory_bytes=profile.memory_bytes,
        clients=profile.clients,
        goal=str(profile.goal),
        engines=profile.engines,
    )


def _looks_like_a_profile(path: Path) -> bool:
    """Other TOML files, such as a pyproject, are nobody's mistake."""
    from advisor import files
    from advisor.errors import InputError

    try:
        text = files.read_text(path, errors="replace")
    except InputError:
        return False
    return "[workload]" in text
