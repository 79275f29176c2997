"""A study of several objectives on the core: its front, its answer, its files and reports."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import advisor
from advisor import evaluate, html
from advisor.api import Tuned
from advisor.errors import InputError
from advisor.evidence import Evidence
from advisor.goal import described
from advisor.profile import Profile
from advisor.recommend import about_front
from advisor.robust import robust
from advisor.scale import MIB, factor
from advisor.search import Study
from advisor.search.dominance import covers
from advisor.store import Store
from tests.support.html_page import Page, Stored, same
from tui.cli import app
from tui.session import LibrarySession

GOAL = "maximize ops_per_s, minimize write_kb_per_op subject to space_amp <= 5"


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tuned]:
    patched = pytest.MonkeyPatch()
    patched.setattr(factor, "SMALLEST_DATA", MIB)
    patched.setattr(factor, "LARGEST_DATA", MIB)
    patched.setattr(evaluate, "SIMULATED_OPERATIONS", 2000)
    asked = Profile.model_validate(
        {
            "name": "both",
            "workload": {"kind": "ycsb", "mix": "A"},
            "data": "20GiB",
            "memory": "4GiB",
            "hardware": "nvme-2024",
            "goal": GOAL,
        }
    )
    path = tmp_path_factory.mktemp("front") / "results.duckdb"
    yield advisor.tune(asked, trials=40, seconds=0.1, clock="simulated", name="both", results=path)
    # A study that is taken up again has the sizes that it was made with.
    patched.undo()


def store_of(tuned: Tuned) -> Store:
    return tuned._store


def test_no_run_that_decides_beats_a_member_of_the_front(tuned: Tuned) -> None:
    study, front = tuned._study, tuned.front()
    assert len(front.members) >= 2
    points = {one.number: study.goal.point(one.metrics) for one in front.members if one.overall}
    for number, point in points.items():
        others = [other for key, other in points.items() if key != number]
        assert not any(covers(other, point) for other in others)


def test_a_stored_study_has_the_same_front_and_answer(tuned: Tuned) -> None:
    again = advisor.study("both", results=store_of(tuned).path)
    assert [(one.number, one.settings) for one in again.front().members] == [
        (one.number, one.settings) for one in tuned.front().members
    ]
    mine, other = tuned.recommend(), again.recommend()
    assert (mine.settings, mine.goal, mine.member) == (other.settings, other.goal, other.member)


def test_the_answer_says_by_what_it_is_judged(tuned: Tuned) -> None:
    r = tuned.recommend()
    assert r.member is not None and r.front is not None
    assert r.goal.metric == "ops_per_s" and not r.goal.others
    bounds = {limit.metric: limit for limit in r.goal.limits}
    assert bounds["write_kb_per_op"].kept(r.member.metrics)
    told = about_front(r)
    assert f"number {r.member.number} is recommended" in told
    assert str(r.goal) in told


def test_any_member_is_written_as_it_was_measured_by_its_number(tuned: Tuned) -> None:
    results = str(store_of(tuned).path)
    for one in tuned.front().members:
        taken = tuned.recommend(member=one.number)
        assert taken.engine == one.engine and taken.as_measured
        ruled = {change.knob for change in taken.changes if change.alone is None}
        assert all(
            taken.settings[knob] == value or knob in ruled for knob, value in one.settings.items()
        )
        words = ["export", "both", "--front", str(one.number), "--results", results]
        assert CliRunner().invoke(app, words).stdout == taken.write(taken.dialect)


def test_a_number_that_is_none_is_refused(tuned: Tuned) -> None:
    words = ["export", "both", "--results", str(store_of(tuned).path), "--front"]
    told = CliRunner().invoke(app, [*words, "99"])
    assert told.exit_code == 2
    assert "--front: found 99; accepted: a number from 1 to" in told.stderr


def test_a_file_of_another_engine_than_the_members_is_refused(tuned: Tuned) -> None:
    one = tuned.front().members[0]
    other = "mysql-8.4" if one.engine == "lsm" else "rocksdb-10.4"
    with pytest.raises(InputError, match=f"number {one.number} of the front is of {one.engine}"):
        tuned.export(other, member=one.number)


def test_reports_show_the_front(tuned: Tuned, tmp_path: Path) -> None:
    for name in ("report.md", "report.html"):
        tuned.report(tmp_path / name)
        text = (tmp_path / name).read_text()
        assert "The front" in text or "## The front" in text
        assert "on scales of the front" in text
        assert text.count("recommended") >= 2
    assert all(described(name).unit in text for name in tuned._study.goal.objectives)
    assert "<svg" in tuned.plot_front().alone()


def test_every_number_of_the_page_is_stored(tuned: Tuned) -> None:
    advice, store = tuned.recommend(), store_of(tuned)
    page = Page(html.page(Evidence.of(advice, store)))
    stored = Stored(store, tuned._study, advice)
    assert [one for one in page.numbers if not same(one, stored.value(one))] == []
    # The name of a rule of thumb may have digits.
    assert [text for text in page.loose if not text.startswith("rule: ")] == []
    assert any("write_kb_per_op" in str(one.source.get("name")) for one in page.numbers)


def test_the_app_tells_the_members(tuned: Tuned) -> None:
    notes = LibrarySession(store_of(tuned).path).outcome("both").notes
    told = [note for note in notes if note.startswith("front ")]
    assert len(told) == len(tuned.front().members)
    assert sum("(recommended)" in note for note in told) == 1


def test_what_ranks_by_one_number_refuses_several(tuned: Tuned) -> None:
    with pytest.raises(InputError, match="several objectives"):
        robust(Study.load("both", store_of(tuned)), store_of(tuned))
    words = ["tune", "ycsb-a", "--goal", GOAL, "--finalists", "2", "--hardware", "nvme-2024"]
    told = CliRunner().invoke(app, [*words, "--results", str(store_of(tuned).path)])
    assert told.exit_code == 2
    assert "--finalists: found several objectives" in told.stderr
    with pytest.raises(InputError, match="a goal with one objective"):
        advisor.sweep("ycsb-a", "memory=1GiB..2GiB", goal=GOAL, steps=2)
