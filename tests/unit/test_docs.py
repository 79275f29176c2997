"""The pages name files and tests that exist."""

from pathlib import Path

import pytest

from tests.support import pages
from tests.support.pages import ROOT, Row

PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "ARCHITECTURE.md"]
MODEL = ROOT / "docs" / "model.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    paths = pages.named_paths(page.read_text(encoding="utf-8"))
    assert [path for path in paths if not pages.found(path)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_that_can_be_broken_are_no_wider_than_the_others(page: Path) -> None:
    lines = pages.prose(page.read_text(encoding="utf-8"))
    assert [line for line in lines if len(line) > pages.WIDEST] == []


def test_every_effect_of_the_model_names_a_source_a_file_and_a_test() -> None:
    rows = list(pages.rows(MODEL.read_text(encoding="utf-8")))
    assert rows, "no table with files and tests"
    assert [row.effect for row in rows if not (row.source and row.files and row.test)] == []


def test_every_test_that_the_model_names_is_where_it_says() -> None:
    rows = pages.rows(MODEL.read_text(encoding="utf-8"))
    assert [one for row in rows for one in pages.missing_tests(row)] == []


def test_a_test_that_is_nowhere_is_missing() -> None:
    known = "an_index_comes_back_as_it_was_written"
    row = Row("effect", "source", ("lsm/policy/targets.rs",), f"`{known}`, `no_such_test`")
    assert pages.missing_tests(row) == ["beside lsm/policy/targets.rs: no_such_test"]
    elsewhere = Row("effect", "source", ("lsm/policy/targets.rs",), f"`lsm/bloom.rs`: `{known}`")
    assert pages.missing_tests(elsewhere) == [f"lsm/bloom.rs: {known}"]


def test_a_path_of_the_core_and_one_of_the_project_are_found() -> None:
    text = "`error.rs`, `profiles/hardware/*.toml`, `a.b()` and `docs/`\n```\n`gone.rs`\n```\n"
    assert pages.named_paths(text) == ["error.rs", "profiles/hardware/*.toml", "docs/"]
    assert all(pages.found(path) for path in pages.named_paths(text))
