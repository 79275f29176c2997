"""The page of a sweep: all that it says is stored, and it asks nobody for anything."""

import json
import statistics
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from advisor import html
from advisor.store import Store
from advisor.sweep import Asked, Sweep, parse_axis, sentences, stored, sweep
from tests.support import fake_core
from tests.support.browser import found_browser, opened, requests
from tests.support.fake_core import FakeCore
from tests.support.html_page import Page, Shown, same
from tests.support.problems import problem

_TAKEN = {"median": statistics.median, "low": min, "high": max}


class Crossing(FakeCore):
    """Its B-tree overtakes the LSM where 0.6 of the data is in its pool."""

    def _answer(self, spec: Mapping[str, Any]) -> dict[str, float]:
        metrics = super()._answer(spec)
        if spec["engine"] == "lsm":
            return metrics | {"ops_per_s": 10_000.0 + spec["seed"]}
        held = fake_core.hit_ratio(spec["options"]["innodb_buffer_pool_size"], spec)
        return metrics | {"ops_per_s": 10_000.0 * held / 0.6 + spec["seed"]}


class Walked(NamedTuple):
    sweep: Sweep
    store: Store
    page: str


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Walked:
    store = Store(tmp_path_factory.mktemp("sweep") / "results.duckdb")
    profile = problem(hardware="nvme-2024")
    axis = parse_axis("memory=1MiB,4GiB,12GiB,16GiB,24GiB")
    found = sweep(Asked("a <sweep> 1", profile, axis, profile.engines), store, core=Crossing())
    return Walked(found, store, html.sweep_page(found))


def kept(store: Store, one: Shown) -> object:
    """The value of a number, as it is stored."""
    source = one.source
    if source.get("table") == "sweep":
        record = store.sweep(source["key"])
        assert record is not None
        if hasattr(record, source["name"]):
            return getattr(record, source["name"])
        return reduce(lambda at, key: at[key], source["name"].split("."), dict(record.asked))
    if source.get("table") == "trial":
        query = f"SELECT {source['name']} FROM trial WHERE id = '{source['trial']}'"
        return store.sql(query).rows[0][0]
    values = []
    for trial in source["trial"].split():
        query = f"SELECT value FROM trial_metric WHERE trial = '{trial}' "
        values.append(store.sql(f"{query} AND metric = '{source['name']}'").rows[0][0])
    return _TAKEN[source["as"]](values)


def test_every_number_on_the_page_is_stored(walked: Walked) -> None:
    page = Page(walked.page)
    assert [one for one in page.numbers if not same(one, kept(walked.store, one))] == []
    assert page.loose == []
    assert len(page.numbers) > 24
    wrong = replace(page.numbers[0], value="1.5")
    assert not same(wrong, kept(walked.store, wrong))


def test_the_crossover_comes_first_and_is_in_the_plot(walked: Walked) -> None:
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    (crossing,) = walked.sweep.crossovers()
    told = walked.sweep.asked.axis.crossing(crossing)
    assert told in walked.page.split("<svg")[0]
    assert 'aria-label="ops_per_s over memory"' in walked.page
    assert "stroke-dasharray" in walked.page, "where the engines cross"
    assert "no settings fit the memory" in walked.page


def test_a_stored_sweep_gives_the_same_page(walked: Walked) -> None:
    again = stored(walked.sweep.asked.name, walked.store)
    assert html.sweep_page(again) == walked.page
    assert json.dumps("a <sweep> 1") not in walked.page and "a &lt;sweep&gt; 1" in walked.page


def test_the_page_asks_for_nothing_and_runs_nothing(walked: Walked) -> None:
    page = Page(walked.page)
    assert (page.addresses, page.scripts) == ([], 0)


def test_without_matplotlib_the_page_has_its_table_alone_and_says_so(
    walked: Walked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html, "can_draw", lambda: False)
    text = html.sweep_page(walked.sweep)
    assert text.count("tunebench[report]") == 1
    assert "<svg" not in text and "Provenance" in text


def test_a_sweep_of_which_nothing_ran_has_a_page(walked: Walked) -> None:
    empty = replace(walked.sweep, points=(), is_whole=False)
    text = html.sweep_page(empty)
    assert "<svg" not in text and "interrupted" in text


def test_a_sweep_of_one_engine_without_repetitions_has_its_best_step_and_a_page(
    walked: Walked,
) -> None:
    alone = replace(walked.sweep.asked, engines=("lsm",), runs=1)
    points = tuple(
        replace(one, trials=one.trials[:1]) for one in walked.sweep.points if one.engine == "lsm"
    )
    found = replace(walked.sweep, asked=alone, points=points[1:])
    assert sentences(found) == [
        "lsm: ops_per_s is highest at memory 4GiB (10,001), within noise of it at 12GiB, 16GiB, "
        "24GiB"
    ]
    assert "10,001" in html.sweep_page(found).split("<strong>")[1].split("</strong>")[0]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_browser_opens_the_page_without_a_request_or_an_error(
    walked: Walked, tmp_path: Path, dark: bool
) -> None:
    page = tmp_path / "sweep.html"
    page.write_text(walked.page, encoding="utf-8")
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    done = opened(found_browser(), page, tmp_path, *scheme, "--dump-dom")
    assert "Sweep: " in done.stdout and "</html>" in done.stdout
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    assert list(requests(tmp_path, page)) == []
