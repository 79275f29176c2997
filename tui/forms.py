"""From a filled-in form to a question for the library, a study's or a sweep's, with a message for
every field that is wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from advisor.errors import InputError
from advisor.files import expanded
from advisor.knobs import Engine, Setting, durability_knobs
from advisor.profile import Profile, load
from advisor.search import Bounds, Question
from advisor.sweep import LEAST_STEPS, MOST_STEPS, SECONDS, STEPS, Asked, parse_axis
from tui import problem
from tui.views import FormProblems, StudyForm, SweepForm

T = TypeVar("T")

MOST_DIGITS = 18
OF_A_FIELD = ("form", "--set", "--over")
"""Sources of errors that the field itself names."""
LEAST_RETUNE, MOST_RETUNE = 10, 10_000
"""Trials at a step, as the command has them."""


class _Reading:
    """Collects what is wrong instead of stopping at the first."""

    def __init__(self) -> None:
        self.problems: dict[str, str] = {}

    def of(self, field: str, work: Callable[[], T], otherwise: T) -> T:
        """Do it; on an `InputError` note it under the field and go on."""
        try:
            return work()
        except InputError as error:
            self.problems[field] = _told(error)
            return otherwise


def _told(error: InputError) -> str:
    """What is wrong with a field; of a file that it names, also where in it."""
    what = f"found {error.found}; accepted: {error.accepted}"
    of_a_file = error.where is not None and error.source not in OF_A_FIELD
    return f"{error.place}: {what}" if of_a_file else what


def question_of(form: StudyForm) -> tuple[Question, Bounds]:
    """What the form asks. Raises `FormProblems` with every field that is wrong."""
    reading = _Reading()
    profile = reading.of("profile", lambda: load(form.profile), None)
    if profile is None:
        raise FormProblems(reading.problems)
    for field in ("data", "memory", "clients", "goal"):
        profile = _with(reading, profile, field, getattr(form, field))
    engines = problem.chosen_engines(form.engine, profile)
    trials = reading.of("trials", lambda: _whole(form.trials), None)
    minutes = reading.of("minutes", lambda: _minutes(form.minutes), None)
    seconds = reading.of("seconds", lambda: _seconds(form.seconds), None)
    nothing: dict[Engine, dict[str, Setting]] = {}
    current = reading.of(
        "current", lambda: problem.current_by_engine(_file(form.current), (), engines), nothing
    )
    if reading.problems:
        raise FormProblems(reading.problems)
    question = Question(
        profile,
        engines=engines,
        current=current,
        opened=durability_knobs(engines) if form.durability else (),
        rebuild=form.rebuild,
        cold=form.cold,
        clock=problem.clock_of(None, profile),
        seconds=seconds,
        source=expanded(form.current).resolve() if form.current else None,
    )
    reading.of("memory", lambda: problem.refuse_unanswerable(question), None)
    if reading.problems:
        raise FormProblems(reading.problems)
    return question, Bounds(trials=trials, minutes=minutes)


def sweep_of(form: SweepForm, name: str) -> Asked:
    """What the form asks of a sweep of this name. Raises `FormProblems` with every field that is
    wrong."""
    reading = _Reading()
    profile = reading.of("profile", lambda: load(form.profile), None)
    if profile is None:
        raise FormProblems(reading.problems)
    for field in ("data", "memory", "clients", "goal"):
        profile = _with(reading, profile, field, getattr(form, field))
    engines = problem.chosen_engines(None, profile)
    steps = reading.of("steps", lambda: _in(form.steps, LEAST_STEPS, MOST_STEPS), None) or STEPS
    axis = reading.of("over", lambda: parse_axis(form.over, steps), None)
    typed = {"data": form.data, "memory": form.memory, "clients": form.clients}
    if axis is not None and typed.get(axis.name):
        reading.problems[axis.name] = "found what the sweep changes; accepted: nothing here"
    if axis is not None and axis.name not in reading.problems:
        reading.of("over", lambda: axis.refuse_values(profile), None)
    if axis is not None and axis.engine is not None and axis.engine not in engines:
        reading.problems["over"] = f"found a knob of {axis.engine}, which does not run"
    retune = reading.of("retune", lambda: _in(form.retune, LEAST_RETUNE, MOST_RETUNE), None)
    if retune is not None and axis is not None and axis.engine is not None:
        reading.problems["retune"] = "found a sweep of a knob; accepted: an axis of the profile"
    seconds = reading.of("seconds", lambda: _seconds(form.seconds), None)
    if axis is None or reading.problems:
        raise FormProblems(reading.problems)
    return Asked(
        name,
        profile,
        axis,
        engines,
        clock=problem.clock_of(None, profile),
        seconds=seconds or SECONDS,
        retune=retune,
    )


def _in(text: str, least: int, most: int) -> int | None:
    number = _whole(text)
    if number is not None and not least <= number <= most:
        raise InputError("form", None, repr(text), f"a whole number from {least} to {most}")
    return number


def _with(reading: _Reading, profile: Profile, field: str, text: str) -> Profile:
    if not text:
        return profile
    value: Any = int(text) if field == "clients" and _is_whole(text) else text
    return reading.of(field, lambda: profile.with_changes("form", **{field: value}), profile)


def _file(text: str) -> Path | None:
    return expanded(text) if text else None


def _is_whole(text: str) -> bool:
    return text.isdecimal() and len(text) <= MOST_DIGITS


def _whole(text: str) -> int | None:
    if not text:
        return None
    if not _is_whole(text) or int(text) < 1:
        raise InputError("form", None, repr(text), "a whole number from 1")
    return int(text)


def _seconds(text: str) -> float | None:
    return _number(text, "seconds", 0.05, 86400)


def _minutes(text: str) -> float | None:
    return _number(text, "minutes", 0.01, 525600)


def _number(text: str, unit: str, least: float, most: float) -> float | None:
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not least <= number <= most:
        raise InputError("form", None, repr(text), f"{unit} from {least:g} to {most:g}")
    return number
