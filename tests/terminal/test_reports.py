"""The report of a study: beside a written file, and of a stored study."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from advisor import core
from tests.support.fake_core import FakeCore
from tui.cli import app

TITLE = "<!doctype html>"


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "load", FakeCore)


def invoke(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def studied(tmp_path: Path) -> Path:
    target = tmp_path / "out" / "OPTIONS"
    words = ("--engine", "lsm", "--trials", 3, "--study", "mine", "-o", target)
    done = invoke("tune", "linkbench", *words)
    assert done.exit_code == 0, done.output
    assert f"and {target.parent / 'report.md'} and {target.parent / 'report.html'}" in done.stderr
    return target.parent


def test_a_written_file_has_the_page_beside_it(studied: Path) -> None:
    assert (studied / "report.html").read_text().startswith(TITLE)
    other = ("tune", "linkbench", "--engine", "lsm", "--trials", 2, "--study", "other")
    assert invoke(*other, "-o", studied / "b").exit_code == 0
    names = {path.name for path in studied.iterdir()}
    assert {"b.report.md", "b.report.html"} <= names
    assert "mine" in (studied / "report.html").read_text()


def test_a_stored_study_is_reported_as_a_page_or_as_markdown(studied: Path) -> None:
    page, text = studied / "p.html", studied / "p.md"
    done = invoke("results", "mine", "--report", page, "--json")
    assert json.loads(done.stdout) == {"study": "mine", "written": [str(page)]}
    assert page.read_text().startswith(TITLE)
    assert invoke("results", "--report", text).exit_code == 0
    assert text.read_text().startswith("# Tuning report: mine\n")
    refused = invoke("results", "mine", "--report", page)
    assert refused.exit_code == 2 and "--force" in refused.stderr
    assert invoke("results", "mine", "--report", page, "--force").exit_code == 0


@pytest.mark.parametrize(
    "words", [("--report", "x.html", "--tables"), ("--report", "x.html", "--sql", "SELECT 1")]
)
def test_a_report_is_the_only_wish(words: tuple[str, ...], tmp_path: Path) -> None:
    refused = invoke("results", *words)
    assert refused.exit_code == 2 and "one or the other" in refused.stderr


def test_a_sweep_is_reported_as_markdown_and_as_a_page(tmp_path: Path) -> None:
    words = ("sweep", "linkbench", "--over", "memory=2GiB,8GiB")
    done = invoke(*words, "-o", tmp_path / "memory.html")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "memory.html").read_text().startswith(TITLE)
    assert (tmp_path / "memory.md").read_text().startswith("# linkbench over memory\n")
    refused = invoke(*words, "-o", tmp_path / "memory.md")
    assert refused.exit_code == 2 and "--force" in refused.stderr
    assert invoke(*words, "-o", tmp_path / "other").exit_code == 0
    assert {"other", "other.html"} <= {path.name for path in tmp_path.iterdir()}
