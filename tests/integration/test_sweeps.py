"""Sweeps on a core whose best settings are known."""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import pytest

from advisor import html
from advisor.core import Cancelled
from advisor.errors import InputError
from advisor.recommend.verdict import OWN_ENGINES
from advisor.store import Store, SweepPoint, SweepRecord
from advisor.store.lease import leased
from advisor.sweep import Asked, Place, Point, Sweep, best, cells, parse_axis, stored, sweep
from tests.support import fake_core
from tests.support.fake_core import FakeCore, FakeRun
from tests.support.problems import GIB, problem, record
from tui import sweep_report
from tui.bar import bar


class Crossing(FakeCore):
    """Its B-tree overtakes the LSM where 0.6 of the data is in its pool."""

    def _answer(self, spec: Mapping[str, Any]) -> dict[str, float]:
        metrics = super()._answer(spec)
        ops = 10_000.0
        if spec["engine"] == "btree":
            pool = spec["options"]["innodb_buffer_pool_size"]
            ops *= fake_core.hit_ratio(pool, spec) / 0.6
        ops += spec["seed"]
        return metrics | {"ops_per_s": ops, "p50_us": 5e5 / ops}


class OfOne(Crossing):
    """Its reads of nodes take what all operations take."""

    def Run(self, spec: dict[str, Any]) -> FakeRun:
        run = super().Run(spec)
        p99 = self._answer(spec)["p99_us"]
        run.said = {**run.said, "by_operation": {"get_node": {"count": 10, "p99_us": p99}}}
        return run


class Safer(FakeCore):
    """Its B-tree is the better engine where pages are not written twice."""

    def _answer(self, spec: Mapping[str, Any]) -> dict[str, float]:
        is_slow = spec["options"].get("innodb_doublewrite", False)
        ops = 20_000.0 if spec["engine"] == "btree" and not is_slow else 10_000.0
        return super()._answer(spec) | {"ops_per_s": ops - spec["seed"] - 2_000.0 * is_slow}


def walked(
    folder: Path,
    over: str,
    steps: int = 5,
    *,
    goal: str = "maximize ops_per_s",
    core: FakeCore | None = None,
    **changes: Any,
) -> Sweep:
    profile = problem(hardware="nvme-2024", goal=goal)
    asked = Asked("s", profile, parse_axis(over, steps), profile.engines, **changes)
    return sweep(asked, Store(folder / "results.duckdb"), core=core or Crossing())


def test_a_sweep_of_memory_finds_where_the_better_engine_changes(tmp_path: Path) -> None:
    found = walked(tmp_path, "memory=4GiB..24GiB")
    (one,) = found.crossovers()
    assert (one.before, one.after) == ("lsm", "btree")
    # The pool is what the rest of the memory leaves.
    assert 12 * GIB < one.low <= one.value <= one.high < 14.5 * GIB
    pools = [
        point.settings["innodb_buffer_pool_size"]
        for point in found.points
        if point.engine == "btree"
    ]
    assert pools == sorted(pools) and pools[0] < 4 * GIB < 20 * GIB < pools[-1]


def test_an_engine_that_breaks_a_limit_neither_leads_nor_crosses(tmp_path: Path) -> None:
    # The B-tree keeps it where its pool is large.
    goal = "maximize ops_per_s subject to p50_us <= 55"
    found = walked(tmp_path, "memory=4GiB..24GiB", goal=goal)
    assert found.crossovers() == []
    few, *_, many = cells(found)
    assert (few.verdict, few.engine) == ("keeps", "lsm")
    assert few.text() == "lsm alone keeps limits" and many.verdict == "leads"
    slow = found.at(few.place, "btree")
    assert slow is not None and slow.remark(found.goal) == "breaks p50_us <= 55"
    assert found.score(few.place, "btree") is None
    told = sweep_report.told(found)
    assert told[0] == "no engine overtakes the other where both keep the goal's limits"
    assert any(one.startswith("B-tree at memory 4GiB, 9GiB: breaks p50_us") for one in told)
    text, page = sweep_report.texts(found)
    assert "LSM alone keeps limits" in text and "lsm alone keeps limits" in page


def test_limits_that_no_engine_keeps_leave_no_leader(tmp_path: Path) -> None:
    goal = "maximize ops_per_s subject to p50_us <= 1"
    found = walked(tmp_path, "memory=4GiB,24GiB", goal=goal)
    assert [one.verdict for one in cells(found)] == ["breaks", "breaks"]


