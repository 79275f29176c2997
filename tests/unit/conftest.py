from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from advisor import knobs
from advisor.data import data_path
from advisor.engines import Engine

Edit = Callable[[Engine, str, str], None]


@pytest.fixture
def edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Edit]:
    """Replaces a text in an engine's file of knobs, for this test."""

    def files_of(*parts: str) -> Path:
        changed = tmp_path / parts[-1]
        return changed if changed.exists() else data_path(*parts)

    def forget() -> None:
        for known in (knobs._file, knobs.catalogue, knobs.dialects):
            known.cache_clear()

    def replace(engine: Engine, old: str, new: str) -> None:
        text = files_of("profiles", "engines", f"{engine}.toml").read_text()
        assert text.count(old) == 1
        (tmp_path / f"{engine}.toml").write_text(text.replace(old, new))
        forget()

    monkeypatch.setattr(knobs, "data_path", files_of)
    yield replace
    forget()
