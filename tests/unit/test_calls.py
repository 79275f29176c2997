"""What calls of real engines cost: known costs are found again, and a machine speaks for them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from advisor.calibration import calibrate, calls, machine, to_toml
from advisor.hardware import hardware
from advisor.real import Server
from advisor.scale import machine_spec
from tests.support.calibration_core import WorkingCore
from tests.support.drives import probed

SERVER = Server("/usr/sbin/mariadbd", "innodb", "mariadb-10.11")
TRUE = {"statement": 9000.0, "range_step": 400.0, "key_change": 1500.0}
OWN = {"call": 100.0, "compare": 5.0}


@pytest.fixture(autouse=True)
def known_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "probe", probed)


def counts(workload: Mapping[str, Any]) -> dict[str, float]:
    """Calls of an operation, in other proportions for every load."""
    script, rows = workload["script"], workload.get("range_size", 0)
    if script == "oltp_read_only":
        return {"statement": 16.0, "range_step": 4.0 * rows}
    keys = {"oltp_update_index": 3.0, "oltp_write_only": 8.0, "oltp_insert": 2.0}.get(script, 0.0)
    return {"statement": 6.0 if script == "oltp_write_only" else 1.0, "key_change": keys}


def served(spec: Mapping[str, Any], **_: object) -> dict[str, Any]:
    work = {"call": 20.0, "compare": 300.0}
    made = counts(spec["workload"])
    if spec["clock"] == "simulated":
        assert spec["hardware"]["cost"]["work_ns"] == OWN
        units = {name: 1000 * n for name, n in (work | made).items()}
        return {"work": units, "operations": 1000}
    assert spec["engine"] == "innodb"
    own_ns = sum(OWN[name] * n for name, n in work.items())
    real_ns = own_ns + sum(TRUE[name] * n for name, n in made.items())
    product = {"name": "InnoDB of MariaDB", "version": "10.11"}
    return {"metrics": {"cpu_us_per_op": real_ns / 1e3}, "product": product}


def test_known_costs_of_calls_are_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls.bridge, "run", served)
    heard: list[str] = []
    found = calls.measure(SERVER, OWN, cores=2, on_run=heard.append, core=WorkingCore())
    assert (found.product, found.version) == ("innodb", "InnoDB of MariaDB 10.11")
    assert len(heard) == len(calls.loads(SERVER))
    assert {name: found.fit.work_ns[name] for name in TRUE} == pytest.approx(TRUE, rel=0.1)
    assert found.fit.ratios == pytest.approx(dict.fromkeys(found.fit.ratios, 1.0), abs=0.05)


def test_a_machine_whose_calls_were_measured_speaks_for_the_product(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here = calibrate(core=WorkingCore())
    monkeypatch.setattr(calls.bridge, "run", served)
    measured = calls.measure(SERVER, OWN, cores=2, core=WorkingCore())
    path = tmp_path / "here.toml"
    path.write_text(to_toml(replace(here, calls=(measured,))))
    own = hardware(path)
    assert own.products == ("innodb",)
    costs = machine_spec(own)["cost"]["calls"]["innodb"]
    assert costs["statement"] == pytest.approx(TRUE["statement"], rel=0.1)
    path.write_text(to_toml(here))
    assert hardware(path).products == ()