def test_a_goal_of_one_operation_is_reported(tmp_path: Path) -> None:
    found = walked(tmp_path, "memory=4GiB,24GiB", goal="minimize p99_us[get_node]", core=OfOne())
    text, page = sweep_report.texts(found)
    assert "p99_us[get_node]" in text and "btree, us" in page


def test_several_objectives_are_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="several objectives"):
        walked(tmp_path, "memory=4GiB,24GiB", goal="maximize ops_per_s, minimize space_amp")
    assert not (tmp_path / "results.duckdb").exists()


def test_runs_that_were_not_steady_are_told(tmp_path: Path) -> None:
    core = Crossing(flatters=lambda spec: spec["engine"] == "lsm")
    told = sweep_report.told(walked(tmp_path, "memory=4GiB,24GiB", core=core))
    assert "LSM at memory 4GiB, 24GiB: not yet steady" in told


def test_engines_without_calls_of_products_are_said_to_be_our_own(tmp_path: Path) -> None:
    found = walked(tmp_path, "memory=4GiB,24GiB")
    told = f"both are{OWN_ENGINES.removeprefix('Both are')}"
    assert told not in sweep_report.told(found)
    measured = replace(found.asked, clock="measured")
    assert told in sweep_report.told(replace(found, asked=measured))
    assert told not in sweep_report.told(Sweep(measured, (), False))


def test_the_cheapest_memory_is_told_with_what_noise_leaves_open(tmp_path: Path) -> None:
    found = walked(tmp_path, "memory=4GiB..24GiB", goal="minimize p50_us")
    cheapest = best(found, "btree")
    assert cheapest is not None and cheapest.place.value == 24 * GIB and cheapest.even == ()
    flat = best(found, "lsm")
    assert flat is not None and len(flat.even) == 4
    told = sweep_report.told(found)
    (own,) = (one for one in told if one.startswith("B-tree: p50_us is lowest at memory 24GiB ("))
    assert "noise" not in own
    (other,) = (one for one in told if one.startswith("LSM: p50_us is lowest at memory "))
    assert "within noise of it at" in other


def test_a_knob_has_no_best_value_for_the_engine_that_lacks_it(tmp_path: Path) -> None:
    told = sweep_report.told(walked(tmp_path, "innodb_io_capacity=200,2000"))
    assert [one[:6] for one in told if "is highest at" in one] == ["B-tree"]


def test_settings_without_an_order_have_no_crossover(tmp_path: Path) -> None:
    found = walked(tmp_path, "innodb_doublewrite=off,on", core=Safer())
    assert [one.engine for one in cells(found)] == ["btree", "lsm"]
    assert found.crossovers() == []
    told = sweep_report.told(found)
    assert told[0].startswith("B-tree: ops_per_s is highest at innodb_doublewrite off (")
    assert not any("overtakes" in one for one in told)
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    drawn = html.sweep.plot(found).svg
    assert ">off<" in drawn and ">on<" in drawn


def test_the_noise_of_a_place_is_that_of_the_runs_there(tmp_path: Path) -> None:
    found = walked(tmp_path, "memory=4GiB..24GiB", 3, runs=3)
    first, *rest = found.points
    fewer = replace(found, points=(replace(first, trials=first.trials[:1]), *rest))
    wide, narrow = (fewer.bound(Place(value)) for value in fewer.asked.axis.values[:2])
    assert wide is not None and narrow is not None
    assert wide == pytest.approx(math.log1p(fewer.noise.bound(1, 3))) and wide > narrow
    assert any(" to " in one and "by the runs at a step" in one for one in sweep_report.told(fewer))


def test_every_run_is_kept_with_its_step(tmp_path: Path) -> None:
    found = walked(tmp_path, "memory=4GiB..24GiB", 3)
    answer = Store(tmp_path / "results.duckdb").sql(
        "SELECT label, engine, runs, median FROM swept WHERE metric = 'ops_per_s' "
        "ORDER BY value, engine"
    )
    assert [row[:3] for row in answer.rows] == [
        (label, engine, 2) for label in ("4GiB", "14GiB", "24GiB") for engine in ("btree", "lsm")
    ]
    spread = found.points[0].spread("ops_per_s")
    assert spread is not None and spread.median in {row[3] for row in answer.rows}


