"""A question that no settings can answer is refused with the smallest memory that would do;
settings that do not fit say what takes how much, and what to type."""

import re
from pathlib import Path

import pytest

from advisor import core, knobs
from advisor.errors import InputError
from advisor.evaluate import needed_memory
from advisor.knobs import ENGINES, Engine, Setting
from advisor.memory import MIB
from advisor.memory_need import remedy, shortage
from advisor.profile import load
from advisor.search import Bounds, Question, smallest_memory
from advisor.sizes import parse_size, size_to_type
from tests.support.fake_core import FakeCore
from tests.support.problems import problem, study
from tests.terminal.test_commands import invoke, refused
from tui.forms import question_of
from tui.views import FormProblems, StudyForm


@pytest.fixture(autouse=True)
def own_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNEBENCH_RESULTS", str(tmp_path / "results.duckdb"))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCore:
    fake = FakeCore()
    monkeypatch.setattr(core, "load", lambda: fake)
    return fake


def asked(memory: str, *engines: Engine) -> Question:
    question = Question(problem(memory=memory), engines=engines)
    return question.settled(Bounds(trials=6), None)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_smallest_memory_works_and_a_mebibyte_less_is_refused(
    tmp_path: Path, engine: Engine
) -> None:
    least = smallest_memory(asked("1KiB", engine), engine)
    with pytest.raises(InputError, match=f"in which no settings fit; .* {size_to_type(least)}"):
        study(tmp_path, question=asked(f"{least - MIB}B", engine), trials=6, name="less")
    found = study(tmp_path, question=asked(f"{least}B", engine), trials=6)
    found.run()
    assert any(trial.finished for trial in found.trials)


def test_a_study_of_both_engines_needs_what_the_larger_one_needs(tmp_path: Path) -> None:
    least = {engine: smallest_memory(asked("1KiB", *ENGINES), engine) for engine in ENGINES}
    with pytest.raises(InputError) as caught:
        study(tmp_path, question=Question(problem(memory="1KiB")))
    each = ", ".join(f"{engine} {size_to_type(size)}" for engine, size in least.items())
    assert caught.value.accepted == f"at least {size_to_type(max(least.values()))} ({each})"


def test_tune_refuses_before_any_trial_and_the_number_it_names_can_be_typed(
    fake: FakeCore,
) -> None:
    line = refused("tune", "linkbench", "--memory", "1KiB", "--trials", 4)
    assert line.startswith("tunebench: --memory: found 1KiB, in which no settings fit")
    assert fake.specs == []
    (named,) = re.findall(r"at least (\w+)", line)
    assert invoke("tune", "linkbench", "--memory", named, "--trials", 4).exit_code == 0


def test_the_form_names_the_field_and_the_smallest_memory() -> None:
    with pytest.raises(FormProblems) as wrong:
        question_of(StudyForm(profile="linkbench", memory="1KiB"))
    assert set(wrong.value.problems) == {"memory"}
    assert "at least " in wrong.value.problems["memory"]


def test_settings_that_do_not_fit_say_what_takes_how_much_the_largest_first() -> None:
    told = shortage(problem(memory="32MiB"), "lsm", knobs.defaults("lsm"))
    assert told.startswith("needs ") and "of memory, the profile has 32MiB: " in told
    parts = told.partition(" 32MiB: ")[2]
    sizes = [parse_size(size) for size in re.findall(r" (\d[\w.]*iB)(?:, |$)", parts)]
    assert sizes == sorted(sizes, reverse=True) and len(sizes) >= 4
    assert "write_buffer_size" in parts and "block_cache" in parts


@pytest.mark.parametrize(
    ("engine", "own", "knob"),
    [
        ("lsm", {"block_cache": 1 << 30}, "block_cache"),
        ("lsm", {"block_cache": 0}, "write_buffer_size"),
        ("btree", {}, "innodb_buffer_pool_size"),
    ],
)
def test_what_is_named_to_be_typed_fits(engine: Engine, own: dict[str, Setting], knob: str) -> None:
    settings = knobs.defaults(engine) | own
    need = needed_memory(problem(), engine, settings)
    profile = problem(memory=f"{need - 20 * MIB}B")
    named = remedy(profile, engine, settings)
    assert named.knob == knob
    fixed = {**settings, knob: parse_size(named.value)}
    assert needed_memory(profile, engine, fixed) <= profile.memory_bytes
    larger = {**settings, knob: parse_size(named.value) + MIB}
    assert needed_memory(profile, engine, larger) > profile.memory_bytes
    assert need <= parse_size(named.memory) < need + MIB


def test_run_names_what_to_type_and_that_works(fake: FakeCore) -> None:
    need = needed_memory(load("linkbench"), "btree", knobs.defaults("btree"))
    words = ("run", "linkbench", "--engine", "btree", "--memory", f"{need - 20 * MIB}B")
    line = refused(*words)
    assert line.startswith("tunebench: settings: found a need of ")
    memory, setting = re.findall(r"--memory (\w+), or --set (\S+)$", line)[0]
    assert invoke(*words[:-1], memory).exit_code == 0
    assert invoke(*words, "--set", setting).exit_code == 0


def test_a_wrong_value_of_set_names_its_knob_once(fake: FakeCore) -> None:
    line = refused("run", "linkbench", "--engine", "lsm", "--set", "write_buffer_size=-5")
    assert line.startswith("tunebench: --set:write_buffer_size: found '-5'; accepted: a size from")
    assert line.count("write_buffer_size") == 1
