"""A file of another engine than the model: told first, and taken only by force."""

import json
from pathlib import Path

import pytest

from advisor import core
from tests.support.fake_core import FakeCore
from tests.terminal.test_commands import invoke, refused
from tui.forms import question_of
from tui.views import FormProblems, StudyForm

DB_BENCH = Path(__file__).parents[1] / "data" / "OPTIONS-db_bench-7.8.3"
LINE = "compaction_style=kCompactionStyleUniversal (line 156)"


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCore:
    fake = FakeCore()
    monkeypatch.setattr(core, "load", lambda: fake)
    return fake


@pytest.fixture
def universal(tmp_path: Path) -> Path:
    path = tmp_path / "OPTIONS-000007"
    text = DB_BENCH.read_text()
    path.write_text(text.replace("kCompactionStyleLevel", "kCompactionStyleUniversal"))
    return path


def test_import_says_it_first_and_counts_what_is_at_its_default(universal: Path) -> None:
    said = invoke("import", universal).stdout
    assert said.startswith("ANOTHER ENGINE THAN THE MODEL")
    assert said.index("kCompactionStyleUniversal") < said.index("write_buffer_size")
    assert "137 more settings are what the product does anyway" in said
    assert "wal_filter" not in said


def test_import_tells_the_kinds_apart_in_its_document(universal: Path) -> None:
    told = json.loads(invoke("import", universal, "--json").stdout)
    weights = {one["name"]: one["weight"] for one in told["ignored"]}
    assert weights["compaction_style"] == "another engine"
    assert weights["enable_pipelined_write"] == "left out"
    assert weights["dump_malloc_stats"] == "no bearing"
    assert weights["wal_filter"] == "default"


@pytest.mark.parametrize(
    "words", [("tune", "linkbench", "--trials", 3), ("run", "linkbench", "--engine", "lsm")]
)
def test_a_study_or_run_of_it_needs_force(
    fake: FakeCore, universal: Path, words: tuple[object, ...]
) -> None:
    assert f"another engine: {LINE}" in refused(*words, "--from", universal)
    assert fake.specs == []
    forced = invoke(*words, "--from", universal, "--force")
    assert forced.exit_code == 0
    assert f"another engine than the model: {LINE}" in forced.stderr.splitlines()[0]


def test_a_profile_of_it_needs_force(tmp_path: Path, universal: Path) -> None:
    words = ("import", universal, "--profile", "linkbench", "-o", tmp_path / "mine.toml")
    assert LINE in refused(*words)
    assert not (tmp_path / "mine.toml").exists()
    assert invoke(*words, "--force").exit_code == 0


def test_the_form_complains_under_its_field(universal: Path) -> None:
    form = StudyForm(profile="linkbench", engine="both", current=str(universal))
    with pytest.raises(FormProblems) as wrong:
        question_of(form)
    assert LINE in wrong.value.problems["current"]


def test_a_study_of_the_other_engine_alone_is_not_concerned(fake: FakeCore, tmp_path: Path) -> None:
    mixed = tmp_path / "my.cnf"
    mixed.write_text("[mysqld]\ninnodb_flush_neighbors=1\nrocksdb_index_type=kHashSearch\n")
    words = ("run", "linkbench", "--from", str(mixed), "--engine")
    assert invoke(*words, "btree").exit_code == 0
    assert "kHashSearch" in refused(*words, "lsm")
