"""Calibration: known costs are found again, what runs cannot tell is said, and the profile that is
written is the profile that a simulation takes."""

import typing
from dataclasses import replace
from pathlib import Path

import pytest

from advisor import _core
from advisor.calibration import calibrate, machine, to_toml
from advisor.calibration.fit import Observation, fit
from advisor.calibration.runs import FIXED, RUNS
from advisor.core import Cancelled
from advisor.errors import InputError
from advisor.hardware import (
    FIGURES_VERSION,
    Call,
    Flash,
    Hardware,
    Work,
    hardware,
    processor,
)
from advisor.knobs import catalogue
from advisor.scale import device_spec, machine_spec
from tests.calibration.compare import Case, through_page_cache
from tests.support.calibration_core import WorkingCore
from tests.support.drives import PLACE, drive, probed, storage
from tests.support.fake_core import TURNING_US, WORK_NS

TRUE = {"call": 200.0, "compare": 8.0, "copy_byte": 0.1}
DEFAULTS = {"call": 150.0, "compare": 20.0, "copy_byte": 0.05}
WORK = [
    {"call": 10},
    {"call": 10, "compare": 200},
    {"call": 10, "compare": 20, "copy_byte": 100_000},
]


@pytest.fixture(autouse=True)
def known_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    """`test_drive_probe` asks a real one."""
    monkeypatch.setattr(machine, "probe", probed)


def observed(work: dict[str, int]) -> Observation:
    return Observation(str(work), work, sum(units * TRUE[name] for name, units in work.items()))


def test_known_costs_are_found_again() -> None:
    found = fit([observed(work) for work in WORK], DEFAULTS)
    assert found.work_ns == pytest.approx(TRUE, rel=0.02)
    assert set(found.determined) == set(TRUE)
    assert found.ratios == pytest.approx(dict.fromkeys(found.ratios, 1.0), abs=0.01)


def test_kinds_that_always_come_together_keep_their_proportion_and_are_not_determined() -> None:
    work = [{"call": n, "compare": 10 * n} for n in (1, 2, 5)]
    found = fit([observed(one) for one in work], DEFAULTS)
    assert found.determined == {}
    together = found.work_ns["call"] + 10 * found.work_ns["compare"]
    assert together == pytest.approx(TRUE["call"] + 10 * TRUE["compare"], rel=0.02)


def test_a_kind_that_no_run_did_has_no_cost() -> None:
    assert set(fit([observed({"call": 3})], DEFAULTS).work_ns) == {"call"}


def test_costs_far_from_their_defaults_stay_above_zero() -> None:
    work = [{"call": 1}, {"call": 1, "compare": 1}]
    cheap = [Observation(str(n), one, 3.0) for n, one in enumerate(work)]
    found = fit(cheap, DEFAULTS)
    assert all(cost > 0 for cost in found.work_ns.values())
    assert found.work_ns["compare"] < DEFAULTS["compare"]


def test_the_written_profile_is_this_machine_at_the_fitted_costs(own_config: Path) -> None:
    core = WorkingCore()
    found = calibrate(core=core)
    assert len(core.specs) == len(RUNS)
    assert found.busy_ratio == pytest.approx(1.0)
    assert found.fit.ratios == pytest.approx(dict.fromkeys(found.fit.ratios, 1.0), abs=0.05)
    apart = {name for name in found.fit.ratios if name.endswith(", in the background")}
    assert {"lsm: writes, in the background", "btree: writes to log, in the background"} <= apart
    assert "lsm: cached reads, in the background" not in apart
    folder = own_config / "tunebench" / "hardware"
    folder.mkdir(parents=True)
    (folder / "this-machine.toml").write_text(to_toml(found))
    own = hardware("this-machine")
    assert own.calibrated
    assert own.processor == processor()
    assert own.unfit == ""
    assert own.work_ns == pytest.approx(
        {**WORK_NS, "storage_wait": 1e3 * drive().wait_us}, rel=0.05
    )
    assert own.drive == PLACE.words
    assert device_spec(own.device)["sync_us"] == drive().sync_us
    assert device_spec(own.device)["read_latency_us"] == pytest.approx(79.9)


def test_the_profile_of_a_machine_whose_drive_was_not_measured_says_so(tmp_path: Path) -> None:
    found = calibrate(core=WorkingCore())
    unmeasured = storage(unmeasured="tmpfs is memory and has no drive")
    path = tmp_path / "here.toml"
    path.write_text(to_toml(replace(found, storage=unmeasured)))
    own = hardware(path)
    assert own.unfit == ""
    assert own.drive is None
    assert own.device.source.startswith("The drive was not measured: tmpfs is memory")
    shipped = hardware("this-machine").device
    assert device_spec(own.device) == device_spec(shipped)


def test_a_profile_of_another_processor_is_unfit_for_this_one() -> None:
    own = hardware("this-machine")
    other = own.model_copy(update={"calibrated": "2026-01-01", "processor": "an abacus"})
    assert "an abacus" in other.unfit
    assert "not calibrated" in own.unfit
    assert hardware("nvme-2024").unfit == ""


