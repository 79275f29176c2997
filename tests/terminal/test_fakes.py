"""The scripted session shows what a real one could: knobs of the catalogue, with values that they
take."""

import pytest

from advisor import knobs
from tests.terminal.fake_session import LONG_OUTCOME, OUTCOME, PROFILES, TRIALS
from tui.views import Outcome, TrialView


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: f"trial {trial.number}")
def test_the_settings_of_scripted_trials_are_those_of_knobs(trial: TrialView) -> None:
    if trial.changed == "defaults":
        return
    catalogue = knobs.catalogue(trial.engine)
    for setting in trial.changed.split():
        name, value = setting.split("=")
        knobs.parse_value(catalogue[name], value)


@pytest.mark.parametrize("outcome", [OUTCOME, LONG_OUTCOME], ids=["short", "long"])
def test_the_changes_of_scripted_outcomes_are_those_of_knobs(outcome: Outcome) -> None:
    catalogue = knobs.catalogue(outcome.engine)
    for change in outcome.changes:
        for value in (change.current, change.recommended):
            knobs.parse_value(catalogue[change.knob], value.replace(" ", ""))


def test_the_engines_of_scripted_profiles_exist() -> None:
    assert {engine for one in PROFILES for engine in one.engines} <= set(knobs.ENGINES)
