"""Things side by side: who is better than the first, told from noise, and what is not compared."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from advisor.compare import Side, SideBySide, compare
from advisor.errors import InputError
from advisor.goal import METRICS
from advisor.search import Candidate
from advisor.store import Store
from advisor.trial import Problem
from tests.support.problems import record, trial
from tui import format as fmt

PROBLEM = Problem({"kind": "linkbench", "ids": 1}, 20 << 30, 4 << 30, 16)


def side(name: str, metrics: Sequence[dict[str, float]], **changes: Any) -> Side:
    """A side of so many runs."""
    problem = changes.pop("problem", PROBLEM)
    trials = tuple(trial(metrics=one, **changes) for one in metrics)
    candidate = Candidate(trials[0].engine, trials[0].settings, trials)
    return Side(name, "run", candidate, (candidate,), problem)


def told(metric: str, before: Sequence[float], after: Sequence[float]) -> str:
    """The verdict of these runs against those."""
    first, second = ([{metric: value} for value in values] for values in (before, after))
    (row,) = SideBySide((side("a", first), side("b", second))).rows
    return str(row.verdicts[0])


def test_what_repetitions_tell_apart_is_better_or_worse_in_the_metrics_own_direction() -> None:
    low, high = (100.0, 101.0, 99.0), (150.0, 151.0, 149.0)
    assert told("ops_per_s", low, high) == "better by 50% (noise ±2.2%)"
    assert told("p99_us", low, high) == "worse by 50% (noise ±2.2%)"
    assert told("p99_us", high, low) == "better by 33% (noise ±2.2%)"


def test_what_repetitions_do_not_tell_apart_is_within_noise() -> None:
    assert told("ops_per_s", (100.0, 120.0), (105.0, 125.0)).startswith("within noise (±")


def test_a_single_run_gives_no_verdict_but_the_change() -> None:
    assert told("ops_per_s", (100.0, 101.0), (150.0,)) == "from a single run: +49%"
    assert told("p99_us", (100.0,), (50.0,)) == "from a single run: -50%"
    assert told("erases", (0.0,), (0.0,)) == "from a single run: the same"


def test_what_was_0_has_no_ratio() -> None:
    assert told("stall_s", (0.0, 0.0), (2.0, 2.1)) == "was 0: no ratio"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"clock": "simulated"}, "simulated against measured: not compared"),
        ({"workload": "ycsb"}, "ycsb against linkbench: not compared"),
        (
            {"problem": replace(PROBLEM, workload={"kind": "linkbench", "ids": 2})},
            "linkbench with another ids: not compared",
        ),
    ],
)
def test_numbers_of_another_clock_or_workload_get_no_verdict(
    changes: dict[str, Any], why: str
) -> None:
    runs = [{"ops_per_s": 1.0}, {"ops_per_s": 2.0}]
    found = SideBySide((side("a", runs), side("b", runs, **changes), side("c", runs)))
    assert found.refusals == (why, "")
    (row,) = found.rows
    assert row.values == (1.5, 1.5, 1.5)
    assert row.verdicts[0] is None
    assert row.verdicts[1] is not None
    assert found.notes == (f"b and a: {why}",)


def test_a_metric_that_one_did_not_measure_stands_there_without_a_verdict() -> None:
    found = SideBySide((side("a", [{"ops_per_s": 1.0}]), side("b", [{"p99_us": 2.0}])))
    assert [(row.metric, row.values) for row in found.rows] == [
        ("ops_per_s", (1.0, None)),
        ("p99_us", (None, 2.0)),
    ]
    assert all(row.verdicts == (None,) for row in found.rows)


def test_metrics_stand_in_the_order_of_the_reports() -> None:
    everything = dict.fromkeys(reversed(METRICS), 1.0) | {"new_one": 1.0}
    found = SideBySide((side("a", [everything]), side("b", [everything])))
    assert [row.metric for row in found.rows] == [*fmt.METRICS, "new_one"]


def test_a_run_that_failed_has_no_numbers_and_says_why() -> None:
    broken = side("b", [{}], outcome="failed", error="the disk broke")
    found = SideBySide((side("a", [{"ops_per_s": 1.0}]), broken))
    assert broken.remark == "failed: the disk broke"
    assert found.rows[0].values == (1.0, None)


def test_settings_that_differ_are_told_for_each_engine_that_two_have() -> None:
    runs = [{"ops_per_s": 1.0}]
    small, large = ({"block_cache": size, "sync": False} for size in (1, 2))
    found = SideBySide(
        (
            side("a", runs, settings=small),
            side("b", runs, engine="btree", settings={"innodb_io_capacity": 1}),
            side("c", runs, settings=large),
        )
    )
    (apart,) = found.apart
    assert (apart.engine, apart.places) == ("lsm", (0, 2))
    assert apart.knobs == {"block_cache": (1, 2)}


def test_a_knob_that_came_later_is_absent_in_the_older_run() -> None:
    runs = [{"ops_per_s": 1.0}]
    old, new = side("a", runs, settings={}), side("b", runs, settings={"block_cache": 1})
    assert SideBySide((old, new)).apart[0].knobs == {"block_cache": (None, 1)}


def test_what_differs_besides_the_settings_is_noted() -> None:
    runs = [{"ops_per_s": 1.0}]
    other = side("b", runs, scale=0.25, problem=replace(PROBLEM, memory_bytes=1))
    assert SideBySide((side("a", runs), other)).notes == (
        "b and a differ in more than settings: scale, memory",
    )
    old = side("c", runs, problem=None)
    assert "c: stored without" in SideBySide((side("a", runs), old)).notes[-1]


def test_commits_that_are_not_as_durable_are_noted() -> None:
    runs = [{"ops_per_s": 1.0}]
    safe, unsafe = (side(str(sync), runs, settings={"sync": sync}) for sync in (True, False))
    assert SideBySide((safe, unsafe)).notes == (
        "commits survive a power failure in True and not in False",
    )


def test_engines_without_the_calls_of_products_are_told_to_be_our_own() -> None:
    runs = [{"ops_per_s": 1.0}]
    both = (side("a", runs), side("b", runs, engine="btree"))
    assert any("own engines" in note for note in SideBySide(both).notes)
    real = tuple(replace(one, candidate=_of_clock(one, "real")) for one in both)
    assert not any("own engines" in note for note in SideBySide(real).notes)


def _of_clock(one: Side, clock: str) -> Candidate:
    trials = tuple(replace(trial, clock=clock) for trial in one.trials)
    return replace(one.candidate, trials=trials)


def test_a_run_has_the_percentile_of_the_operation_that_the_other_ones_goal_spoke_of(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path / "results.duckdb")
    name, asked, seen = "p99_us[get]", {"get": {"p99_us": 10.0}}, {"get": {"p99_us": 20.0}}
    of_goal = store.add_trial(trial(metrics={"ops_per_s": 1.0, name: 10.0}, by_operation=asked))
    other = store.add_trial(trial(metrics={"ops_per_s": 1.0}, by_operation=seen))
    rows = {row.metric: row for row in compare([of_goal.id, other.id], store).rows}
    assert rows[name].values == (10.0, 20.0)
    told = rows[name].verdicts[0]
    assert told is not None and told.gain == -1.0


def test_runs_are_found_by_the_beginning_of_their_id(tmp_path: Path) -> None:
    store = Store(tmp_path / "results.duckdb")
    first, second = (store.add_trial(trial(problem=PROBLEM)) for _ in range(2))
    found = compare([first.id[:13], second.id], store)
    assert [one.name for one in found.sides] == [first.id[:8], second.id[:8]]
    assert [one.problem for one in found.sides] == [PROBLEM, PROBLEM]


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ((), "no names"),
        (("{id}",), "only"),
        (("{id}", "{id}"), "twice"),
        (("{id}", "zzz"), "no trial"),
        (("{id}", ""), "more than one"),
    ],
)
def test_names_that_cannot_be_compared_are_refused(
    names: tuple[str, ...], why: str, tmp_path: Path
) -> None:
    store = Store(tmp_path / "results.duckdb")
    store.add_study(record())
    one, _ = (store.add_trial(trial()) for _ in range(2))
    with pytest.raises(InputError, match=why):
        compare([name.format(id=one.id) for name in names], store)