def test_how_long_writers_turn_is_part_of_a_machine(tmp_path: Path) -> None:
    path = tmp_path / "here.toml"
    path.write_text(to_toml(calibrate(core=WorkingCore())))
    assert machine_spec(hardware(path))["cost"]["write_turning_us"] == TURNING_US


def test_a_machine_of_a_study_of_before_writers_turned_is_read() -> None:
    shipped = hardware("nvme-2024")
    stored = shipped.model_dump(mode="json", by_alias=True)
    del stored["write_turning_us"]
    assert Hardware.model_validate({**stored, "write_handoff_us": 0.0}) == shipped


def test_a_profile_of_another_version_is_unfit() -> None:
    own = hardware("this-machine")
    measured = {"calibrated": "2026-01-01", "processor": processor()}
    assert "another version" in own.model_copy(update=measured).unfit
    current = measured | {"figures_version": FIGURES_VERSION}
    assert own.model_copy(update=current).unfit == ""


def test_a_machine_that_was_calibrated_before_sizes_were_told_apart_is_read_and_unfit(
    tmp_path: Path,
) -> None:
    path = tmp_path / "here.toml"
    now = to_toml(calibrate(core=WorkingCore()))
    began, ends = now.index("read_us_in_flight = ["), now.index("read_spread = ")
    then = now[:began] + "read_us_in_flight = [[1.0, 53.5], [4.0, 108.7]]\n" + now[ends:]
    then = then.replace(f"figures_version = {FIGURES_VERSION}", "figures_version = 7")
    path.write_text(then.replace("write_turning_us", "write_handoff_us"))
    own = hardware(path)
    assert "another version" in own.unfit
    assert isinstance(own.device, Flash)
    assert own.device.read_us_in_flight == ((4096, 1, 53.5), (4096, 4, 108.7))


def test_a_cancelled_calibration_ends_before_its_next_step() -> None:
    core = WorkingCore()
    with pytest.raises(Cancelled):
        calibrate(core=core, cancelled=lambda: True, runs=())
    assert core.specs == []


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="absent"):
        calibrate(core=WorkingCore(), directory=tmp_path / "absent")


def test_every_option_of_a_run_is_a_knob() -> None:
    for run in RUNS:
        assert set(run.options) | set(FIXED[run.engine]) <= set(catalogue(run.engine)), run


def test_no_two_runs_have_one_name() -> None:
    assert len({(run.engine, run.name) for run in RUNS}) == len(RUNS)


def test_hardware_profiles_know_the_kinds_of_work_of_the_core() -> None:
    assert {kind["name"] for kind in _core.work_kinds()} == set(typing.get_args(Work))


def test_the_core_takes_every_call_of_every_product() -> None:
    every = dict.fromkeys(typing.get_args(Call), 1.0)
    machine = machine_spec(hardware("pcie-flash-2016"))
    machine["cost"]["calls"] = dict.fromkeys(machine["cost"]["calls"], every)
    workload = {"kind": "db_bench", "keys": 1000}
    spec = {"engine": "lsm", "workload": workload, "clock": "simulated", "operations": 1}
    assert _core.Run({**spec, "hardware": machine})


def test_the_core_takes_every_run() -> None:
    for run in RUNS:
        _core.Run(run.spec("/nowhere"))


def test_measured_runs_are_compared_with_a_machine_without_a_drive_to_wait_for() -> None:
    found = through_page_cache(hardware("nvme-2024"))
    spec = Case("reads", {"kind": "db_bench", "keys": 1000}, 1 << 20, 1).spec("lsm", 1)
    assert _core.Run({**spec, "clock": "simulated", "hardware": machine_spec(found)})
    device, before = device_spec(found.device), device_spec(hardware("nvme-2024").device)
    assert device["read_latency_us"] < 1 < before["read_latency_us"]
    kept = ("sync_us", "write_mb_per_s", "capacity_bytes")
    assert [device[name] for name in kept] == [before[name] for name in kept]


def test_an_own_machine_is_found_by_its_name_before_a_shipped_one(own_config: Path) -> None:
    folder = own_config / "tunebench" / "hardware"
    folder.mkdir(parents=True)
    own = hardware("nvme-2024").model_dump(mode="json", by_alias=True) | {"cpu_cores": 3}
    assert isinstance(Hardware.model_validate(own), Hardware)
    lines = ["cpu_cores = 3", 'memory = "8GB"', "[device]", 'kind = "cloud_volume"']
    lines += ["capacity_bytes = 1000000", "iops = 1", "mb_per_s = 1", "request_bytes = 1"]
    lines += ["read_latency_us = 1", "write_latency_us = 1"]
    (folder / "mine.toml").write_text("\n".join(lines))
    assert hardware("mine").cpu_cores == 3
    assert hardware("nvme-2024").cpu_cores == 32