def test_a_step_in_whose_memory_nothing_fits_says_so(tmp_path: Path) -> None:
    found = walked(tmp_path, "memory=1MiB,8GiB")
    errors = [point.error for point in found.points]
    assert errors == ["no settings fit the memory"] * 2 + [""] * 2
    assert found.crossovers() == []


def test_a_knob_changes_its_own_engine_alone(tmp_path: Path) -> None:
    found = walked(tmp_path, "innodb_io_capacity=200,2000")
    seen = [point.settings.get("innodb_io_capacity") for point in found.points]
    assert seen == [None, 200, None, 2000]


def test_a_sweep_that_is_stopped_keeps_its_steps(tmp_path: Path) -> None:
    made: list[Point] = []
    profile = problem(hardware="nvme-2024")
    asked = Asked("s", profile, parse_axis("memory=4GiB..24GiB", 5), profile.engines)
    found = sweep(
        asked,
        Store(tmp_path / "results.duckdb"),
        on_point=lambda number, point: made.append(point),
        stopped=lambda: len(made) >= 4,
        core=Crossing(),
    )
    assert len(found.points) == 4 and not found.is_whole
    assert "interrupted" in " ".join(sweep_report.told(found))


def test_retuned_each_step_is_a_study_of_its_own(tmp_path: Path) -> None:
    found = walked(tmp_path, "memory=4GiB,20GiB", retune=12)
    store = Store(tmp_path / "results.duckdb")
    assert {study.name for study in store.studies()} == {"s: 4GiB", "s: 20GiB"}
    assert all(point.trials for point in found.points)


def test_close_steps_are_studies_of_their_own_too(tmp_path: Path) -> None:
    found = walked(tmp_path, "memory=4096MiB,4097MiB,5GiB", retune=10)
    assert found.is_whole
    assert {study.name for study in Store(tmp_path / "results.duckdb").studies()} == {
        "s: 4GiB (4294967296)",
        "s: 4GiB (4296015872)",
        "s: 5GiB",
    }


@pytest.mark.parametrize(
    ("over", "changes"),
    [
        ("memory=1MiB,4GiB,20GiB", {}),
        ("innodb_io_capacity=200,2000", {"current": {"btree": {"innodb_doublewrite": False}}}),
        ("compression=kZSTD,kNoCompression", {}),
        ("memory=4GiB,20GiB", {"retune": 12}),
    ],
    ids=["what does not fit", "a knob", "a knob without an order", "retuned"],
)
def test_a_stored_sweep_says_what_it_said(
    tmp_path: Path, over: str, changes: dict[str, Any]
) -> None:
    found = walked(tmp_path, over, **changes)
    again = stored("s", Store(tmp_path / "results.duckdb"))
    assert again.asked == found.asked
    assert again.is_whole
    assert [replace(one, trials=()) for one in again.points] == [
        replace(one, trials=()) for one in found.points
    ]
    assert again.crossovers() == found.crossovers()
    assert sweep_report.markdown(again) == sweep_report.markdown(found)


def test_a_sweep_that_is_not_there_or_says_too_little_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path / "results.duckdb")
    store.add_sweep(SweepRecord("old", "memory", "maximize ops_per_s", "simulated", 1, {}))
    with pytest.raises(InputError, match="no sweep 'new'; accepted: old"):
        stored("new", store)
    with pytest.raises(InputError, match="does not say what was asked; accepted: the view swept"):
        stored("old", store)


@pytest.mark.parametrize("retune", [None, 12])
def test_a_step_that_is_dropped_leaves_those_before_it(tmp_path: Path, retune: int | None) -> None:
    begun: list[float] = []

    def drop_second(value: float, drop: Callable[[], None]) -> None:
        begun.append(value)
        if len(begun) == 2:
            drop()

    profile, store = problem(hardware="nvme-2024"), Store(tmp_path / "results.duckdb")
    axis = parse_axis("memory=4GiB..24GiB", 5)
    asked = Asked("s", profile, axis, profile.engines, retune=retune)
    with pytest.raises(Cancelled):
        sweep(asked, store, on_step=drop_second, core=Crossing())
    left = stored("s", store)
    assert {point.value for point in left.points} == {axis.values[0]} and not left.is_whole


