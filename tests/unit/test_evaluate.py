"""A trial: the budget is checked first, the spec is scaled, the scratch folder is removed."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from advisor.core import DiskFull
from advisor.errors import InputError
from advisor.evaluate import FEWEST_COMMITS, Refused, Setup, evaluate, largest_cache
from advisor.knobs import defaults
from advisor.memory_need import needed_parts
from advisor.real import Library, Server
from advisor.scale import Scale
from advisor.steadiness import backlog_notes, debt_notes
from tests.support.fake_core import FakeCore, RunError, SpecError
from tests.support.problems import GIB, problem


def setup(folder: Path, core: FakeCore, **changes: Any) -> Setup:
    fields = {"profile": problem(), "scale": Scale(1 / 256), "seconds": 1.0, "directory": folder}
    return Setup(**(fields | {"core": core} | changes))


def test_settings_that_do_not_fit_the_memory_cost_no_run(tmp_path: Path) -> None:
    core = FakeCore()
    trial = evaluate(setup(tmp_path, core), "lsm", {"block_cache": 5 * GIB}, seed=1)
    assert trial.outcome == "rejected"
    assert "the profile has 4GiB" in str(trial.error)
    assert core.specs == []


def test_memory_is_counted_as_the_settings_have_it_however_files_are_opened(
    tmp_path: Path,
) -> None:
    core = FakeCore()
    # Each of twelve compactions would read 19 tables ahead.
    many = {"max_background_jobs": 16, "level0_file_num_compaction_trigger": 18}
    small = problem(memory="1GiB")
    room = largest_cache(small, "lsm", {**defaults("lsm"), **many})
    assert room is not None
    full = {**many, "block_cache": room}
    held = setup(tmp_path, core, profile=small)
    buffered = evaluate(held, "lsm", full, seed=1)
    direct = evaluate(replace(held, direct_io=True), "lsm", full, seed=1)
    assert [trial.outcome for trial in (buffered, direct)] == ["finished"] * 2
    assert direct.budget_bytes == buffered.budget_bytes
    assert direct.settings == buffered.settings
    assert [spec["options"]["use_direct_reads"] for spec in core.specs] == [False, True]
    said = evaluate(held, "lsm", {**full, "use_direct_reads": True}, seed=1)
    assert said.outcome == "rejected"
    assert "compactions (max_background_jobs, use_direct_reads" in str(said.error)


def test_a_prediction_of_a_server_is_of_what_the_server_has(tmp_path: Path) -> None:
    core = FakeCore()
    server = Server("mariadbd", "innodb", "mariadb-10.11")
    asked = {"innodb_compression_algorithm": "zstd", "innodb_io_capacity": 300}
    predicts = setup(tmp_path, core, clock="simulated", real=server)
    trial = evaluate(predicts, "btree", asked, seed=1)
    options = core.specs[0]["options"]
    assert (options["innodb_compression_algorithm"], options["innodb_io_capacity"]) == ("none", 300)
    assert trial.settings["innodb_compression_algorithm"] == "zstd"
    assert any(note.startswith("innodb_compression_algorithm: ") for note in trial.notes)


def test_the_spec_is_scaled_and_the_trial_is_not(tmp_path: Path) -> None:
    core = FakeCore()
    trial = evaluate(setup(tmp_path, core), "lsm", {"block_cache": GIB}, seed=7)
    spec = core.specs[0]
    assert trial.settings["block_cache"] == GIB
    assert spec["options"]["block_cache"] == GIB // 256
    ids = 20 * GIB // 256 // 800
    assert spec["workload"] == {"kind": "linkbench", "ids": ids, "load_batch_rows": 64}
    assert (spec["seed"], spec["clients"], spec["seconds"]) == (7, 4, 1.0)


def test_a_real_engine_loads_in_batches_of_the_usual_size(tmp_path: Path) -> None:
    core = FakeCore()
    library = Library("librocksdb.so")
    evaluate(setup(tmp_path, core, clock="real", real=library, operations=100), "lsm", {}, seed=1)
    assert "load_batch_rows" not in core.specs[0]["workload"]


def test_a_paced_trial_lasts_until_it_has_as_many_operations_as_others(tmp_path: Path) -> None:
    core = FakeCore()
    for rate in (0, 20_000, 10_000_000):
        paced = problem(workload={"kind": "key_value", "requests_per_second": rate})
        simulated = setup(tmp_path, core, profile=paced, clock="simulated")
        evaluate(simulated, "lsm", {}, seed=1)
    assert [spec["seconds"] for spec in core.specs] == [1.0, 5.0, 1.0]
    assert {spec["operations"] for spec in core.specs} == {100_000}
    assert [spec["warmup"]["most_seconds"] for spec in core.specs] == [2.0, 10.0, 2.0]


def test_a_transaction_of_many_statements_counts_as_many(tmp_path: Path) -> None:
    core = FakeCore()
    for workload in (
        {"kind": "linkbench"},
        {"kind": "sysbench", "script": "oltp_point_select"},
        {"kind": "sysbench", "script": "oltp_read_only"},
        {"kind": "tpcc"},
    ):
        asked = setup(tmp_path, core, profile=problem(workload=workload), clock="simulated")
        evaluate(asked, "lsm", {}, seed=1)
    assert [spec["operations"] for spec in core.specs] == [100_000, 100_000, 7_142, 5_000]


def test_filters_are_reckoned_by_keys_and_not_by_ids() -> None:
    found = needed_parts(problem(), "lsm", {"filter_policy": "bloomfilter:10:false"})
    assert {part.name: part.bytes for part in found}["filters"] == problem().keys * 10 // 8
    assert problem().keys == 11 * problem().units


def test_a_scaled_trial_says_what_it_stands_for(tmp_path: Path) -> None:
    core = FakeCore()
    for kind in ("ycsb", "tpcc"):
        one = problem(workload={"kind": kind})
        evaluate(setup(tmp_path, core, profile=one, scale=Scale(1 / 512)), "lsm", {}, seed=1)
    assert [spec["scale"] for spec in core.specs] == [{"stands_for": 512}] * 2
    _, tpcc = (spec["workload"] for spec in core.specs)
    assert (tpcc["warehouses"], tpcc["items"], tpcc["customers_per_district"]) == (1, 57171, 1715)


UNSTEADY = {
    "steady": False,
    "steadiness": {
        "is_warm": False,
        "changed_in_warmup": [{"series": "ops_per_s", "from": 1234.56, "to": 999.4}],
        "changed_in_run": [],
    },
}


def test_a_trial_warms_up_until_it_is_steady_within_twice_its_length(tmp_path: Path) -> None:
    core = FakeCore()
    evaluate(setup(tmp_path, core), "lsm", {}, seed=1)
    evaluate(setup(tmp_path, core, clock="simulated"), "lsm", {}, seed=1)
    measured, simulated = (spec["warmup"] for spec in core.specs)
    assert measured == {"most_seconds": 2.0}
    operations = core.specs[1]["operations"]
    assert simulated == {"most_seconds": 2.0, "most_operations": 2 * operations}


def test_a_trial_that_is_not_yet_steady_says_what_changed(tmp_path: Path) -> None:
    trial = evaluate(setup(tmp_path, FakeCore(steadiness=UNSTEADY)), "lsm", {}, seed=1)
    changed = "ops_per_s went from 1,235 to 999"
    assert trial.steady is False
    assert f"not yet steady when the warm-up's budget ended: {changed}" in trial.notes


def test_a_run_too_short_to_tell_says_so(tmp_path: Path) -> None:
    seen = {"is_warm": True, "changed_in_warmup": [], "changed_in_run": None}
    core = FakeCore(steadiness={"steady": False, "steadiness": seen})
    trial = evaluate(setup(tmp_path, core), "lsm", {}, seed=1)
    assert "not yet steady while it was measured: too short to tell" in trial.notes


@pytest.mark.parametrize("charged, told", [(0.5, True), (0.01, False), (0.0, False), (None, False)])
def test_a_charge_for_work_left_undone_is_told(charged: float | None, told: bool) -> None:
    report: Any = {"seconds": 1.25, "metrics": {"debt_s": charged} if charged is not None else {}}
    words = "left work undone that would take 0.5 s beside its 1.2 s"
    assert list(debt_notes(report)) == ([words] if told else [])


@pytest.mark.parametrize("behind, told", [(3.5, True), (0.1, False), (0.0, False), (None, False)])
def test_a_rate_of_requests_that_was_not_kept_is_told(behind: float | None, told: bool) -> None:
    report: Any = {"seconds": 10.0, "metrics": {"backlog_s": behind} if behind is not None else {}}
    words = "did not keep its rate of requests: 3.5 s behind after 10 s"
    assert list(backlog_notes(report)) == ([words] if told else [])


def test_a_longer_trial_has_more_seconds_and_operations(tmp_path: Path) -> None:
    core = FakeCore()
    seen = evaluate(setup(tmp_path, core, clock="simulated", times=3.0), "lsm", {}, seed=1)
    (spec,) = core.specs
    assert (seen.seconds, spec["seconds"], spec["operations"]) == (3.0, 3.0, 300_000)
    assert spec["warmup"] == {"most_seconds": 6.0, "most_operations": 600_000}


def test_every_client_commits_several_times_where_a_commit_is_many_operations(
    tmp_path: Path,
) -> None:
    """Of slow settings each of 16 clients had made one commit of 1,000 rows, and the insert
    benchmark ran 20,000 rows a second with all of them."""
    core = FakeCore()
    for rows in (1, 1000, 10_000):
        workload = {"kind": "insert_benchmark", "rows_per_commit": rows}
        one = problem(workload=workload)
        evaluate(setup(tmp_path, core, profile=one, clock="simulated"), "lsm", {}, seed=1)
    commits = FEWEST_COMMITS * one.clients
    most = [spec["operations"] for spec in core.specs]
    assert most == [100_000, 100_000, commits * 10_000]
    assert [spec["seconds"] for spec in core.specs] == [1.0, 8.0, 8.0]
    assert core.specs[2]["warmup"] == {"most_seconds": 16.0, "most_operations": 2 * most[2]}
    longer = setup(tmp_path, core, profile=one, clock="simulated", times=10.0)
    evaluate(longer, "lsm", {}, seed=1)
    assert (core.specs[3]["seconds"], core.specs[3]["operations"]) == (10.0, 1_000_000)


def test_what_is_compared_with_another_clock_lasts_as_long(tmp_path: Path) -> None:
    core = FakeCore()
    evaluate(setup(tmp_path, core, clock="simulated", to_the_end=True), "lsm", {}, seed=1)
    (spec,) = core.specs
    assert "operations" not in spec and spec["warmup"] == {"most_seconds": 2.0}


@pytest.mark.parametrize("steady", [True, None])
def test_a_steady_trial_and_an_unjudged_one_have_nothing_to_say(
    tmp_path: Path, steady: bool | None
) -> None:
    core = FakeCore(steadiness={"steady": steady, "steadiness": None})
    trial = evaluate(setup(tmp_path, core), "lsm", {}, seed=1)
    assert trial.steady is steady
    assert not any("steady" in note for note in trial.notes)


def test_the_memory_limit_is_a_fifth_above_the_scaled_budget(tmp_path: Path) -> None:
    core = FakeCore()
    evaluate(setup(tmp_path, core), "lsm", {}, seed=1)
    scaled_budget = 4 * GIB // 256
    assert core.specs[0]["memory_limit"] >= 1.2 * scaled_budget


def test_sizes_are_carried_back_and_unmeasured_metrics_are_absent(tmp_path: Path) -> None:
    trial = evaluate(setup(tmp_path, FakeCore()), "lsm", {}, seed=1)
    assert trial.metrics["disk_bytes"] == 256e6
    assert trial.intervals[0]["disk_bytes"] == 256_000_000
    assert "flash_waf" not in trial.metrics


def test_the_scratch_folder_is_removed_after_success_and_failure(tmp_path: Path) -> None:
    def fail(spec: Mapping[str, Any]) -> None:
        assert list(tmp_path.iterdir())
        raise RunError("corruption", False)

    evaluate(setup(tmp_path, FakeCore()), "lsm", {}, seed=1)
    trial = evaluate(setup(tmp_path, FakeCore(fail=fail)), "lsm", {}, seed=1)
    assert (trial.outcome, trial.error) == ("failed", "corruption")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_raised_because_more_trials_would_fail_too(tmp_path: Path) -> None:
    def fail(spec: Mapping[str, Any]) -> None:
        raise RunError("no space left", True)

    with pytest.raises(DiskFull):
        evaluate(setup(tmp_path, FakeCore(fail=fail)), "lsm", {}, seed=1)
    assert list(tmp_path.iterdir()) == []


def test_the_simulation_gets_the_machine_instead_of_a_folder(tmp_path: Path) -> None:
    core = FakeCore()
    trial = evaluate(setup(tmp_path, core, clock="simulated"), "lsm", {}, seed=1)
    assert (trial.clock, trial.hardware) == ("simulated", "sata-ssd-2018")
    assert core.specs[0]["hardware"]["cores"] == 56
    assert "directory" not in core.specs[0]


def test_a_simulated_page_cache_has_the_memory_that_the_settings_leave(tmp_path: Path) -> None:
    core = FakeCore()
    simulated = setup(tmp_path, core, clock="simulated")
    for cache in (8 << 20, 24 << 20):
        trial = evaluate(simulated, "lsm", {"block_cache": cache}, seed=1)
        assert trial.budget_bytes is not None
        left = simulated.profile.memory_bytes - trial.budget_bytes
        assert left > 0
        spec = core.specs[-1]["hardware"]
        assert spec["page_cache_bytes"] == pytest.approx(left * trial.scale, abs=1)


def test_an_unknown_knob_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown knob"):
        evaluate(setup(tmp_path, FakeCore()), "lsm", {"block_cash": 1}, seed=1)


def test_a_scratch_place_that_is_no_folder_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder for temporary files"):
        evaluate(setup(tmp_path / "absent", FakeCore()), "lsm", {}, seed=1)


def test_what_the_core_refuses_is_raised_with_the_trial_that_failed_by_it(tmp_path: Path) -> None:
    def refuse(spec: Mapping[str, Any]) -> None:
        raise SpecError("batch bytes", "9", "at most 8")

    with pytest.raises(Refused, match="batch bytes: found 9; accepted: at most 8") as refused:
        evaluate(setup(tmp_path, FakeCore(fail=refuse)), "lsm", {}, seed=1)
    trial = refused.value.trial
    assert (trial.outcome, trial.error) == ("failed", str(refused.value))
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_takes_too_long_has_failed(tmp_path: Path) -> None:
    given = setup(tmp_path, FakeCore())
    given_up = evaluate(given, "lsm", {}, seed=1, most_wall_seconds=0.0)
    assert given_up.outcome == "failed"
    assert given_up.error == "given up after 0 s of this machine's time"
    assert evaluate(given, "lsm", {}, seed=1, most_wall_seconds=1e9).finished
