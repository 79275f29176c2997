"""A study at its neighbours, on the real core under the virtual clock."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from advisor import evaluate, handover, html, report
from advisor.api import Tuned
from advisor.errors import InputError, WorkError
from advisor.evidence import Evidence
from advisor.recommend import recommend
from advisor.robust import Robustness, advised, newest, robust, sentences
from advisor.robust.rivals import fits
from advisor.scale import MIB, factor
from advisor.search import Bounds, Question, Study
from advisor.store import Store
from tests.support.html_page import Page, Stored, same
from tests.support.problems import problem
from tui.cli import app
from tui.robust_report import document


@pytest.fixture(scope="module", autouse=True)
def small_trials() -> Iterator[None]:
    """Little data and few operations: what is claimed does not depend on them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(factor, "SMALLEST_DATA", 2 * MIB)
        patch.setattr(factor, "LARGEST_DATA", 4 * MIB)
        patch.setattr(evaluate, "SIMULATED_OPERATIONS", 1_000)
        yield


class Robust(NamedTuple):
    store: Store
    study: Study
    found: Robustness


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Robust:
    store = Store(tmp_path_factory.mktemp("robust") / "results.duckdb")
    shares = {"kind": "key_value", "reads": 3, "overwrites": 1, "value_bytes": 1000}
    profile = problem(hardware="nvme-2024", workload=shares, engines=["lsm"])
    question = Question(profile, clock="simulated", seconds=0.2)
    study = Study("shares", question, store, bounds=Bounds(trials=8))
    assert study.run() == "complete"
    recommend(study)
    return Robust(store, study, robust(study, store, radius=0.2))


def test_every_candidate_ran_at_every_point(made: Robust) -> None:
    names = [point.name for point in made.found.points]
    assert names[:4] == ["as asked", "memory x 0.5", "data x 2", "clients x 4"]
    assert len(names) == 6 and names[4].endswith("% reads") and names[5].endswith("% overwrites")
    assert all(point.divergence == pytest.approx(0.2, abs=1e-4) for point in made.found.points[4:])
    for one in made.found.tried:
        for point, runs in zip(made.found.points, one.runs, strict=True):
            known = fits(point, one.contender.engine, one.contender.settings)
            assert [run.outcome for run in runs] == (["finished"] * 2 if known else ["rejected"])
            assert {run.role for run in runs} == {"robust"}
    assert made.found.recommended.contender.name == "recommended"
    assert made.found.ending == "complete" and made.found.is_about(recommend(made.study).settings)


def test_more_clients_run_longer(made: Robust) -> None:
    first = made.found.recommended.runs
    lengths = [runs[0].seconds / first[0][0].seconds for runs in first]
    assert lengths == pytest.approx([1.0, 1.0, 1.0, 4.0, 1.0, 1.0])


def test_every_number_has_its_row(made: Robust) -> None:
    for place, one in enumerate(made.found.tried):
        for point in range(len(made.found.points)):
            answer = made.store.sql(
                "SELECT median FROM robust WHERE metric = 'ops_per_s' AND NOT again "
                f"AND place = {place} AND point = {point}"
            )
            known = one.at(point)
            score = known.score(made.found.goal) if known is not None else None
            assert answer.rows == (((score,),) if score is not None else ())


def test_it_is_read_back_as_it_was(made: Robust) -> None:
    again = newest("shares", made.study.profile, made.store)
    assert again is not None and again.session == made.found.session
    assert sentences(again) == sentences(made.found)
    # The study's own trials are what they were.
    assert {one.role for one in made.store.trials("shares")}.isdisjoint({"robust"})


def test_reports_tell_it(made: Robust) -> None:
    advice = recommend(made.study, measure=False)
    text = handover.report_text(advice, is_markdown=True)
    assert "## At its neighbours" in text
    assert "## At its neighbours" not in report.markdown(Evidence(advice))
    for sentence in sentences(made.found):
        assert sentence.replace("|", "\\|") in text
    page = Page(html.page(Evidence.of(advice, made.store)))
    stored = Stored(made.store, made.study, advice)
    assert "At its neighbours" in page.text and page.loose == []
    mine = {run.id for one in made.found.tried for runs in one.runs for run in runs}
    shown = [one for one in page.numbers if mine.intersection(one.source.get("trial", "").split())]
    ran = [one.at(point) for one in made.found.tried for point in range(len(made.found.points))]
    assert len(shown) == sum(one is not None for one in ran)
    assert [one for one in shown if not same(one, stored.value(one))] == []