@pytest.mark.parametrize("retune", [None, 12])
def test_a_sweep_that_was_interrupted_goes_on_as_if_it_had_not_been(
    tmp_path: Path, retune: int | None
) -> None:
    whole, core = walked(tmp_path / "whole", "memory=4GiB,12GiB,20GiB", retune=retune), Crossing()
    asked, store = whole.asked, Store(tmp_path / "results.duckdb")
    made: list[Point] = []
    sweep(
        asked,
        store,
        on_point=lambda number, point: made.append(point),
        stopped=lambda: len(made) >= 2,
        core=core,
    )
    with duckdb.connect(str(store.path)) as connection:
        # As a process leaves it that is killed between two points of a place.
        of = "SELECT id FROM trial WHERE engine = 'btree'"
        connection.execute(f"DELETE FROM sweep_run WHERE trial IN ({of})")
        connection.execute("DELETE FROM sweep_point WHERE engine = 'btree'")
    told: list[int] = []
    found = sweep(asked, store, on_point=lambda number, point: told.append(number), core=core)
    assert found.is_whole and told == [1, 2, 3, 4, 5, 6]
    assert [replace(one, trials=()) for one in found.points] == [
        replace(one, trials=()) for one in whole.points
    ]
    assert found.crossovers() == whole.crossovers() == stored("s", store).crossovers()
    runs = len(core.specs)
    assert sweep(asked, store, core=core).points == stored("s", store).points
    assert len(core.specs) == runs, "what is whole runs no more"


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"seed": 2}, "sweep s:seed: found 2; accepted: 1 as stored, or a new name"),
        ({"runs": 3}, "sweep s:runs: found 3; accepted: 2 as stored"),
        ({"goal": "minimize p99_us"}, "sweep s:goal: found minimize p99_us"),
    ],
)
def test_another_question_of_the_name_of_a_sweep_is_refused(
    tmp_path: Path, other: dict[str, Any], says: str
) -> None:
    walked(tmp_path, "memory=4GiB,20GiB")
    with pytest.raises(InputError, match=re.escape(says)):
        walked(tmp_path, "memory=4GiB,20GiB", **other)


def test_a_sweep_of_a_machine_that_lacks_newer_figures_goes_on(tmp_path: Path) -> None:
    walked(tmp_path, "memory=4GiB,20GiB")
    with duckdb.connect(str(tmp_path / "results.duckdb")) as connection:
        (before,) = connection.execute("SELECT asked FROM sweep").fetchone() or ("",)
        older = json.loads(before)
        del older["profile"]["hardware"]["statement_cold_us"]
        connection.execute("UPDATE sweep SET asked = ?", [json.dumps(older)])
    assert walked(tmp_path, "memory=4GiB,20GiB").is_whole


def test_a_measured_sweep_goes_on_where_it_was_begun_alone(tmp_path: Path) -> None:
    found = walked(tmp_path, "memory=4GiB,20GiB")
    store = Store(tmp_path / "results.duckdb")
    elsewhere = replace(found.asked, name="m", clock="measured")
    store.add_sweep(replace(store.sweeps()[0], name="m", clock="measured"))
    there = replace(found.points[0].trials[0], id=str(uuid4()), host="elsewhere")
    point = SweepPoint(4.0 * GIB, "lsm", {}, "")
    store.add_swept("m", point, ("4GiB", None), (there,))
    with pytest.raises(InputError, match="accepted: elsewhere, or a new name"):
        sweep(elsewhere, store, core=Crossing())


def test_a_study_and_a_sweep_share_no_name(tmp_path: Path) -> None:
    walked(tmp_path, "memory=4GiB,20GiB")
    with pytest.raises(InputError, match="a sweep of this name"):
        Store(tmp_path / "results.duckdb").add_study(record("s"))


def test_one_process_at_a_time_makes_a_sweep(tmp_path: Path) -> None:
    path = tmp_path / "results.duckdb"
    with leased(path, "s", "sweep"), pytest.raises(InputError, match=r"a sweep that .* is running"):
        walked(tmp_path, "memory=4GiB,20GiB")


def test_the_report_shows_each_step_and_the_crossover(tmp_path: Path) -> None:
    found = walked(tmp_path, "memory=4GiB..24GiB")
    text, provenance = sweep_report.markdown(found).split("## Provenance")
    assert "| Hardware | nvme-2024 |" in provenance and "| First seed | 1 |" in provenance
    assert text.count("\n| ") == 2 + 5
    assert "B-tree overtakes LSM at memory 1" in text
    assert "simulated, 2 runs at each step" in text.lower()
    assert bar(1.0, 2.0) == "█" * 12
    assert bar(None, 2.0) == ""
