"""What is kept and said of studies of servers and their files on real ones."""

from pathlib import Path
from typing import Any

import pytest

from advisor import profile
from advisor.verify.contenders import RECOMMENDED
from tests.calibration import cells

CELL = cells.Cell("linkbench", 25, 2)


def compared(
    name: str, *rates: float, told: float | None = None, high: float | None = None
) -> dict[str, Any]:
    base = rates[0] / 2 if rates else 0.0
    ratio = {"ratio": rates[0] / base, "low": 0.4, "high": high} if rates else None
    return {
        "contender": {"name": name},
        "predicted": [{"metrics": {"ops_per_s": told * part}} for part in (0.5, 2.0) if told],
        "real": [{"metrics": {"ops_per_s": rate}} for rate in rates],
        "differences": {"ops_per_s": ratio},
        "error": None if rates else "round 1: no room",
    }


def rows_of(engine: str, winner: str | None, *all_compared: dict[str, Any]) -> list[cells.Row]:
    return list(
        cells.rows_of(CELL, winner, engine, {"verification": {"compared": list(all_compared)}})
    )


def test_the_profile_of_a_cell_is_one_that_studies_read(tmp_path: Path) -> None:
    file = tmp_path / "cell.toml"
    for load in cells.LOADS:
        file.write_text(cells.Cell(load, 10, 1).profile)
        asked = profile.load(file)
        assert (asked.data_bytes, asked.memory_bytes) == (400 << 20, 152 << 20)
        assert asked.workload.kind == load


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    failed = compared("current")
    rows = rows_of("lsm", None, compared("defaults", 90.0, 160.0, told=100.0), failed)
    assert rows[0].ops_per_s == pytest.approx(120.0)
    assert rows[0].runs == 2
    assert (rows[1].ops_per_s, rows[1].error) == (0.0, "round 1: no room")
    file = tmp_path / "new" / "cells.csv"
    cells.write(file, rows)
    assert cells.read(file) == rows
    assert cells.read(tmp_path / "none.csv") == []


def test_a_report_says_which_files_lose_and_which_winners_were_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lsm = rows_of(
        "lsm",
        "btree",
        compared("defaults", 100.0, told=100.0),
        compared(RECOMMENDED, 200.0, told=150.0, high=0.9),
    )
    btree = rows_of(
        "btree",
        "btree",
        compared("defaults", 100.0, told=100.0),
        compared(RECOMMENDED, 150.0, told=120.0),
    )
    cells.report([*lsm, *btree])
    of_lsm, of_btree, of_both = capsys.readouterr().out.splitlines()
    assert "1.50x told" in of_lsm and "LOSES" in of_lsm
    assert "LOSES" not in of_btree, "one run has no interval"
    assert "winner btree, real lsm by 33%: WRONG" in of_both


def test_where_nothing_is_to_be_changed_what_there_was_is_compared(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lsm = rows_of("lsm", "btree", compared("defaults", 100.0), compared(RECOMMENDED, 120.0))
    btree = rows_of("btree", "btree", compared("defaults", 150.0), compared("rule: five", 160.0))
    cells.report([*lsm, *btree])
    assert "winner btree, real btree by 25%: right" in capsys.readouterr().out
