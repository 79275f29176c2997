"""What a user names is read only if it is a regular file of a bounded size, whoever reads it."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from advisor import files, imports, profile
from advisor.errors import InputError
from advisor.imports import option_groups, options_file
from advisor.store import Store
from tests.support.problems import trial

READERS: dict[str, Callable[[Path], object]] = {
    "my.cnf or OPTIONS": imports.read,
    "my.cnf": imports.read_mycnf,
    "OPTIONS": imports.read_options,
    "profile": profile.load,
    "hardware": profile.hardware,
    "results": lambda path: Store(path).sql("SELECT 1"),
    "results, written to": lambda path: Store(path).add_trial(trial()),
}


def pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def loop(folder: Path) -> Path:
    (folder / "loop").symlink_to(folder / "loop")
    return folder / "loop"


def listening(folder: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(folder / "socket"))
    return folder / "socket"


STRANGE: dict[str, Callable[[Path], Path]] = {
    "a pipe": pipe,
    "a socket": listening,
    "a device without an end": lambda folder: Path("/dev/zero"),
    "a loop of links": loop,
    "a name that is too long": lambda folder: folder / ("x" * 300),
    "a path with a zero byte": lambda folder: folder / "a\0b",
    "a path of another encoding": lambda folder: folder / "\udcff",
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("strange", STRANGE)
def test_no_reader_opens_what_is_no_regular_file(reader: str, strange: str, tmp_path: Path) -> None:
    path = STRANGE[strange](tmp_path)
    with pytest.raises(InputError) as caught:
        READERS[reader](path)
    assert str(caught.value).isprintable()


def test_a_file_is_read_up_to_the_limit_and_no_further(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert files.read_bytes(path, 5) == b"12345"
    with pytest.raises(InputError, match=r"found a file of more than 4B; accepted: .* at most 4B"):
        files.read_bytes(path, 4)


@pytest.mark.parametrize("reader", ["my.cnf or OPTIONS", "my.cnf", "OPTIONS", "profile"])
def test_a_file_that_is_too_large_is_refused(reader: str, tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(files.MOST_BYTES + 1)
    with pytest.raises(InputError, match="a file of more than"):
        READERS[reader](path)


def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pipe(tmp_path)
    monkeypatch.setattr(files, "check_regular", lambda path, accepted: None)
    with pytest.raises(InputError, match="a pipe"):
        files.read_bytes(path)


def test_files_that_include_each_other_end(tmp_path: Path) -> None:
    names = [f"{number}.cnf" for number in range(11)]
    for name in names:
        (tmp_path / name).write_text("".join(f"!include {other}\n" for other in names) * 6)
    with pytest.raises(InputError, match=r"nested includes|more than 256 included files"):
        imports.read_mycnf(tmp_path / "0.cnf")


def test_no_more_files_are_included_than_allowed(tmp_path: Path) -> None:
    (tmp_path / "more.cnf").write_text("[mysqld]\n")
    whole = tmp_path / "my.cnf"
    whole.write_text("!include more.cnf\n" * option_groups.MAX_INCLUDES)
    imports.read_mycnf(whole)
    whole.write_text("!include more.cnf\n" * (option_groups.MAX_INCLUDES + 1))
    with pytest.raises(InputError, match=r"my.cnf:257: found more than 256 included files"):
        imports.read_mycnf(whole)


def test_a_folder_of_more_files_than_may_be_included_is_refused(tmp_path: Path) -> None:
    (tmp_path / "conf.d").mkdir()
    for number in range(option_groups.MAX_INCLUDES + 1):
        (tmp_path / "conf.d" / f"{number}.cnf").touch()
    (tmp_path / "my.cnf").write_text("!includedir conf.d\n")
    with pytest.raises(InputError, match="more than 256 included files"):
        imports.read_mycnf(tmp_path / "my.cnf")


@pytest.mark.parametrize("line", ["!include absent\n" * 257, f"!include {'a/' * 2000}\n"])
def test_includes_that_lead_nowhere_are_bounded_too(line: str, tmp_path: Path) -> None:
    (tmp_path / "my.cnf").write_text(line)
    with pytest.raises(InputError, match=r"found (more than 256 included|a path of more than)"):
        imports.read_mycnf(tmp_path / "my.cnf")


def test_sections_of_an_options_file_are_bounded(tmp_path: Path) -> None:
    head = "[Version]\nrocksdb_version=8.0.0\noptions_file_version=1.1\n[DBOptions]\n"
    families = (f'[CFOptions "{name}"]\n' for name in ["default", *range(5000)])
    (tmp_path / "OPTIONS").write_text(head + "".join(families))
    with pytest.raises(InputError, match="more than 4096 sections"):
        imports.read_options(tmp_path / "OPTIONS")


def test_lines_are_counted_over_all_files(tmp_path: Path) -> None:
    (tmp_path / "more.cnf").write_text("#\n" * (option_groups.MAX_LINES // 2))
    (tmp_path / "my.cnf").write_text("!include more.cnf\n" * 3)
    with pytest.raises(InputError, match=r"more.cnf:\d+: found more than 100000 lines"):
        imports.read_mycnf(tmp_path / "my.cnf")


@pytest.mark.parametrize("target", ["pipe", "/dev/zero"])
def test_an_include_of_what_is_no_file_is_refused_by_name(target: str, tmp_path: Path) -> None:
    pipe(tmp_path)
    (tmp_path / "my.cnf").write_text(f"!include {target}\n")
    with pytest.raises(InputError, match=target):
        imports.read_mycnf(tmp_path / "my.cnf")


def test_an_include_whose_name_is_too_long_is_missing(tmp_path: Path) -> None:
    (tmp_path / "my.cnf").write_text(f"!include {'x' * 300}\n!includedir {'y' * 300}\n")
    found = imports.read_mycnf(tmp_path / "my.cnf")
    assert [one.why.split(",")[0] for one in found.ignored] == ["not found", "not found"]


def test_a_line_longer_than_a_server_reads_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "my.cnf"
    path.write_text(f"[client]\nx={'y' * (option_groups.MAX_LINE_BYTES - 2)}\n")
    assert len(imports.read_mycnf(path).ignored) == 1
    path.write_text(f"[client]\nx={'y' * (option_groups.MAX_LINE_BYTES - 1)}\n")
    with pytest.raises(InputError, match=r"my.cnf:2: found a line of 4096 bytes"):
        imports.read_mycnf(path)


@pytest.mark.parametrize(
    "line",
    [
        "x=" + "y" * options_file.MAX_LINE_LETTERS,
        "#\n" * options_file.MAX_LINES,
        "\n".join(
            f'[TableOptions/BlockBasedTable "default"]\ntable_factory={"y=1;" * 9999}'
            for n in range(11)
        ),
    ],
)
def test_an_options_file_has_a_bounded_number_of_settings(tmp_path: Path, line: str) -> None:
    head = "[Version]\nrocksdb_version=8.0.0\noptions_file_version=1.1\n[DBOptions]\n"
    (tmp_path / "OPTIONS").write_text(f'{head}[CFOptions "default"]\n{line}\n')
    with pytest.raises(InputError, match="at most 100000"):
        imports.read_options(tmp_path / "OPTIONS")
