"""The page of a study: all that it says is stored, and it asks nobody for anything."""

import json
import re
import shutil
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from advisor import html, report
from advisor.evidence import Evidence, asked, made
from advisor.html import charts, plots
from advisor.recommend import Recommendation, recommend
from advisor.search import Question, Study
from advisor.store import Store
from advisor.sweep import Asked, parse_axis, sweep
from tests.support.browser import found_browser, opened, requests
from tests.support.fake_core import FakeCore
from tests.support.html_page import Page, Stored, same
from tests.support.problems import problem, study, trial

MIB = 1 << 20


class Wearing(FakeCore):
    """Its flash wears."""

    def _answer(self, spec: Mapping[str, Any]) -> dict[str, float]:
        metrics = super()._answer(spec)
        return metrics | {"drive_years": 1e9 / metrics["ops_per_s"]}


class Answered(NamedTuple):
    core: FakeCore
    study: Study
    advice: Recommendation
    store: Store
    page: str


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Answered:
    folder = tmp_path_factory.mktemp("html")
    goal = "maximize ops_per_s subject to p99_us <= 5000"
    question = Question(problem(goal=goal, hardware="nvme-2024"), clock="simulated")
    core = Wearing()
    made = study(folder, question=question, trials=40, core=core, name="graph 1 & <2>")
    made.run()
    advice, store = recommend(made), Store(folder / "results.duckdb")
    return Answered(core, made, advice, store, html.page(Evidence.of(advice, store)))


def test_every_number_on_the_page_is_stored(answered: Answered) -> None:
    page = Page(answered.page)
    stored = Stored(answered.store, answered.study, answered.advice)
    wrong = [one for one in page.numbers if not same(one, stored.value(one))]
    assert wrong == []
    assert page.loose == []
    kinds = Counter(one.source.get("table") or one.source.get("formula") for one in page.numbers)
    expected = {None, "trial", "trial_operation", "trial_bytes", "study", "importance", "memory"}
    expected |= {"endurance"}
    assert expected <= set(kinds)
    assert len(page.numbers) > 200


def test_predicted_beside_real_is_of_the_view_of_that_name(
    answered: Answered, tmp_path: Path
) -> None:
    shutil.copy(answered.store.path, tmp_path / "results.duckdb")
    store, session = Store(tmp_path / "results.duckdb"), str(uuid.uuid4())
    for place, name in enumerate(("defaults", "recommended")):
        for round_ in range(4):
            metrics = {"ops_per_s": 100.0 * (1 + place) + round_, "p99_us": 10.0 + round_}
            kind = {"clock": "real", "product": "RocksDB 10.4.2"} if round_ else {}
            run = trial(seed=round_, role="verify", metrics=metrics, **kind)
            store.add_verified(run, answered.study.name, session, place, name, round_)
    page = Page(html.page(Evidence.of(answered.advice, store)))
    shown = [one for one in page.numbers if one.source.get("table") == "verified"]
    stored = Stored(store, answered.study, answered.advice)
    assert {one.source["name"] for one in shown} == {"real", "real_ratio", "predicted_ratio"}
    assert [one for one in shown if not same(one, stored.value(one))] == []
    assert page.loose == []


def test_sweeps_of_the_same_question_are_part_of_both_reports(
    answered: Answered, tmp_path: Path
) -> None:
    shutil.copy(answered.store.path, tmp_path / "results.duckdb")
    store, profile = Store(tmp_path / "results.duckdb"), answered.study.profile
    over = parse_axis("memory=4GiB,8GiB")
    # Neither the profile's own memory nor an older sweep over the same axis matters.
    for name in ("older", "newer"):
        moved = profile.with_changes("test", memory=8 << 30)
        sweep(Asked(name, moved, over, profile.engines), store, core=Wearing())
    other = profile.with_changes("test", clients=profile.clients + 1)
    sweep(Asked("another question", other, over, profile.engines), store, core=Wearing())
    found = Evidence.of(answered.advice, store)
    assert [one.asked.name for one in found.sweeps] == ["newer"]
    page = Page(html.page(found))
    stored = Stored(store, answered.study, answered.advice)
    assert [one for one in page.numbers if not same(one, stored.value(one))] == []
    assert page.loose == []
    title = "<h2>Over memory</h2>"
    assert title in page.text and title not in answered.page
    text = report.markdown(found).split("## Over memory\n\n")[1].split("\n## ")[0]
    (point, *_) = [one for one in found.sweeps[0].points if one.engine == "lsm"]
    spread = point.spread("ops_per_s")
    assert spread is not None and f"| 4GiB | {spread.median:,.0f} [" in text
    assert "Of the sweep `newer`" in text