def test_the_file_of_the_choice_says_what_it_does(made: Robust) -> None:
    advice = recommend(made.study, measure=False)
    other = next(one for one in made.found.tried[1:] if one.at(0) is not None)
    found = made.found
    chosen = replace(found, tried=(found.recommended, other))
    assert advised(advice, replace(found, tried=(found.recommended,))) is advice
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Robustness, "choice", other)
        changed = advised(advice, chosen)
    shown = {change.knob: change.recommended for change in changed.changes}
    mine = other.contender.settings
    assert all(changed.settings[knob] == value for knob, value in shown.items())
    ruled = [one for one in changed.changes if one.recommended != mine[one.knob]]
    assert all(one.evidence.startswith("rule: ") for one in ruled)
    assert f"Robust choice: {other.contender.name}" in changed.write("rocksdb-10.4")


def test_the_command_prints_the_table_and_writes_the_file(made: Robust, tmp_path: Path) -> None:
    target = tmp_path / "OPTIONS"
    words = ["robust", "shares", "--results", str(made.store.path), "--runs", "1", "--radius", "0"]
    result = CliRunner().invoke(app, [*words, "-o", str(target)])
    assert result.exit_code == 0, result.output
    assert "memory x 0.5" in result.stdout and "recommended" in result.stdout
    assert target.exists() and "At its neighbours" in (tmp_path / "report.md").read_text()
    refused = CliRunner().invoke(app, [*words, "--to", "mysql-8.4", "-o", str(tmp_path / "my.cnf")])
    assert refused.exit_code == 2


def test_the_document_says_what_decides(made: Robust) -> None:
    told = document(made.found)
    names = [point["name"] for point in told["points"]]
    assert told["stake"] in names and set(told["out_of_reach"]) <= set(names)
    assert len(told["noise"]) == len(names) and told["noise"][0]["degrees"] > 0
    assert json.loads(json.dumps(told)) == told


def test_the_choice_runs_again_on_a_larger_copy_with_seeds_that_it_was_not_made_by(
    made: Robust, monkeypatch: pytest.MonkeyPatch
) -> None:
    lean = property(lambda found: next(one for one in found.tried[1:] if one.at(0)))
    monkeypatch.setattr(Robustness, "choice", lean)
    found = robust(made.study, made.store, runs=1, radius=0.0)
    assert (
        set(found.choice.again) == set(found.recommended.again) == set(found.decisive(found.choice))
    )
    for one in (found.choice, found.recommended):
        first, later = one.runs[0][0], one.again[0][0]
        assert later.scale == pytest.approx(4 * first.scale) and later.seed != first.seed
    lost = found.against_recommended(found.choice, 0)
    assert lost is not None and lost.on_smaller is not None
    assert "after the choice, at " in " ".join(sentences(found))


def test_an_end_before_the_first_point_says_so(made: Robust) -> None:
    with pytest.raises(WorkError, match="interrupted before the first point"):
        robust(made.study, made.store, stopped=lambda: True)
    assert newest("shares", made.study.profile, made.store) is not None


def test_what_was_not_run_is_said(made: Robust) -> None:
    begun: list[str] = []
    found = robust(
        made.study,
        made.store,
        runs=1,
        on_point=lambda number, of, point: begun.append(point.name),
        stopped=lambda: len(begun) > 1,
    )
    assert [point.name for point in found.points] == ["as asked"]
    assert found.ending == "interrupted" and "missing were not run" in " ".join(sentences(found))


def test_a_measured_study_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path / "results.duckdb")
    study = Study("wall", Question(problem(), seconds=0.2), store, bounds=Bounds(trials=4))
    with pytest.raises(InputError, match="a simulated study"):
        robust(study, store)


def test_the_library_asks_in_one_line_and_deletes_with_the_study(made: Robust) -> None:
    found = Tuned(made.study, made.store).robust(runs=1, radius=0.0)
    assert found.choice in found.tried
    made.store.delete_study("shares")
    for table in ("robustness", "robust_point", "robust_run", "trial", "trial_metric"):
        assert made.store.sql(f"SELECT count(*) FROM {table}").rows == ((0,),)
