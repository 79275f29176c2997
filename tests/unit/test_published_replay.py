"""Replaying on a core that answers in closed form: what is run, compared and judged."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from advisor.core import Cancelled, DiskFull
from advisor.errors import WorkError
from advisor.published import (
    NO_FIGURES,
    Budget,
    Experiment,
    Progress,
    Replay,
    experiment,
    replay,
    replay_all,
    scorecard,
    unreplayed,
)
from advisor.published.observation import Observation
from advisor.published.runs import Failure, Runs, attempt
from advisor.scale import Scale

Spec = dict[str, Any]
Report = dict[str, Any]


def fake(spec: Spec, *, cancelled: Callable[[], bool] | None = None) -> Report:
    """An LSM that writes little and a B-tree that writes ten times as much and takes thrice the
    space, the more slowly the smaller its cache is."""
    btree = spec["engine"] == "btree"
    zlib = spec["options"].get("key_block_size", 0) > 0
    pool = spec["options"].get("innodb_buffer_pool_size", 0)
    size = {(False, False): 1.0, (True, False): 3.1, (True, True): 2.0}[btree, zlib] * 1e6
    metrics = {
        "ops_per_s": 1000.0 + pool / 1e5 if btree else 2000.0,
        "write_kb_per_op": (8.4 if zlib else 10.4) if btree else 1.0,
        "read_kb_per_op": 10.0,
        "reads_per_op": 2.0 if btree else 1.0,
        "disk_bytes": size,
        "flash_waf": 1.0 + spec["hardware"]["device"].get("fullness", 0.0),
        "p99_us": 100.0,
        "max_us": 1000.0,
        "cpu_us_per_op": 100.0,
        "stall_s": 0.0,
    }
    intervals = [
        {"phase": "load", "seconds": 1.0, "operations": 10, "disk_bytes": size},
        *(
            {"phase": "run", "seconds": 1.0, "operations": rate, "disk_bytes": size}
            for rate in range(200, 100, -1)
        ),
    ]
    load = {"seconds": 2.0, "operations": 100}
    return {"metrics": metrics, "intervals": intervals, "load": load}


def failing_for_zlib(spec: Spec, *, cancelled: Callable[[], bool]) -> Report:
    if spec["options"].get("key_block_size", 0) > 0:
        raise WorkError("the engine is poisoned")
    return fake(spec)


def of(name: str, run: Any = fake) -> Replay:
    return replay(experiment(name), run=run, workers=1)


def simulated(one: Replay, metric: str) -> float | None:
    return next(row.simulated for row in one.rows if row.metric == metric)


def test_a_ratio_stands_beside_the_published_one() -> None:
    row = of("linkbench-flash").rows[0]
    assert row.metric == "write_kb_per_op innodb.none / myrocks"
    assert row.published is not None and row.published.value == 10.4
    assert row.simulated == pytest.approx(10.4)
    assert row.ratio == pytest.approx(1.0)


def test_the_document_has_the_shape_that_is_promised() -> None:
    document = of("linkbench-flash").document()
    assert set(document) == {"name", "scale", "rows", "claims"}
    assert all(
        set(row) == {"metric", "published", "simulated", "ratio"} for row in document["rows"]
    )
    assert all(set(claim) == {"id", "text", "holds"} for claim in document["claims"])
    assert {claim["holds"] for claim in document["claims"]} <= {True, False, None}


def test_claims_are_judged_by_the_simulated_figures() -> None:
    holds = {verdict.claim.id: verdict.holds for verdict in of("linkbench-flash").claims}
    assert holds["G3"] is True  # writes 10.4 and 8.4 times as much
    assert holds["G5"] is True  # reads least
    assert holds["G2"] is False  # twice the space is not more than twice
    assert holds["G7"] is None  # an example


def test_before_its_first_run_an_experiment_has_its_published_figures() -> None:
    one, done = unreplayed(experiment("linkbench-flash")), of("linkbench-flash")
    assert [(row.metric, row.published) for row in one.rows] == [
        (row.metric, row.published) for row in done.rows
    ]
    assert one.is_empty and one.factor == done.factor and not one.is_whole
    whys = {verdict.claim.id: verdict.why for verdict in one.claims}
    assert whys["G3"] == NO_FIGURES != whys["G7"]


def test_a_replay_fills_with_each_run_and_ends_as_it_is_given() -> None:
    seen: list[Replay] = []
    (done,) = replay_all([experiment("linkbench-flash")], run=fake, workers=1, filling=seen.append)
    figures = [sum(row.simulated is not None for row in one.rows) for one in seen]
    assert figures == sorted(figures) and figures[0] < figures[-1]
    assert len(seen) == len(experiment("linkbench-flash").runs)
    assert (seen[-1].rows, seen[-1].claims) == (done.rows, done.claims)


def test_a_failed_run_leaves_its_rows_empty_and_is_noted() -> None:
    one = of("linkbench-flash", failing_for_zlib)
    assert simulated(one, "write_kb_per_op innodb.zlib / myrocks") is None
    assert simulated(one, "write_kb_per_op innodb.none / myrocks") is not None
    unlogged = "innodb.zlib without a binary log"
    assert f"innodb.zlib, {unlogged}: no result: the engine is poisoned" in one.notes
    assert {verdict.claim.id: verdict.holds for verdict in one.claims}["G3"] is None


def test_a_simulated_device_that_is_full_is_a_failure_of_that_run_alone() -> None:
    def full(spec: Spec, *, cancelled: Callable[[], bool]) -> Report:
        if spec["engine"] == "lsm":
            return fake(spec)
        raise DiskFull("no space left")

    one = of("linkbench-50gb", full)
    assert "innodb.none: no result: no space left" in one.notes
    assert simulated(one, "ops_per_s myrocks") == 2000


def test_a_run_that_meets_its_bound_on_operations_is_noted() -> None:
    def busy(spec: Spec, *, cancelled: Callable[[], bool]) -> Report:
        met = spec["operations"] if spec["engine"] == "lsm" else 10
        return fake(spec) | {"operations": met}

    noted = [note for note in of("linkbench-50gb", busy).notes if "operations" in note]
    assert noted == ["myrocks: ended after 300,000 operations"]


def test_a_run_that_is_cut_short_is_a_failure_and_not_a_figure() -> None:
    def endless(spec: Spec, *, cancelled: Callable[[], bool]) -> Report:
        raise Cancelled("the run was cancelled")

    assert isinstance(attempt(endless, {}), Failure)


def test_the_device_is_filled_beside_the_database() -> None:
    """72% in all: what the database does not take, others do, and a larger one leaves them less."""
    specs: list[Spec] = []

    def spying(spec: Spec, *, cancelled: Callable[[], bool]) -> Report:
        specs.append(spec)
        return fake(spec)

    one = of("flash-waf", spying)
    fullness = {
        (spec["engine"], spec["options"].get("key_block_size", 0)): spec["hardware"]["device"][
            "fullness"
        ]
        for spec in specs[3:]
    }
    lsm = 0.72 - 1e6 / one.factor / 3.2e12
    assert [spec["hardware"]["device"]["fullness"] for spec in specs[:3]] == [0.0] * 3
    assert fullness["lsm", 0] == pytest.approx(lsm)
    assert fullness["btree", 0] == pytest.approx(lsm - 2.1e6 / one.factor / 3.2e12)


def test_sizes_are_carried_back_to_full_size() -> None:
    one = of("linkbench-flash")
    assert simulated(one, "database_bytes myrocks") == pytest.approx(1e6 / one.factor)


def test_the_crossover_is_where_the_curves_meet() -> None:
    """A B-tree of 35 operations per second and GB of cache passes an LSM of 2000 at 57.1 GB."""
    units = experiment("tpcc-memory-sweep").units

    def straight(spec: Spec, *, cancelled: Callable[[], bool]) -> Report:
        report = fake(spec)
        if spec["engine"] == "btree":
            warehouses = spec["workload"]["warehouses"]
            cache_gb = spec["options"]["innodb_buffer_pool_size"] * units / warehouses / 2**30
            report["metrics"]["ops_per_s"] = 35 * cache_gb
        return report

    one = of("tpcc-memory-sweep", straight)
    crossover = "cache in GB where InnoDB overtakes MyRocks"
    assert simulated(one, crossover) == pytest.approx(2000 / 35)


def test_the_end_of_a_run_is_its_last_twentieth() -> None:
    seen = Observation(
        fake({"engine": "lsm", "options": {}, "hardware": {"device": {}}}), Scale(1.0), 8
    )
    rates = list(range(200, 100, -1))
    last = seen.of("last_over_average")
    assert last is not None
    assert last == pytest.approx(sum(rates[-8:]) / 8 / (sum(rates) / 100), rel=0.01)


def test_what_a_report_does_not_hold_is_absent() -> None:
    empty = Observation({"metrics": {}, "intervals": []}, Scale(0.5), 8)
    for metric in ("flash_waf", "disk_bytes", "loaded_bytes", "speed_up", "last_over_average"):
        assert empty.of(metric) is None


def test_two_experiments_share_the_runs_that_they_have_in_common() -> None:
    made: list[Spec] = []

    def counting(spec: Spec, *, cancelled: Callable[[], bool]) -> Report:
        made.append(spec)
        return fake(spec)

    day = experiment("linkbench-flash")
    first, second = replay_all([day, day], run=counting, workers=1)
    assert len(made) == len(day.runs)
    assert first == second


def test_the_order_in_which_runs_end_changes_nothing() -> None:
    """Runs that end in an order drawn at random give the report of runs one after the other."""
    specs: list[Spec] = [
        {"engine": "lsm", "options": {}, "hardware": {"device": {}}, "seed": seed}
        for seed in range(8)
    ]
    gates = [threading.Event() for _ in specs]

    def gated(spec: Spec, *, cancelled: Callable[[], bool]) -> Report:
        gates[spec["seed"]].wait()
        return {"seed": spec["seed"]}

    order = list(range(8))
    random.Random(3).shuffle(order)
    ended = iter(order)

    def open_next() -> None:
        following = next(ended, None)
        if following is not None:
            gates[following].set()

    open_next()
    with ThreadPoolExecutor(len(specs)) as pool:
        outcomes = Runs(gated, pool).outcomes(specs, open_next)
    assert outcomes == [{"seed": seed} for seed in range(8)]


def test_progress_counts_every_run() -> None:
    told: list[Progress] = []
    replay(experiment("flash-waf"), run=fake, workers=1, progress=told.append)
    assert told == [Progress("flash-waf", done, 6) for done in range(7)]


def test_the_scorecard_shows_failures_as_plainly_as_successes() -> None:
    text = scorecard([of("linkbench-flash"), of("flash-waf", failing_for_zlib)])
    assert "| write_kb_per_op innodb.none / myrocks | 10.4 | 10.4 | 1.00 |" in text
    assert "| G2 | fails |" in text
    assert "| F2 | no answer |" in text
    assert "no result: the engine is poisoned" in text


def test_a_larger_budget_shrinks_less() -> None:
    small, large = (
        replay(experiment("linkbench-flash"), budget=Budget(seconds), run=fake, workers=1).factor
        for seconds in (2.0, 20.0)
    )
    assert small < large


def test_an_interrupted_replay_keeps_the_figures_that_it_has_and_begins_no_other() -> None:
    made: list[Spec] = []

    def counted(spec: Spec, *, cancelled: Callable[[], bool]) -> Report:
        made.append(spec)
        return fake(spec)

    chosen = [experiment("linkbench-flash"), experiment("flash-waf"), experiment("memtable-sweep")]
    whole = len(replay_specs(chosen[0]))
    found = list(replay_all(chosen, run=counted, workers=1, interrupted=lambda: len(made) > whole))
    assert [one.is_whole for one in found] == [True, False]
    assert len(made) == whole + 1
    assert any("no result: interrupted" in note for note in found[1].notes)
    assert "**Partial**: interrupted" in scorecard(found, ["flash-waf", "memtable-sweep"])


def test_an_experiment_without_any_figure_by_the_interrupt_is_left_out() -> None:
    assert (
        list(replay_all([experiment("flash-waf")], run=fake, workers=1, interrupted=lambda: True))
        == []
    )


def replay_specs(one: Experiment) -> list[Spec]:
    made: list[Spec] = []

    def counted(spec: Spec, *, cancelled: Callable[[], bool]) -> Report:
        made.append(spec)
        return fake(spec)

    replay(one, run=counted, workers=1)
    return made