def test_the_markdown_tells_what_the_page_tells(answered: Answered) -> None:
    found = Evidence.of(answered.advice, answered.store)
    text = report.markdown(found)
    of_page, of_text = (
        set(re.findall(pattern, told, re.M))
        for pattern, told in (("<h2>(.*?)</h2>", answered.page), ("^## (.*)$", text))
    )
    drawn_alone = {"Over the run"}
    called_otherwise = {
        "What to change": "Changes",
        "Side by side": "Recommended beside the others",
        "Memory, line by line": "Memory of the recommended settings",
        "Provenance": "How it was measured",
    }
    assert {called_otherwise.get(one, one) for one in of_page - drawn_alone} <= of_text
    for fact in (*asked(found), *made(found)):
        assert f"| {fact.title} | {fact.text.replace('|', chr(92) + '|')} |" in text
    assert {"Seed", "Begun", "Core", "Host"} <= {fact.title for fact in made(found)}
    for engine, shares in found.importance.items():
        assert all(f"| `{knob}` | {engine} |" in text for knob in shares)


class Drawn(NamedTuple):
    """What plots of the page are given, by their titles."""

    lines: dict[str, list[plots.Line]]
    bars: dict[str, tuple[list[str], dict[str, list[float]]]]


@pytest.fixture
def drawn(answered: Answered, monkeypatch: pytest.MonkeyPatch) -> Drawn:
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    found = Drawn({}, {})

    def lines(told: list[plots.Line], **how: Any) -> plots.Plot:
        found.lines[how["title"]] = told
        return plots.lines(told, **how)

    def bars(names: list[str], groups: dict[str, list[float]], **how: Any) -> plots.Plot:
        found.bars[how["title"]] = (names, groups)
        return plots.bars(names, groups, **how)

    monkeypatch.setattr(charts, "lines", lines)
    monkeypatch.setattr(charts, "bars", bars)
    html.page(Evidence.of(answered.advice, answered.store))
    return found


def rows(answered: Answered, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in answered.store.sql(query).rows]


def test_every_point_of_the_history_is_a_stored_trial(answered: Answered, drawn: Drawn) -> None:
    stored = rows(
        answered,
        "SELECT number, value FROM trial JOIN trial_metric m ON m.trial = trial.id"
        " WHERE metric = 'ops_per_s'",
    )
    told = drawn.lines["History of the search"]
    points = [
        pair for one in told if "points" in one.look for pair in zip(one.x, one.y, strict=True)
    ]
    assert sorted(points) == sorted((float(number), value) for number, value in stored)
    steps = [
        pair
        for one in told
        if one.look == "steps"
        for pair in zip(one.x[:-1], one.y[:-1], strict=True)
    ]
    assert steps and set(steps) <= set(points)


def test_every_point_over_the_run_is_a_stored_interval(answered: Answered, drawn: Drawn) -> None:
    titles = {column.title: column for column in answered.advice.columns}
    assert "ops_per_s over the run" in drawn.lines
    for metric in charts.OVER_TIME:
        for one in drawn.lines.get(f"{metric} over the run", []):
            ids = [str(run.id) for run in titles[one.label].trials]
            stored = rows(
                answered,
                f"SELECT t_s, {metric} FROM trial_interval"
                f" WHERE phase = 'run' AND trial::VARCHAR IN {(*ids, '')}",
            )
            unit = MIB if metric == "disk_bytes" else 1
            assert set(zip(one.x, one.y, strict=True)) <= {(t, value / unit) for t, value in stored}


def test_every_bar_is_of_stored_rows(answered: Answered, drawn: Drawn) -> None:
    def medians(table: str, keys: tuple[str, str], title: str) -> dict[str, float]:
        column = next(one for one in answered.advice.columns if one.title == title)
        ids = (*(str(run.id) for run in column.trials), "")
        key, name = keys
        return dict(
            rows(
                answered,
                f"SELECT {key}, median(value) FROM {table} WHERE metric = '{name}'"
                f" AND trial::VARCHAR IN {ids} GROUP BY 1",
            )
        )

    names, groups = drawn.bars["Latency by operation"]
    assert groups
    for title, values in groups.items():
        stored = medians("trial_operation", ("operation", "p99_us"), title)
        assert dict(zip(names, values, strict=True)) == {n: stored.get(n, 0.0) for n in names}
    names, groups = drawn.bars["Bytes written by purpose"]
    for title, values in groups.items():
        stored = medians("trial_bytes", ("purpose", "written_bytes"), title)
        whole = sum(stored.get(name, 0.0) for name in names)
        assert values == pytest.approx([100 * stored.get(n, 0.0) / whole for n in names])
    names, groups = drawn.bars["Importance"]
    shares = answered.study.importance(answered.advice.engine)
    assert groups == {"share": [100 * shares[name] for name in names]}
    for names, groups in filter(None, [drawn.bars.get("What each line buys")]):
        changes = {one.knob: one for one in answered.advice.changes}
        alone = [100 * (changes[name].alone or 0.0) for name in names]
        company = [100 * (changes[name].company or 0.0) for name in names]
        assert groups == {"on its own": alone, "beside the others": company}


