"""The readers of what users write, each with the documents to begin from and what holds of the
value that it reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from advisor import goal, imports, knobs, profile
from advisor.data import data_path
from advisor.goal import parse_goal
from advisor.scale import Scale, machine_spec
from advisor.sizes import format_size, parse_size
from tui.output import plain
from tui.problem import current_by_engine
from tui.profile_text import profile_text

DATA = Path(__file__).parents[1] / "data"
SECRET = "hunter2"
SECRETS = [
    f"password = {SECRET}",
    f"loose-PASSWORD={SECRET}",
    f"wsrep_sst_auth=me:{SECRET}",
    f'ssl-key-pass = "{SECRET}" # theirs',
    f"init_conn='SET PASSWORD = {SECRET}'",
    f"skip-loose-master-pas={SECRET}",
    f"server = mysql://me:{SECRET}@host/db",
    f"password {SECRET}",
    f"my password is {SECRET}",
]


@dataclass(frozen=True)
class Reader:
    """`read` answers with all that is shown of the value it read, as text."""

    corpus: list[bytes]
    read: Callable[[Path, bytes], str]
    """Takes a folder for files, and the document."""
    secrets: bool = False
    """Whether lines with secrets are put into its documents, which it must not show."""


def _my_cnf(folder: Path, document: bytes) -> str:
    path = folder / "my.cnf"
    path.write_bytes(document)
    return _shown(imports.read_mycnf(path))


def _options(folder: Path, document: bytes) -> str:
    path = folder / "OPTIONS-000007"
    path.write_bytes(document)
    return _shown(imports.read_options(path))


def _either(folder: Path, document: bytes) -> str:
    path = folder / "any"
    path.write_bytes(document)
    return _shown(imports.read(path))


def _shown(found: imports.Imported) -> str:
    """What `import` prints, whose settings must be ones that the engines take."""
    for engine, settings in found.settings.items():
        knobs.check(engine, settings)
        for name, value in settings.items():
            knobs.catalogue(engine)[name].show(value)
    return json.dumps(plain([found.settings, found.ignored, found.notes, found.product]))


def _profile(folder: Path, document: bytes) -> str:
    path = folder / "mine.toml"
    path.write_bytes(document)
    read = profile.load(path)
    text = profile_text(read)
    (folder / "again.toml").write_text(text)
    again = profile.load(folder / "again.toml")
    assert again.model_copy(update={"name": read.name}) == read, "what is shown means the same"
    assert read.units >= 1
    assert read.keys >= 1
    return text


def _hardware(folder: Path, document: bytes) -> str:
    path = folder / "box.toml"
    path.write_bytes(document)
    read = profile.hardware(path)
    return json.dumps(
        [machine_spec(read, Scale(f), page_cache_bytes=1 << 30) for f in (1.0, 1e-3, 1e-9)]
    )


def _goal(folder: Path, document: bytes) -> str:
    read = parse_goal(document.decode("utf-8", "surrogateescape"))
    assert parse_goal(str(read)).metric == read.metric
    read.broken(dict.fromkeys(goal.METRICS, 1.0))
    return str(read)


def _size(folder: Path, document: bytes) -> str:
    try:
        return format_size(parse_size(document.decode("utf-8", "surrogateescape")))
    except ValueError as error:
        return str(error)


def _set(folder: Path, document: bytes) -> str:
    text = document.decode("utf-8", "surrogateescape")
    return json.dumps(plain(current_by_engine(None, [text], knobs.ENGINES)))


def _files(*paths: Path) -> list[bytes]:
    return [path.read_bytes() for path in paths]


def _assignments() -> list[bytes]:
    return [
        f"{name}={knob.show(knob.default)}".encode()
        for engine in knobs.ENGINES
        for name, knob in knobs.catalogue(engine).items()
    ]


_CNF = [
    *_files(*sorted(path for path in DATA.rglob("*.cnf") if path.is_file())),
    b"[mysqld]\n" + b"\n".join(line for line in _assignments() if line.startswith(b"innodb_")),
    b'[mariadb]\nrocksdb_default_cf_options="write_buffer_size=256m;block_based_table_factory='
    b"{filter_policy=bloomfilter:10:false;cache_index_and_filter_blocks=1};compression_opts=-14:4:0;"
    b'prefix_extractor=capped:12"\nrocksdb_flush_log_at_trx_commit=2\nrocksdb_block_cache_size=2G\n',
]
_OPTIONS = _files(*sorted(DATA.glob("OPTIONS-*")))

READERS: dict[str, Reader] = {
    "my.cnf": Reader(_CNF, _my_cnf, secrets=True),
    "OPTIONS": Reader(_OPTIONS, _options, secrets=True),
    "my.cnf or OPTIONS": Reader(_CNF + _OPTIONS, _either, secrets=True),
    "profile": Reader(
        [
            *_files(*sorted(data_path("profiles").glob("*.toml"))),
            *(profile_text(one).encode() for one in profile.shipped().values()),
            data_path("profiles", "linkbench.toml").read_bytes()
            + b"\n[hardware]\n"
            + data_path("profiles", "hardware", "nvme-2024.toml").read_bytes(),
        ],
        _profile,
    ),
    "hardware": Reader(
        _files(*sorted(data_path("profiles", "hardware").glob("*.toml"))), _hardware
    ),
    "goal": Reader(
        [
            b"maximize ops_per_s subject to p99_us <= 5ms, space_amp <= 2 and disk_bytes <= 4GiB",
            b"minimize write_kb_per_op",
            *(f"{one.direction} {one.name}".encode() for one in goal.METRICS.values()),
        ],
        _goal,
    ),
    "size": Reader([b"4096", b"64KiB", b"16M", b"1.5GiB", b"0.1 PB", b"7b"], _size),
    "--set": Reader(_assignments(), _set),
}
