"""What a sampler's model is made of."""

from pathlib import Path

import pytest
from optuna.trial import TrialState

from advisor.search import Question
from advisor.search import sampler as module
from advisor.search.sampler import Sampler
from advisor.search.space import Space
from tests.support.draws import draws
from tests.support.problems import problem, study

REMEMBERED = 20


@pytest.fixture
def space(tmp_path: Path) -> Space:
    small = Question(problem(memory="256MiB"), engines=("lsm",), seed=1)
    return study(tmp_path, question=small)._looking.spaces["lsm"]


@pytest.fixture(autouse=True)
def short_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", REMEMBERED)


def taught(space: Space, count: int) -> Sampler:
    """The tenth trial is the best."""
    sampler = Sampler(space, directions=["maximize"], seed=1)
    for number, settings in enumerate(draws(space, count, 1)):
        sampler.recall(settings, (1000.0 if number == 9 else float(number % 7),), {})
    return sampler


def test_a_long_search_models_its_best_and_latest_trials_alone(space: Space) -> None:
    sampler = taught(space, 200)
    assert sampler.ask() is not None
    known = sampler._study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    assert len(known) == REMEMBERED
    scores = [one.values[0] for one in known]
    assert scores[0] == 1000.0 and set(scores[1 : REMEMBERED // 2]) == {6.0}
    assert scores[REMEMBERED // 2 :] == [float(n % 7) for n in range(190, 200)]


def test_what_was_asked_for_before_the_model_was_made_anew_is_told_to_it(space: Space) -> None:
    sampler = taught(space, 20)
    asked = sampler.ask()
    assert asked is not None
    for number, settings in enumerate(draws(space, 200, 1)):
        sampler.recall(settings, (float(number % 7),), {})
    assert sampler.ask() is not None
    sampler.tell(asked, (5000.0,), {})
    assert sampler._study.best_value == 5000.0
    assert sampler._start() == asked.settings


def test_what_does_not_fit_the_memory_is_no_trial_of_the_model(space: Space) -> None:
    sampler = Sampler(space, directions=["maximize"], seed=1)
    for number in range(12):
        asked = sampler.ask()
        assert asked is not None and space.memory_excess(asked.settings) <= 0
        sampler.tell(asked, (float(number),), {"memory": -0.1})
    known = sampler._study.get_trials(deepcopy=False)
    assert any(one.state is TrialState.FAIL for one in known)
    assert not any(one.state is TrialState.PRUNED for one in known)


def test_all_trials_say_which_knobs_matter(space: Space) -> None:
    sampler = taught(space, 200)
    sampler.ask()
    assert sampler.importance() == taught(space, 200).importance() != {}
