"""The page of the views says what the schema does, and its examples can be asked."""

from pathlib import Path

import pytest

from advisor.store import Store
from tests.support import results_page
from tests.support.problems import record, trial


def test_the_page_is_what_the_schema_says() -> None:
    assert results_page.PAGE.read_text(encoding="utf-8") == results_page.page()


def test_every_view_and_no_other_is_told() -> None:
    found = results_page.columns()
    assert set(results_page.VIEWS) == set(found)
    seen = {name for columns in found.values() for name, _ in columns}
    assert set(results_page.COLUMNS) <= seen, "a column that no view has any more"


@pytest.mark.parametrize("view", results_page.VIEWS)
def test_the_example_of_a_view_can_be_asked(view: str, tmp_path: Path) -> None:
    store = Store(tmp_path / "results.duckdb")
    store.add_study(record("mine"))
    store.add_trial(trial(clock="simulated"), "mine")
    query = results_page.VIEWS[view].query
    assert f"FROM {view}" in query
    rows = store.sql(query).rows
    told = ("run", "run_bytes", "run_interval", "run_operation", "run_shape")
    assert len(rows) == (view in told)
