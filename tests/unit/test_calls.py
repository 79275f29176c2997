"""What calls of real engines cost: known costs are found again, and a machine speaks for them."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from advisor import imports
from advisor.calibration import calibrate, calls, loads, machine, to_toml
from advisor.calibration.clients import Clients, Statements, fit_clients
from advisor.dialects import product_defaults
from advisor.hardware import hardware
from advisor.real import Library, Server
from advisor.scale import machine_spec
from tests.support.calibration_core import WorkingCore
from tests.support.drives import probed

SERVER = Server("/usr/sbin/mariadbd", "innodb", "mariadb-10.11")
MYROCKS = Server("/usr/sbin/mariadbd", "myrocks", "myrocks-mariadb-10.11")
TRUE = {
    "statement": 9000.0,
    "transaction_control": 2000.0,
    "range_step": 400.0,
    "row_insert": 6000.0,
    "row_change": 2500.0,
    "key_change": 1500.0,
    "commit": 5000.0,
    "zipped_byte": 40.0,
    "unzipped_byte": 3.0,
}
OWN = {"call": 100.0, "compare": 5.0}
CLIENTS = Clients(2.0, 28.0, 60.0, {})


def of_a_statement_us(law: Clients, server_us: float) -> float:
    left = math.exp(-server_us / law.cools_us) if law.cools_us else 0.0
    return law.warm_us + law.cold_us * (1.0 - left)


WAIT_US = 90.0


def test_writers_of_a_library_are_measured_alone() -> None:
    library = Library("librocksdb.so")
    clients = {
        load.workload["benchmark"]: calls._spec(library, load, cores=4)["clients"]
        for load in loads.loads_of(library)
    }
    assert clients == {"readrandom": 8, "seekrandom": 8, "overwrite": 1, "fillrandom": 1}


def test_loads_that_wait_for_the_drive_come_in_rounds_that_lie_apart() -> None:
    names = [load.name for load in loads.loads_of(SERVER)]
    waits = [load.waits for load in loads.loads_of(SERVER)]
    once = (*loads.OF_SERVERS, *loads.OF_INNODB)
    of_round = [load.name for load in once if load.waits]
    assert [name for name, wait in zip(names, waits, strict=True) if wait] == [
        f"{name}, round {number}" for number in (1, 2, 3) for name in of_round
    ]
    assert waits[0] and waits[len(waits) // 2] and waits[-1]
    again = (loads.ROUNDS - 1) * len(of_round)
    assert len(set(names)) == len(names) == len(once) + again


def test_a_server_waits_for_the_drive_once_in_a_statement_and_several_times() -> None:
    scripts = [load.workload["script"] for load in loads.OF_SERVERS if load.waits]
    assert scripts == ["oltp_point_select", "oltp_read_only"]


def test_every_codec_of_myrocks_is_measured_by_blocks_of_its_own() -> None:
    stored = {load.options.get("compression") for load in loads.OF_MYROCKS}
    assert stored == {"kSnappyCompression", "kLZ4Compression", "kZlibCompression"}
    of_codecs = {"snapped_byte", "snapped_match", "unsnapped_byte", "zipped_byte"}
    assert of_codecs <= set(calls.known_calls("myrocks"))


def test_zlib_is_measured_of_each_product_that_has_its_own() -> None:
    servers = {name: Server("/usr/sbin/mariadbd", name, name) for name in ("innodb", "myrocks")}
    with_zlib = {
        name: [load for load in loads.loads_of(real) if "kZlibCompression" in load.name]
        for name, real in ({"rocksdb": Library("librocksdb.so")} | servers).items()
    }
    assert {name: len(found) for name, found in with_zlib.items()} == {
        "rocksdb": 4,
        "innodb": 0,
        "myrocks": 4,
    }
    for name, found in with_zlib.items():
        assert ("unzipped_block" in calls.known_calls(name)) == bool(found)
        sizes = {load.options["block_size"] for load in found}
        assert len(sizes) in (0, 2), "a block is told from its bytes by blocks of two sizes"


def test_pages_that_innodb_compresses_are_measured_going_out_and_coming_in() -> None:
    """Without it, a page of 16 KiB into zlib was put at a quarter of what it takes a server."""
    packed = {"innodb_compression_algorithm": "zlib"}
    assert all(load.options == packed for load in loads.OF_INNODB)
    waits = [load.name.split(",")[0] for load in loads.OF_INNODB if load.waits]
    assert waits == ["update_non_index", "point_select"]
    [settles] = [load for load in loads.OF_INNODB if load.settles]
    assert settles.operations is None, "as many of its pages are written on both sides"
    known = calls.known_calls("innodb")
    assert {"zipped_byte", "unzipped_byte"} <= set(known)


@pytest.fixture(autouse=True)
def known_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "probe", probed)


def counts(workload: Mapping[str, Any]) -> dict[str, float]:
    """Calls of an operation, in other proportions for every load."""
    if workload["kind"] == "insert_benchmark":
        keys = 1.0 + workload.get("secondary_indexes", 3)
        statements = 1 / workload["rows_per_commit"]
        rows = {"row_insert": 1.0, "key_change": keys}
        return {"statement": statements, "commit": statements} | rows
    if workload["kind"] == "linkbench":
        rows = {"row_insert": 0.1, "row_change": 0.1, "key_change": 0.4}
        return {"statement": 1.1, "transaction_control": 0.2, "commit": 0.2} | rows
    script, rows = workload["script"], workload.get("range_size", 0)
    if script == "oltp_read_only":
        return {"statement": 14.0, "transaction_control": 2.0, "range_step": 4.0 * rows}
    if script == "oltp_write_only":
        rows = {"row_insert": 1.0, "row_change": 3.0, "key_change": 8.0}
        return {"statement": 4.0, "transaction_control": 2.0, "commit": 1.0} | rows
    keys = {"oltp_update_index": 3.0, "oltp_update_non_index": 1.0, "oltp_insert": 2.0}
    if script not in keys:
        return {"statement": 1.0}
    row = "row_insert" if script == "oltp_insert" else "row_change"
    return {"statement": 1.0, row: 1.0, "key_change": keys[script], "commit": 1.0}


def served(spec: Mapping[str, Any], **_: object) -> dict[str, Any]:
    work = {"call": 20.0, "compare": 300.0}
    made = counts(spec["workload"])
    if "zlib" in str(spec["options"]):
        reads = spec["workload"].get("script") == "oltp_point_select"
        made |= {"unzipped_byte": 15_000.0} if reads else {"zipped_byte": 2_000.0}
    trips = made["statement"] + made.get("transaction_control", 0.0)
    if spec["clock"] == "simulated":
        assert spec["hardware"]["cost"]["work_ns"] == OWN
        units = {name: 1000 * n for name, n in (work | made | {"round_trip": trips}).items()}
        prices = OWN | spec["hardware"]["cost"]["calls"]["innodb"]
        cpu_us = sum(prices[name] * n for name, n in (work | made).items()) / 1e3
        metrics = {"cpu_us_per_op": cpu_us}
        return {"work": units, "operations": 1000, "metrics": metrics}
    assert spec["engine"] == "innodb"
    own_ns = sum(OWN[name] * n for name, n in work.items())
    real_ns = own_ns + sum(TRUE[name] * n for name, n in made.items())
    client_us = trips * of_a_statement_us(CLIENTS, real_ns / 1e3 / trips)
    metrics = {
        "cpu_us_per_op": real_ns / 1e3,
        "client_cpu_us_per_op": client_us,
        "ops_per_s": 1e6 * spec["clients"] / (real_ns / 1e3 + client_us + trips * WAIT_US),
    }
    product = {"name": "InnoDB of MariaDB", "version": "10.11"}
    return {"metrics": metrics, "operations": 1000, "product": product}


def measured(monkeypatch: pytest.MonkeyPatch) -> calls.Calls:
    monkeypatch.setattr(calls.bridge, "run", served)
    return calls.measure(SERVER, OWN, cores=2, core=WorkingCore())


def test_known_costs_of_calls_are_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls.bridge, "run", served)
    heard: list[str] = []
    found = calls.measure(SERVER, OWN, cores=2, on_run=heard.append, core=WorkingCore())
    assert (found.product, found.version) == ("innodb", "InnoDB of MariaDB 10.11")
    assert len(heard) == calls.runs_of(SERVER) == len(loads.loads_of(SERVER)) + 1
    told = ("statement", "range_step", "row_insert", "key_change", "zipped_byte", "unzipped_byte")
    alone = {name: TRUE[name] for name in told}
    assert {name: found.fit.work_ns[name] for name in alone} == pytest.approx(alone, rel=0.1)
    updated = ("row_change", "commit")
    both_ns = sum(TRUE[name] for name in updated)
    assert sum(found.fit.work_ns[name] for name in updated) == pytest.approx(both_ns, rel=0.2)
    assert found.fit.ratios == pytest.approx(dict.fromkeys(found.fit.ratios, 1.0), abs=0.05)
    of_one_row = [load for load in loads.loads_of(SERVER) if "rows_per_commit 50" not in load.name]
    assert [one.load for one in found.statements] == [f"innodb: {one.name}" for one in of_one_row]
    assert found.statement_wait_us == pytest.approx(WAIT_US)


@pytest.mark.parametrize(
    "true", [CLIENTS, Clients(0.0, 30.0, 20.0, {}), Clients(9.0, 0.0, 0.0, {})]
)
def test_the_law_of_clients_is_found_again(true: Clients) -> None:
    seen = [
        Statements(str(us), us, of_a_statement_us(true, us))
        for us in (20.0, 30.0, 50.0, 80.0, 150.0)
    ]
    found = fit_clients(seen)
    assert found.ratios == pytest.approx(dict.fromkeys(found.ratios, 1.0), abs=0.02)
    assert (found.cold_us > 0.0) == (true.cold_us > 0.0) == (found.cools_us > 0.0)


def test_clients_that_take_less_the_longer_the_server_computes_are_never_cold() -> None:
    found = fit_clients([Statements("a", 20.0, 12.0), Statements("b", 90.0, 8.0)])
    assert (found.cold_us, found.cools_us) == (0.0, 0.0)
    assert 8.0 < found.warm_us < 12.0


def test_a_row_is_told_from_its_statement_by_loads_of_many_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row_ns = measured(monkeypatch).fit.work_ns["row_insert"]
    of_one_row = tuple(load for load in loads.OF_SERVERS if load.workload["kind"] == "sysbench")
    monkeypatch.setattr(loads, "OF_SERVERS", of_one_row)
    lone_ns = measured(monkeypatch).fit.work_ns["row_insert"]
    assert row_ns == pytest.approx(TRUE["row_insert"], rel=0.1)
    assert lone_ns != pytest.approx(TRUE["row_insert"], rel=0.3)


@pytest.mark.parametrize("server", [SERVER, MYROCKS], ids=["innodb", "myrocks"])
def test_a_server_syncs_no_commit_that_its_simulation_does_not(server: Server) -> None:
    load = loads.OF_SERVERS[0]
    file = calls._measured(server, load, "/tmp", 2)["options"]["options_file"]
    assert "flush_log_at_trx_commit=2" in file
    own = calls._spec(server, load, 2)["options"]
    assert own.get("sync", False) is False
    assert own.get("innodb_flush_log_at_trx_commit", 2) == 2


@pytest.mark.parametrize("server", [SERVER, MYROCKS], ids=["innodb", "myrocks"])
def test_a_server_of_a_calibration_has_every_setting_of_its_simulation(
    server: Server, tmp_path: Path
) -> None:
    for load in loads.loads_of(server):
        file = tmp_path / "my.cnf"
        file.write_text(calls._measured(server, load, "/tmp", 2)["options"]["options_file"])
        has = {
            **product_defaults(server.dialect),
            **imports.read(file).settings.get(server.engine, {}),
        }
        assert has == calls._spec(server, load, 2)["options"], load.name


def test_what_the_costs_do_not_explain_is_said_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    here = calibrate(core=WorkingCore())
    found = measured(monkeypatch)
    here = replace(here, calls=(found,))
    assert "NOT EXPLAINED" not in to_toml(here)
    off = replace(found, fit=replace(found.fit, ratios={"fine": 1.4, "far": 0.3}))
    assert "NOT EXPLAINED by these costs: far at 0.30" in to_toml(replace(here, calls=(off,)))


def test_a_machine_whose_calls_were_measured_speaks_for_the_product(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here = calibrate(core=WorkingCore())
    path = tmp_path / "here.toml"
    path.write_text(to_toml(replace(here, calls=(measured(monkeypatch),))))
    own = hardware(path)
    assert own.products == ("innodb",)
    cost = machine_spec(own)["cost"]
    assert cost["calls"]["innodb"]["statement"] == pytest.approx(TRUE["statement"], rel=0.1)
    law = cost["work_ns"]["round_trip"] / 1e3, cost["statement_cold_us"], cost["statement_cools_us"]
    clients = Clients(*law, {})
    for server_us in (20.0, 60.0, 200.0):
        told_us = of_a_statement_us(clients, server_us)
        assert told_us == pytest.approx(of_a_statement_us(CLIENTS, server_us), rel=0.03)
    assert cost["statement_wait_us"] == pytest.approx(WAIT_US, rel=0.01)
    path.write_text(to_toml(here))
    assert hardware(path).products == ()
