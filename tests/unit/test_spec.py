"""The types of spec and report are what the core takes and gives, and the page is made of them."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from advisor import core, knobs
from advisor.hardware import Device, hardware
from advisor.knobs import Engine
from advisor.scale import FullRun, InBytes, Scale, ScaledRun, Simulated, scaled_run
from advisor.spec import Report, Spec
from advisor.workload import Workload
from tests.support import spec_page

MIB = 1 << 20
SIMULATED_ONLY = {"hardware", "device", "page_cache"}


def run(engine: Engine, clock: Simulated | Path, scale: Scale) -> ScaledRun:
    """A short run with everything that a spec can have."""
    return scaled_run(
        FullRun(
            engine=engine,
            settings=knobs.defaults(engine),
            workload=InBytes(Workload(kind="linkbench"), 512 * MIB),
            clients=2,
            seed=1,
            clock=clock,
            length={"operations": 2_000, "warmup": {"most_operations": 2_000}, "interval_ms": 10},
            load_batch_rows=64,
            binary_log={"sync_binlog": 1, "max_binlog_size": 64 * MIB, "binlog_row_image": "FULL"},
        ),
        scale,
    )


def held(kind: Any, value: Any) -> None:
    """Fails where a field is missing or of another type, and where there is one of no type."""
    assert TypeAdapter(kind).validate_python(value, strict=True) == value


@pytest.mark.parametrize("engine", knobs.ENGINES)
def test_a_simulated_run_has_the_types_of_spec_and_report(engine: Engine) -> None:
    machine = hardware("pcie-flash-2016")
    spec = run(engine, Simulated(machine, 64 * MIB), Scale(1 / 64)).spec
    held(Spec, spec)
    report = core.run(spec)
    held(Report, report)
    assert set(report) >= SIMULATED_ONLY
    assert report["hardware"] == spec["hardware"]
    assert report["scale"]["stands_for"] == 64
    assert report["background"] is None
    device = TypeAdapter(Device).validate_python(report["hardware"]["device"])
    told = device.model_dump(mode="json", exclude={"source"})
    assert told == report["hardware"]["device"]


@pytest.mark.parametrize("engine", knobs.ENGINES)
def test_a_measured_run_has_the_types_of_spec_and_report(engine: Engine, tmp_path: Path) -> None:
    spec = run(engine, tmp_path / "run", Scale(1 / 64)).spec
    held(Spec, spec)
    report = core.run(spec)
    held(Report, report)
    assert not set(report) & SIMULATED_ONLY
    assert report["background"] is not None


def test_the_page_of_the_spec_is_made_of_the_types() -> None:
    assert spec_page.PAGE.read_text(encoding="utf-8") == spec_page.page()


def test_every_field_of_spec_and_report_says_what_it_is() -> None:
    untold = [
        f"{name}.{field}"
        for name, shape in spec_page.shapes(spec_page.spec).items()
        for field, (_, text) in shape.fields.items()
        if not text.endswith(".")
    ]
    assert untold == []
