"""RocksDB judges the OPTIONS files that we write: 9.8 in rocksdict, 7.8 in db_bench and ldb.

One unknown key makes RocksDB refuse a file, whatever version the file claims, so a file accepted by
older versions than its own uses only keys that they all know.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from advisor import dialects, imports, knobs, patch
from advisor.dialects import About, Line
from advisor.imports.options_file import newest_options
from advisor.knobs import Setting
from tests.real.export import LSM, MIB, exported
from tests.unit.settings_draw import draw_settings

pytestmark = pytest.mark.real

DB_BENCH = shutil.which("db_bench")
needs_db_bench = pytest.mark.skipif(
    DB_BENCH is None, reason="rocksdb-tools is not installed: no db_bench"
)

SETTINGS: dict[str, Setting] = LSM | {
    "write_buffer_size": 4 * MIB,
    "block_cache": 24 * MIB,
    "filter_policy": "bloomfilter:12:false",
    "prefix_extractor": "fixed:8",
    "cache_index_and_filter_blocks": True,
    "pin_l0_filter_and_index_blocks_in_cache": True,
    "wal_recovery_mode": "kAbsoluteConsistency",
}


def options_file(directory: Path, settings: Mapping[str, Setting]) -> Path:
    return exported(directory / "OPTIONS-000007", "rocksdb-10.4", settings)


def load_latest(directory: Path) -> None:
    rocksdict = pytest.importorskip("rocksdict", reason="rocksdict is not installed")
    rocksdict.Options.load_latest(str(directory))


def db_bench(options: Path, database: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            str(DB_BENCH),
            f"--options_file={options}",
            f"--db={database}",
            "--benchmarks=fillrandom",
            "--num=200",
            "--cache_size=0",
        ],
        capture_output=True,
        text=True,
    )


def test_the_values_are_all_knobs_that_an_options_file_has() -> None:
    has = {
        name
        for name, knob in knobs.catalogue("lsm").items()
        if not knob.spellings["rocksdb-10.4"].absent
    }
    assert set(SETTINGS) == has


@pytest.mark.parametrize("seed", range(40))
def test_rocksdb_9_loads_any_file(tmp_path: Path, seed: int) -> None:
    settings = draw_settings("lsm", "rocksdb-10.4", random.Random(seed))
    options_file(tmp_path, settings)
    load_latest(tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("write_buffer_size=", "write_buffer_sise="),
        ("kZSTD", "kZSTDD"),
        ("max_background_jobs=5", "max_background_jobs=five"),
        ("options_file_version=1.1", "options_file_version=x"),
    ],
)
def test_the_judge_can_say_no(tmp_path: Path, old: str, new: str) -> None:
    path = options_file(tmp_path, SETTINGS)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(Exception, match=r"Invalid argument|Corruption|Error"):
        load_latest(tmp_path)


@needs_db_bench
def test_rocksdb_7_runs_with_every_value(tmp_path: Path) -> None:
    done = db_bench(options_file(tmp_path / "mine", SETTINGS), tmp_path / "db")
    assert done.returncode == 0, done.stderr
    found = imports.read(tmp_path / "db")
    assert "written for RocksDB 7.8.3" in found.notes
    # 7.8 writes this one out, which 10.4 does not have.
    dynamic = {"level_compaction_dynamic_file_size": True}
    written = {name: value for name, value in SETTINGS.items() if name != "block_cache"}
    assert dict(found.settings["lsm"]) == written | dynamic
    log = (tmp_path / "db" / "LOG").read_text()
    assert f"capacity : {SETTINGS['block_cache']}\n" in log, "the cache is the file's"


def test_rocksdb_loads_its_own_file_with_a_recommendation_in_it(tmp_path: Path) -> None:
    rocksdict = pytest.importorskip("rocksdict", reason="rocksdict is not installed")
    made, mine = tmp_path / "made", tmp_path / "mine"
    database = rocksdict.Rdict(str(made), rocksdict.Options(raw_mode=True))
    database.create_column_family("history", rocksdict.Options(raw_mode=True))
    database.close()
    before = newest_options(made)
    has = patch.settings_of(before, "rocksdb-10.4")
    wanted = [
        Line(name, value, knobs.defaults("lsm")[name], has[name], "measured: +1%")
        for name, value in SETTINGS.items()
        if value != has[name]
    ]
    mine.mkdir()
    after = mine / "OPTIONS-000007"
    after.write_text(patch.patched(before, "rocksdb-10.4", wanted, About(clock="measured")))
    load_latest(mine)
    read = patch.settings_of(after, "rocksdb-10.4")
    assert read == dialects.applied("rocksdb-10.4", wanted, has)
    kept = [line for line in before.read_text().splitlines() if line.strip()]
    text = after.read_text().splitlines()
    assert len([line for line in kept if line not in text]) <= len(wanted)
    assert any("history" in line for line in text)


@needs_db_bench
def test_rocksdb_7_refuses_what_is_misspelt(tmp_path: Path) -> None:
    path = options_file(tmp_path / "mine", SETTINGS)
    path.write_text(path.read_text().replace("num_levels", "num_lvels"))
    assert db_bench(path, tmp_path / "db").returncode != 0


@needs_db_bench
def test_ldb_opens_a_database_by_its_exported_options(tmp_path: Path) -> None:
    ldb = shutil.which("ldb")
    if ldb is None:
        pytest.skip("rocksdb-tools is not installed: no ldb")
    database = tmp_path / "db"
    assert db_bench(options_file(tmp_path / "mine", SETTINGS), database).returncode == 0
    newest = max(path for path in database.glob("OPTIONS-*"))
    options_file(tmp_path / "again", SETTINGS).replace(newest)
    done = subprocess.run(
        [ldb, f"--db={database}", "--try_load_options", "scan", "--max_keys=1", "--hex"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("0x")


def test_the_defaults_of_the_catalogue_are_those_of_a_new_database(tmp_path: Path) -> None:
    rocksdict = pytest.importorskip("rocksdict", reason="rocksdict is not installed")
    rocksdict.Rdict(str(tmp_path / "db")).close()
    found = imports.read(tmp_path / "db").settings["lsm"]
    # The file holds the effective value of what is left to RocksDB.
    effective: dict[str, Setting] = {
        "max_compaction_bytes": 25 * 64 * MIB,
        "delayed_write_rate": 16 * MIB,
    }
    # RocksDB drops what is behind damage in its log by default; the engine here refuses it.
    effective["wal_recovery_mode"] = "kPointInTimeRecovery"
    expected = knobs.defaults("lsm") | effective
    assert dict(found) == {name: expected[name] for name in found}
