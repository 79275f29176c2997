"""The real products say what their defaults are: nothing that they have by themselves counts as
changed."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from advisor.data import data_path
from advisor.imports import read_options
from advisor.imports.options_file import newest_options
from advisor.imports.product_options import judge

pytestmark = pytest.mark.real

LDB, MARIADBD = shutil.which("ldb"), shutil.which("mariadbd")


def changed(directory: Path) -> list[str]:
    found = read_options(newest_options(directory))
    assert len(found.ignored) > 100
    return [one.name for one in found.ignored if one.weight != "default"]


def test_a_database_of_rocksdb_9_has_changed_nothing(tmp_path: Path) -> None:
    rocksdict = pytest.importorskip("rocksdict", reason="rocksdict is not installed")
    rocksdict.Rdict(str(tmp_path / "db"), rocksdict.Options(raw_mode=True)).close()
    assert changed(tmp_path / "db") == []


@pytest.mark.skipif(LDB is None, reason="rocksdb-tools is not installed: no ldb")
def test_a_database_of_rocksdb_7_has_only_the_merge_operator_of_ldb(tmp_path: Path) -> None:
    words = [str(LDB), f"--db={tmp_path / 'db'}", "--create_if_missing", "put", "a", "b"]
    subprocess.run(words, check=True, capture_output=True)
    assert changed(tmp_path / "db") == ["merge_operator"]


@pytest.mark.skipif(MARIADBD is None, reason="mariadb-server is not installed: no mariadbd")
def test_the_table_of_variables_has_the_defaults_of_mariadb() -> None:
    words = [str(MARIADBD), "--no-defaults", "--verbose", "--help"]
    told = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    lines = told.partition("Variables (--variable-name=value)")[2].splitlines()
    pairs = [re.fullmatch(r"([a-z0-9-]+) +(.*?)\s*", line) for line in lines]
    own = {pair[1].replace("-", "_"): pair[2] for pair in pairs if pair}
    groups = tomllib.loads(data_path("profiles", "products", "servers.toml").read_text())["group"]
    known = {name for group in groups for name in group} & set(own)
    assert len(known) > 40
    judged = {name: judge("servers", name, _plain(own[name])) for name in known}
    assert {
        name: own[name] for name, one in judged.items() if one and one.weight != "default"
    } == {}


def _plain(value: str) -> str:
    return "" if value == "(No default value)" else value
