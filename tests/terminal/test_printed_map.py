"""What a map prints: the grid and its sentences on stdout, one line per point on stderr."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner, Result

from advisor import core
from tests.support.fake_core import FakeCore
from tui.cli import app

OVER = ("--over", "memory=1MiB,4GiB,16GiB", "--over", "clients=1,16,64")


class Known(FakeCore):
    """Its B-tree is the faster the larger its pool, its LSM the more clients there are."""

    def _answer(self, spec: Mapping[str, Any]) -> dict[str, float]:
        metrics = super()._answer(spec)
        if spec["engine"] == "lsm":
            return metrics | {"ops_per_s": 1000.0 * spec["clients"] ** 0.25 + spec["seed"]}
        pool = spec["options"]["innodb_buffer_pool_size"] / spec["workload"]["ids"]
        return metrics | {"ops_per_s": 6.8 * pool + spec["seed"]}


def swept(*words: str) -> Result:
    return CliRunner().invoke(app, ["sweep", "linkbench", *words])


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "load", Known)


def test_a_printed_map(snapshot: SnapshotAssertion) -> None:
    done = swept(*OVER)
    assert done.exit_code == 0, done.output
    assert done.stdout == snapshot
    assert done.stderr == snapshot


def test_a_printed_map_of_one_engine_says_what_it_reaches(snapshot: SnapshotAssertion) -> None:
    done = swept(*OVER, "--engine", "btree")
    assert done.exit_code == 0, done.output
    assert done.stdout == snapshot


def test_a_map_as_markdown(snapshot: SnapshotAssertion, tmp_path: Path) -> None:
    done = swept(*OVER, "-o", str(tmp_path / "map.md"))
    assert done.exit_code == 0, done.output
    assert (tmp_path / "map.md").read_text().split("## Provenance")[0] == snapshot