def test_a_number_that_is_not_the_stored_one_is_found(answered: Answered) -> None:
    text = answered.page
    stored = Stored(answered.store, answered.study, answered.advice)
    first = next(one for one in Page(text).numbers if one.source.get("name") == "ops_per_s")
    wrong = Page(text.replace(f'value="{first.value}"', 'value="1.5"', 1))
    assert [one.value for one in wrong.numbers if not same(one, stored.value(one))] == ["1.5"]


def test_the_same_results_give_the_same_page(answered: Answered) -> None:
    again = Study.load(answered.study.name, answered.store)
    advice = recommend(again, measure=False)
    assert html.page(Evidence.of(advice, answered.store)) == answered.page


def test_the_page_asks_for_nothing_and_runs_nothing(answered: Answered) -> None:
    page = Page(answered.page)
    assert (page.addresses, page.scripts) == ([], 0)
    assert "@import" not in page.text and not re.search(r"url\((?!#)", page.text)


def test_the_page_folds_the_stored_question_and_the_spec_that_ran(answered: Answered) -> None:
    folded = [
        json.loads(unescape(text))
        for text in re.findall(r"<details><summary>.*?</summary><pre><code>([^<]*)<", answered.page)
    ]
    record = answered.store.study(answered.study.name)
    assert record is not None and folded[0] == dict(record.identity)
    last = answered.advice.columns[-1].trials[-1]
    assert folded[1] in answered.core.specs
    assert folded[1]["seed"] == last.seed and folded[1]["engine"] == last.engine


def test_a_page_of_many_trials_stays_small(answered: Answered) -> None:
    many = tuple(
        replace(one, number=number) for number, one in enumerate((*answered.advice.trials,) * 40, 1)
    )
    advice = replace(answered.advice, trials=many)
    assert len(html.page(Evidence.of(advice, answered.store)).encode()) < 2_000_000


def test_without_matplotlib_the_page_has_tables_alone_and_says_so(
    answered: Answered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html, "can_draw", lambda: False)
    text = html.page(Evidence.of(answered.advice, answered.store))
    assert text.count("tunebench[report]") == 1
    assert "<svg" not in text and "The numbers" in text


def test_with_matplotlib_the_page_has_its_plots(answered: Answered) -> None:
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    text = answered.page
    titles = re.findall(r'aria-label="([^"]*)"', text)
    changes = answered.advice.changes
    told_apart = any((one.alone, one.company) != (None, None) for one in changes)
    assert {"History of the search", "Importance"} <= set(titles)
    assert ("What each line buys" in titles) == told_apart
    assert {"Latency by operation", "Bytes written by purpose"} <= set(titles)
    assert not re.search(r"#0([1-6])(?:0\1){2}", text), "a colour that stands for a variable"
    drawn = re.findall(r' id="([^"]+)"', text)
    assert {f"#{one}" for one in drawn} >= set(re.findall(r'href="(#[^"]+)"', text))


def test_a_plot_is_a_file_of_its_own_too(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    line = plots.Line("a < b", [1.0, 2.0], [3.0, 4.0])
    plots.lines([line], title='"T" & <t>', x="x", y="y").save(tmp_path / "plot.svg")
    text = (tmp_path / "plot.svg").read_text()
    assert "prefers-color-scheme: dark" in text
    assert "&quot;T&quot; &amp; &lt;t&gt;" in text


@pytest.fixture(scope="module")
def browser() -> str:
    return found_browser()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_browser_opens_the_page_without_a_request_or_an_error(
    answered: Answered, browser: str, tmp_path: Path, dark: bool
) -> None:
    page = tmp_path / "report.html"
    page.write_text(answered.page, encoding="utf-8")
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    done = opened(browser, page, tmp_path, *scheme, "--dump-dom")
    assert "Tuning report" in done.stdout and "</html>" in done.stdout
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    assert list(requests(tmp_path, page)) == []


def test_a_request_and_a_console_error_would_be_seen(browser: str, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    away = "http://127.0.0.1:9/x.png"
    page.write_text(f"<!doctype html><script>console.error('no')</script><img src={away}>")
    done = opened(browser, page, tmp_path, "--dump-dom")
    assert any("CONSOLE" in line for line in done.stderr.splitlines())
    assert away in list(requests(tmp_path, page))
