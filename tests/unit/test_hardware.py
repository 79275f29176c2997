"""Machines: every figure has a source, and a device shrinks with its data and nothing else."""

import pytest

from advisor.data import data_path
from advisor.documents import validated
from advisor.errors import InputError
from advisor.hardware import Flash, Hardware, calls, hardware, shipped_hardware
from advisor.scale import Scale, batch_bytes, carry_back, device_spec, machine_spec
from advisor.scale.machine import LARGEST_MAP, SUPERBLOCKS

FLASH = hardware("pcie-flash-2016")
CALLS = sorted(path.stem for path in data_path("profiles", "calls").glob("*.toml"))


@pytest.mark.parametrize("name", sorted(shipped_hardware()))
def test_every_figure_of_a_shipped_device_is_named_in_its_source(name: str) -> None:
    device = shipped_hardware()[name].device
    figures = {name for name, figure in device if name not in ("kind", "source") and figure != ()}
    assert [figure for figure in sorted(figures) if figure not in device.source] == []


@pytest.mark.parametrize("name", sorted(shipped_hardware()))
def test_every_figure_of_a_shipped_machine_is_named_in_its_source(name: str) -> None:
    machine = shipped_hardware()[name]
    named = [f"work_ns.{work}" for work in machine.work_ns] + ["cpu_cores", "memory"]
    named += ["calls"] if machine.calls else []
    assert [figure for figure in named if figure not in machine.source] == []


@pytest.mark.parametrize("name", CALLS)
def test_every_call_of_a_shipped_product_is_named_in_its_source(name: str) -> None:
    found = calls(name)
    figures = {*found.rocksdb, *found.myrocks, *found.innodb}
    assert [figure for figure in sorted(figures) if figure not in found.source] == []
    assert set(found.myrocks) - set(found.innodb) == {
        "memtable_switch",
        "memtable_miss",
        "merged_entry",
    }


def test_machines_speak_for_products_except_this_one() -> None:
    for name, machine in shipped_hardware().items():
        products = set(machine_spec(machine)["cost"]["calls"])
        assert products == (set() if machine.detect else {"rocksdb", "myrocks", "innodb"}), name


def test_a_round_trip_is_what_is_left_of_a_published_statement() -> None:
    """Point selects of InnoDB took 124 us of a thread, and 77 on the small server, with client and
    server; the core's own part of a read is 0.8 us at its default costs."""
    selects_ns = {"small-server-2017": 77_000}
    for name, machine in shipped_hardware().items():
        if machine.slowdown > 1:
            innodb = calls(machine.calls).innodb
            server_ns = machine.slowdown * (810 + innodb["statement"] + innodb["point_read"])
            left_ns = machine.work_ns["round_trip"]
            assert server_ns + left_ns == pytest.approx(selects_ns.get(name, 124_000), rel=1e-3), (
                name
            )


def test_unknown_calls_are_refused_with_those_that_exist() -> None:
    with pytest.raises(InputError, match=r"mariadb-10\.11"):
        machine_spec(FLASH.model_copy(update={"calls": "oracle"}))


def test_what_a_device_holds_shrinks_and_what_it_does_per_second_stays() -> None:
    large, small = device_spec(FLASH.device, Scale(0.01)), device_spec(FLASH.device, Scale(0.001))
    changed = {name for name in large if large[name] != small[name]}
    assert changed == {"capacity_bytes", "superblock_bytes"}
    assert small["capacity_bytes"] == pytest.approx(large["capacity_bytes"] / 10, rel=1e-3)


def test_what_hides_latencies_does_not_shrink() -> None:
    array = hardware("disk-array-2016").device
    cached = array.model_copy(update={"write_cache_bytes": 1 << 29})
    assert device_spec(cached, Scale(1e-3))["write_cache_bytes"] == 1 << 29
    assert isinstance(FLASH.device, Flash)
    assert device_spec(FLASH.device, Scale(1e-3))["buffer_bytes"] == FLASH.device.buffer_bytes


def test_a_device_of_terabytes_maps_no_more_than_fits_into_memory() -> None:
    device = device_spec(FLASH.device)
    assert device["capacity_bytes"] // device["page_bytes"] == LARGEST_MAP


@pytest.mark.parametrize("factor", [1.0, 1e-2, 1e-4, 1e-6])
def test_a_flash_device_keeps_at_least_200_whole_superblocks(factor: float) -> None:
    device = device_spec(FLASH.device, Scale(factor))
    assert device["capacity_bytes"] // device["superblock_bytes"] >= SUPERBLOCKS
    assert device["superblock_bytes"] % device["page_bytes"] == 0


