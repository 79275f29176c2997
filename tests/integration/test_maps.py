"""Maps on a core whose better engine is known at every place, and a small one on the real core."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from typer.testing import CliRunner

import advisor
from advisor import html
from advisor.errors import InputError
from advisor.store import Store, schema
from advisor.sweep import Asked, Point, Sweep, cells, parse_axes, stored, sweep
from tests.support.fake_core import FakeCore
from tests.support.html_page import Page
from tests.support.problems import GIB, problem
from tui import sweep_report
from tui.cli import app

OVER = ("memory=4GiB,16GiB", "clients=1,16")


class Known(FakeCore):
    """Its B-tree is the faster the larger its pool, its LSM the more clients there are."""

    def _answer(self, spec: Mapping[str, Any]) -> dict[str, float]:
        metrics = super()._answer(spec)
        if spec["engine"] == "lsm":
            return metrics | {"ops_per_s": 1000.0 * spec["clients"] ** 0.25 + spec["seed"]}
        pool = spec["options"]["innodb_buffer_pool_size"] / spec["workload"]["ids"]
        return metrics | {"ops_per_s": 4.0 * pool + spec["seed"]}


def walked(folder: Path, over: tuple[str, ...] = OVER, **changes: Any) -> Sweep:
    profile = problem(hardware="nvme-2024")
    engines = changes.pop("engines", profile.engines)
    axis, across = parse_axes(over)
    asked = Asked("m", profile, axis, engines, across=across, **changes)
    return sweep(asked, Store(folder / "results.duckdb"), core=Known())


def test_a_map_has_a_cell_for_every_pair_and_a_crossover_on_each_line(tmp_path: Path) -> None:
    found = walked(tmp_path)
    assert found.is_whole and len(found.points) == 8
    assert [one.engine for one in cells(found)] == ["lsm", "btree", "lsm", "btree"]
    few, many = found.crossovers()
    assert (few.across, many.across) == (1.0, 16.0)
    assert 4 * GIB < few.value < many.value < 16 * GIB, "more clients need a larger pool"


@pytest.mark.parametrize(
    ("over", "changes"),
    [
        (OVER, {}),
        (("memory=1MiB,8GiB", "innodb_old_blocks_time=0,1000"), {}),
        (("innodb_lru_scan_depth=256,512", "clients=1,4"), {}),
        (("memory=4GiB,16GiB", "compression=kZSTD,kNoCompression"), {}),
        (OVER, {"retune": 10}),
        (OVER, {"engines": ("lsm",)}),
    ],
    ids=[
        "of the profile",
        "what does not fit, and a knob",
        "a knob",
        "without an order",
        "retuned",
        "one engine",
    ],
)
def test_a_stored_map_says_what_it_said(
    tmp_path: Path, over: tuple[str, ...], changes: dict[str, Any]
) -> None:
    found = walked(tmp_path, over, **changes)
    again = stored("m", Store(tmp_path / "results.duckdb"))
    assert again.asked == found.asked and again.is_whole
    assert [replace(one, trials=()) for one in again.points] == [
        replace(one, trials=()) for one in found.points
    ]
    assert cells(again) == cells(found) and again.crossovers() == found.crossovers()
    assert sweep_report.texts(again) == sweep_report.texts(found)


def test_retuned_each_cell_is_a_study_of_its_own(tmp_path: Path) -> None:
    walked(tmp_path, retune=10)
    assert {study.name for study in Store(tmp_path / "results.duckdb").studies()} == {
        "m: 4GiB, clients 1",
        "m: 4GiB, clients 16",
        "m: 16GiB, clients 1",
        "m: 16GiB, clients 16",
    }


def test_a_map_that_is_stopped_keeps_its_cells(tmp_path: Path) -> None:
    made: list[Point] = []
    profile, (axis, across) = problem(hardware="nvme-2024"), parse_axes(OVER)
    asked = Asked("m", profile, axis, profile.engines, across=across)
    store = Store(tmp_path / "results.duckdb")
    sweep(
        asked,
        store,
        on_point=lambda number, point: made.append(point),
        stopped=lambda: len(made) >= 4,
        core=Known(),
    )
    left = stored("m", store)
    assert not left.is_whole and len(left.points) == 4
    assert [one.verdict for one in cells(left)] == ["leads", "leads", "missing", "missing"]
    assert [one.across for one in left.crossovers()] == [1.0]
    text, page = sweep_report.texts(left)
    assert "not run: 2" in text and "interrupted" in page


def test_the_medians_of_a_map_name_both_axes(tmp_path: Path) -> None:
    walked(tmp_path)
    answer = Store(tmp_path / "results.duckdb").sql(
        "SELECT axis, label, across, across_label, count(*) FROM swept "
        "WHERE metric = 'ops_per_s' GROUP BY ALL ORDER BY ALL"
    )
    assert answer.rows == tuple(
        ("memory", memory, "clients", clients, 2)
        for memory in ("16GiB", "4GiB")
        for clients in ("1", "16")
    )


def test_the_page_has_the_map_and_nothing_that_is_not_stored(tmp_path: Path) -> None:
    found = walked(tmp_path)
    text = html.sweep_page(found)
    page = Page(text)
    assert page.loose == [] and (page.addresses, page.scripts) == ([], 0)
    stored_values = {
        str(value)
        for (value,) in Store(tmp_path / "results.duckdb")
        .sql("SELECT value FROM trial_metric WHERE metric = 'ops_per_s'")
        .rows
    }
    lowest = [one for one in page.numbers if one.source.get("as") in ("low", "high")]
    assert len(lowest) == 2 * len(found.points)
    assert {one.value for one in lowest} <= stored_values
    assert "of 4 cells lsm leads in 2, btree leads in 2" in text
    assert "clients \\ memory" in text


def test_the_plot_of_a_map_has_its_cells_and_crossings(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    found = walked(tmp_path)
    text = html.sweep_page(found)
    assert 'aria-label="ops_per_s over memory and clients"' in text
    drawn = text.split("<svg")[1].split("</svg>")[0]
    assert all(one.text() in drawn for one in cells(found))
    assert drawn.count("stroke-dasharray") == 2
    with pytest.raises(InputError, match="accepted: ops_per_s"):
        html.sweep.plot(found, "p99_us")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--over", "memory=1GiB,2GiB", "--over", "memory=3GiB,4GiB"), "the same axis twice"),
        (("--over", "memory=1GiB,2GiB", "--over", "speed=1,2"), "'speed'"),
        (
            ("--over", "memory=1GiB,2GiB", "--over", "clients=1,2", "--over", "data=1GiB,2GiB"),
            "3 axes",
        ),
        (("--over", "memory=1GiB,2GiB", "--over", "clients=1,2", "--clients", "3"), "--clients"),
        (("--over", "memory=1GiB,2GiB", "--over", "requests_per_second=1,99999999"), "99999999"),
        (
            ("--over", "clients=1,2", "--over", "innodb_io_capacity=100,200", "--retune", "10"),
            "--retune",
        ),
    ],
)
def test_what_makes_no_map_is_refused_in_one_line_before_anything_runs(
    tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    results = tmp_path / "results.duckdb"
    done = CliRunner().invoke(app, ["sweep", "linkbench", *words, "--results", str(results)])
    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = done.stderr.strip().splitlines()
    assert says in line
    assert not results.exists()


def test_a_small_map_of_the_real_core_is_stored_and_told(tmp_path: Path) -> None:
    results, target = tmp_path / "results.duckdb", tmp_path / "map.md"
    small = ("--data", "1GiB", "--seconds", "0.2", "--hardware", "nvme-2024", "--simulate")
    over = [word for axis in ("memory=256MiB,1GiB", "clients=1,8") for word in ("--over", axis)]
    words = ["sweep", "linkbench", *over, *small, "--results", str(results), "-o", str(target)]
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["axis"], told["across"], told["whole"]) == ("memory", "clients", True)
    assert len(told["points"]) == 8 and {one["across"] for one in told["points"]} == {1.0, 8.0}
    assert [(one["value"] / GIB, one["across"]) for one in told["cells"]] == [
        (0.25, 1), (1, 1), (0.25, 8), (1, 8),
    ]  # fmt: skip
    again = stored(told["sweep"], Store(results))
    assert [one.verdict for one in cells(again)] == [one["verdict"] for one in told["cells"]]
    assert target.read_text() == sweep_report.markdown(again)
    assert target.with_suffix(".html").read_text() == html.sweep_page(again)


def test_a_map_of_paced_requests_runs_each_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeCore()
    monkeypatch.setattr("advisor.core.load", lambda: fake)
    found = advisor.sweep(
        problem(workload={"kind": "key_value"}, hardware="nvme-2024"),
        {"requests_per_second": [500, 1000], "clients": [2, 4]},
        results=tmp_path / "results.duckdb",
    )
    asked = {(s["workload"]["requests_per_second"], s["clients"]) for s in fake.specs}
    assert asked == {(500, 2), (1000, 2), (500, 4), (1000, 4)}
    read = found.cells().project("label, across_label, verdict").fetchall()
    assert [row[:2] for row in read] == [
        (rate, clients) for clients in ("2", "4") for rate in ("500", "1,000")
    ]
    assert "clients \\ requests_per_second" in found._repr_html_()
    assert repr(found).endswith("2 values of requests_per_second and 2 values of clients>")


def test_the_real_core_holds_an_engine_to_each_rate(tmp_path: Path) -> None:
    found = advisor.sweep(
        problem(workload={"kind": "key_value"}, data="64MiB", hardware="nvme-2024"),
        "requests_per_second=5000,20000",
        engine="lsm",
        seconds=0.2,
        results=tmp_path / "results.duckdb",
    )
    rates = found.medians().filter("metric = 'ops_per_s'").project("value, median").fetchall()
    assert [median == pytest.approx(rate, rel=0.1) for rate, median in rates] == [True, True]


def test_cells_are_a_relation_for_a_single_axis_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("advisor.core.load", Known)
    results = tmp_path / "results.duckdb"
    found = advisor.sweep("linkbench", ["memory=4GiB,16GiB"], data="20GiB", results=results)
    rows = found.cells().project("label, across, verdict, engine").fetchall()
    assert [row[:2] for row in rows] == [("4GiB", None), ("16GiB", None)]
    assert found.cells().types[-1] == "DOUBLE"


def test_sweeps_of_a_file_from_before_maps_are_of_one_axis(tmp_path: Path) -> None:
    old, new = tmp_path / "old.duckdb", tmp_path / "new.duckdb"
    profile, (axis, _) = problem(hardware="nvme-2024"), parse_axes(["memory=4GiB,16GiB"])
    asked = Asked("m", profile, axis, profile.engines)
    found = sweep(asked, Store(new), core=Known())
    with duckdb.connect(str(old)) as connection:
        schema.migrate(connection, 0, 13)
        connection.execute(f"ATTACH '{new}' AS new (READ_ONLY)")
        connection.execute("INSERT INTO sweep SELECT * EXCLUDE (across) FROM new.sweep")
        for table, added in (
            ("sweep_run", "across_value, across_label"),
            ("sweep_point", "across_value"),
        ):
            query = f"SELECT * EXCLUDE ({added}) FROM new.{table}"
            connection.execute(f"INSERT INTO {table} {query}")
        for table in ("trial", "trial_metric"):
            connection.execute(f"INSERT INTO {table} SELECT * FROM new.{table}")
    again = stored("m", Store(old))
    assert again.asked == found.asked and again.asked.across is None
    assert [one.place for one in again.points] == [one.place for one in found.points]
    assert sweep_report.table(again) == sweep_report.table(found)
    rows = Store(old).sql("SELECT DISTINCT across, across_value, across_label FROM swept").rows
    assert rows == ((None, None, None),)
