"""Names and values that nobody can mean: one line, exit code 2, nothing written or started."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from advisor import core
from tests.support.fake_core import FakeCore
from tests.terminal.conftest import environment
from tui.cli import app
from tui.profile_text import profile_text

LONG = "x" * 300
NAMES = {
    "too long": LONG,
    "too long below a folder": f"folder/{LONG}",
    "a loop of links": "loop",
    "a pipe": "pipe",
    "a device": "/dev/zero",
    "a folder": ".",
    "below a file": "file/x",
    "of another encoding, absent": "\udcff",
    "steering the terminal": "\x1b[2J/\n",
    "empty": "",
}
USES = {
    "import": ["import", "?"],
    "profiles": ["profiles", "?"],
    "run": ["run", "?"],
    "--hardware": ["run", "linkbench", "--hardware", "?"],
    "--from": ["run", "ycsb-a", "--from", "?"],
    "--goal": ["tune", "linkbench", "--goal", "?"],
    "--to": ["tune", "linkbench", "-o", "new", "--to", "?"],
    "--set": ["run", "linkbench", "--set", "?"],
    "--data": ["run", "linkbench", "--data", "?"],
    "--results of results": ["results", "--results", "?"],
    "--sql": ["results", "--sql", "?"],
    "--delete": ["results", "--force", "--delete", "?"],
    "export": ["export", "--study", "?"],
}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCore:
    fake = FakeCore()
    monkeypatch.setattr(core, "load", lambda: fake)
    return fake


@pytest.fixture(autouse=True)
def strange_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "strange"
    folder.mkdir()
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    (folder / "file").write_text("")
    monkeypatch.chdir(folder)
    return folder


def refused(*words: str) -> str:
    result = CliRunner().invoke(app, words)
    lines = result.stderr.strip().split("\n")
    assert (result.exit_code, result.stdout, len(lines)) == (2, "", 1), repr(result.exception)
    assert lines[0].startswith("tunebench: ")
    assert lines[0].isprintable()
    return lines[0]


@pytest.mark.parametrize("use", USES)
def test_a_name_that_cannot_be_meant_is_refused_in_one_line(
    use: str, fake: FakeCore, strange_folder: Path
) -> None:
    before = sorted(strange_folder.rglob("*"))
    for name in NAMES.values():
        refused(*(name if word == "?" else word for word in USES[use]))
    assert sorted(strange_folder.rglob("*")) == before
    assert fake.runs == []


@pytest.mark.parametrize(
    "command",
    [["run", "linkbench", "--engine", "lsm", "--results"], ["tune", "linkbench", "--results"]],
)
def test_results_that_cannot_be_stored_are_refused_before_the_work(
    command: list[str], fake: FakeCore
) -> None:
    Path("notes.txt").write_text("some notes")
    for name in (LONG, "loop", "pipe", "/dev/zero", ".", "file/x", "notes.txt"):
        refused(*command, name)
    assert fake.runs == []


@pytest.mark.parametrize("name", [LONG, "loop", "pipe", "/dev/zero", ".", "", "/", "file/x"])
def test_a_target_that_cannot_be_written_is_refused_before_the_work(
    name: str, fake: FakeCore
) -> None:
    for command in (["tune", "linkbench"], ["published", "--all"], ["doctor", "--calibrate"]):
        refused(*command, "--force", "-o", name)
    assert fake.runs == []


@pytest.mark.parametrize("name", [LONG, "", "a\nb", "\udcff"])
def test_a_name_that_no_study_can_have_is_refused_before_the_work(
    name: str, fake: FakeCore
) -> None:
    refused("tune", "linkbench", "--study", name)
    assert fake.runs == []


@pytest.mark.parametrize("value", ["9" * 5000, "-5", "nan", "inf", "1e999", "²", "\udcff", "0x10"])
@pytest.mark.parametrize(
    "knob",
    ["write_buffer_size", "max_background_jobs", "max_bytes_for_level_multiplier", "filter_policy"],
)
def test_a_value_that_no_knob_can_have_is_refused_in_one_line(knob: str, value: str) -> None:
    line = refused("run", "linkbench", "--engine", "lsm", "--set", f"{knob}={value}")
    assert len(line) < 500


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"data = {'9' * 4301}", "digits"),
        (f"data = 0x{'f' * 5000}", "digits"),
        (f"clients = 0x{'f' * 5000}", "digits"),
        (f"data = {10**4299}", "data"),
        ("data = inf", "data"),
        ("memory = nan", "memory"),
        ("memory = '99999999999999P'", "memory"),
        ("clients = 1e400", "clients"),
        ("clients = 2026-01-01", "clients"),
        (f"data = {'[' * 5000}", "nested"),
        ("a" + ".a" * 40 + " = 1", "a key of more than"),
    ],
)
def test_a_profile_with_a_value_beyond_all_bounds_is_refused_with_its_place(
    text: str, told: str
) -> None:
    from advisor.profile import load

    key = text.split(" ")[0]
    lines = profile_text(load("linkbench")).splitlines()
    kept = [line for line in lines if not line.startswith(f"{key} =")]
    Path("mine.toml").write_text("\n".join([text, *kept]))
    line = refused("profiles", "mine.toml")
    assert "mine.toml" in line
    assert told in line
    assert len(line) < 500


def test_a_missing_field_of_a_hardware_file_names_the_file_and_the_field() -> None:
    from advisor.profile import load

    Path("box.toml").write_text("cpu_cores = 4\n[device]\nkind = 'disk_array'\nmemory = '1GiB'\n")
    text = profile_text(load("linkbench")).replace('"nvme-2024"', '"box.toml"')
    assert "box.toml" in text
    Path("mine.toml").write_text(text)
    for command in (["run", "linkbench", "--hardware", "box.toml"], ["profiles", "mine.toml"]):
        assert "box.toml:memory: found nothing" in refused(*command)
    Path("box.toml").write_text("cpu_cores = 4\nmemory = '1GiB'\n[device]\nkind = 'disk_array'\n")
    assert "box.toml:device.disks: found nothing" in refused("profiles", "mine.toml")
    Path("box.toml").write_text("cpu_cores = 4\nmemory = '1GiB'\ncalls = 'nobodys'\n")
    assert "box.toml:calls: found 'nobodys'" in refused("profiles", "mine.toml")


def test_bytes_that_are_not_utf8_are_shown_and_not_a_defect(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.cnf")
    path.write_bytes(b"[mysqld]\ncharacter_set = \xe9t\xe9\x1b[2J\nport = 1\n")
    for more in ([], ["--json"]):
        done = subprocess.run(
            [sys.executable, "-m", "tui", "import", path, *more],
            capture_output=True,
            env=environment(),
            check=False,
        )
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr
        assert b"port" in done.stdout
        assert b"\x1b[2J" not in done.stdout
        done.stdout.decode("utf-8")