def test_a_superblock_is_never_smaller_than_what_an_engine_writes_at_once() -> None:
    batch = batch_bytes("btree", {"innodb_page_size": 8192})
    assert batch == 128 * 8192
    tiny = device_spec(FLASH.device, Scale(1e-4), batch)
    without = device_spec(FLASH.device, Scale(1e-4))
    assert tiny["superblock_bytes"] == batch > without["superblock_bytes"]
    assert tiny["capacity_bytes"] == without["capacity_bytes"]
    assert batch_bytes("btree", {"innodb_doublewrite": False}) == 0
    assert batch_bytes("lsm", {}) == 0


def test_an_array_without_a_write_cache_has_none_at_any_scale() -> None:
    array = hardware("disk-array-2016").device
    assert device_spec(array, Scale(0.5))["write_cache_bytes"] == 0


def test_a_page_cache_shrinks_with_the_data_on_every_machine() -> None:
    def page_cache(machine: Hardware, full: int) -> int:
        return machine_spec(machine, Scale(0.01), page_cache_bytes=full)["page_cache_bytes"]

    assert page_cache(FLASH, 5_000_000) == 50_000
    assert page_cache(FLASH, -1) == 0
    assert page_cache(hardware("this-machine"), 5_000_000) == 50_000


def test_a_volume_keeps_its_limits_for_any_data() -> None:
    volume = hardware("cloud-volume").device
    full, small = (device_spec(volume, Scale(factor)) for factor in (1.0, 0.001))
    assert full | {"capacity_bytes": small["capacity_bytes"]} == small


def test_the_spec_of_the_core_says_what_the_machine_has_and_nothing_else() -> None:
    spec = machine_spec(FLASH)
    assert set(spec) == {"cores", "page_cache_bytes", "device", "cost"}
    assert set(spec["cost"]) == {
        "work_ns",
        "slowdown",
        "calls",
        "statement_wait_us",
        "statement_cold_us",
        "statement_cools_us",
        "write_turning_us",
    }
    assert spec["cores"] == 40
    assert set(spec["device"]) == set(Flash.model_fields) - {"source"}


def test_filling_a_flash_device_changes_its_fullness_alone() -> None:
    full, empty = device_spec(FLASH.filled(0.3).device), device_spec(FLASH.device)
    assert {name for name in full if full[name] != empty[name]} == {"fullness"}
    assert full["fullness"] == 0.3


def test_a_drive_lasts_as_much_longer_as_it_is_larger() -> None:
    device = FLASH.device
    assert isinstance(device, Flash)
    for factor in (1.0, 1e-3, 1e-5):
        small = device_spec(device, Scale(factor))
        found = carry_back(FLASH, {"drive_years": 1.5, "erases": 40.0, "flash_waf": 1.3}, small)
        larger = device.capacity_bytes / small["capacity_bytes"]
        assert found["drive_years"] == pytest.approx(1.5 * larger)
        erased_bytes = 40 * small["superblock_bytes"]
        assert found["erases"] * device.superblock_bytes == pytest.approx(erased_bytes)
        assert found["flash_waf"] == 1.3


def test_only_flash_wears() -> None:
    volume = hardware("cloud-volume")
    small = device_spec(volume.device, Scale(0.01))
    assert carry_back(volume, {"ops_per_s": 5.0}, small) == {"ops_per_s": 5.0}


def test_nothing_is_said_about_the_wear_of_this_machine() -> None:
    own, metrics = hardware("this-machine"), {"ops_per_s": 5.0, "drive_years": 3.0}
    assert carry_back(own, metrics, device_spec(own.device, Scale(0.1))) == {"ops_per_s": 5.0}
    assert "drive_years" in carry_back(FLASH, metrics, device_spec(FLASH.device, Scale(0.1)))


def test_an_unknown_figure_is_refused_by_its_place() -> None:
    table = {"cpu_cores": 4, "memory": "1GiB", "device": {"kind": "cloud_volume", "speed": 3}}
    with pytest.raises(InputError) as refusal:
        validated(Hardware, table, "mine.toml")
    assert "mine.toml:device" in str(refusal.value)


def test_an_unknown_kind_of_device_is_refused_with_those_that_exist() -> None:
    table = {"cpu_cores": 4, "memory": "1GiB", "device": {"kind": "tape"}}
    with pytest.raises(InputError, match=r"disk_array.*flash.*cloud_volume"):
        validated(Hardware, table, "mine.toml")
