"""A file is written whole or not at all."""

import errno
from pathlib import Path

import pytest

from advisor import atomic
from advisor.errors import InputError, WorkError


def test_the_text_is_written_and_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "my.cnf"
    atomic.write_text(path, "größe\n", force=False)
    assert path.read_text(encoding="utf-8") == "größe\n"


def test_an_existing_file_needs_force(tmp_path: Path) -> None:
    path = tmp_path / "my.cnf"
    path.write_text("old")
    with pytest.raises(InputError, match="--force"):
        atomic.write_text(path, "new", force=False)
    assert path.read_text() == "old"
    atomic.write_text(path, "new", force=True)
    assert path.read_text() == "new"


def test_rights_of_an_existing_file_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "my.cnf"
    path.write_text("old")
    path.chmod(0o640)
    atomic.write_text(path, "new", force=True)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder"):
        atomic.write_text(tmp_path, "text", force=True)


def test_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="a path that can be written"):
        atomic.write_text(tmp_path / "file" / "my.cnf", "text", force=False)


def test_a_target_is_refused_before_the_work_as_it_would_be_after_it(tmp_path: Path) -> None:
    path = tmp_path / "my.cnf"
    path.write_text("old")
    for refused, force in ((tmp_path, True), (path, False), (path / "below", True)):
        with pytest.raises(InputError) as before:
            atomic.check_target(refused, force)
        with pytest.raises(InputError) as after:
            atomic.write_text(refused, "new", force)
        assert str(before.value) == str(after.value)


def test_a_target_that_is_looked_at_leaves_nothing_behind(tmp_path: Path) -> None:
    atomic.check_target(tmp_path / "new" / "my.cnf", force=False)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_old_file_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "my.cnf"
    path.write_text("old")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic.os, "fsync", full)
    with pytest.raises(WorkError, match="no space left"):
        atomic.write_text(path, "new", force=True)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["my.cnf"]
