"""A recommendation goes into the user's own file, and everything else of it stays."""

from __future__ import annotations

import difflib
import random
import shutil
from pathlib import Path

import pytest

from advisor import dialects, imports, knobs, patch
from advisor.dialects import About, Line
from advisor.errors import InputError
from advisor.knobs import Setting
from advisor.patch.pairs import with_pairs
from tests.unit.settings_draw import draw_settings

DATA = Path(__file__).parents[1] / "data"

OPTIONS = """\
# of the team's own hand
[Version]
  rocksdb_version=10.4.2
  options_file_version=1.1

[DBOptions]
  bytes_per_sync=1048576
  max_background_jobs=4
  max_open_files=-1

[CFOptions "default"]
  merge_operator={id=StringAppendOperator;delimiter=,;}
  write_buffer_size=67108864   # since the incident
  ttl=2592000
  compression=kZSTD
  compression_opts={window_bits=-14;level=32767;max_dict_bytes=16384;}

[TableOptions/BlockBasedTable "default"]
  block_size=4096
  checksum=kXXH3

[CFOptions "history"]
  write_buffer_size=67108864
  compaction_style=kCompactionStyleUniversal

[TableOptions/BlockBasedTable "history"]
  block_size=4096
"""

CNF = """\
# the team's own
[client]
port = 3306

[mysqld]
user = mysql
innodb-buffer-pool-size = 1G   # too small?
innodb_buffer_pool_size = 2G
skip-innodb_doublewrite
loose_innodb_io_capacity=200
max_connections = 800

[mysqldump]
quick
"""


def lines(engine: knobs.Engine, base: dict[str, Setting], **values: Setting) -> list[Line]:
    default = knobs.defaults(engine)
    return [
        Line(name, value, default[name], base.get(name, default[name]), "measured: +9% ops_per_s")
        for name, value in values.items()
    ]


def patched(path: Path, dialect: str, **values: Setting) -> str:
    has = patch.settings_of(path, dialect)
    engine = dialects.engine_of(dialect)
    return patch.patched(path, dialect, lines(engine, has, **values), About(clock="measured"))


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def difference(before: str, after: str) -> tuple[list[str], list[str]]:
    """Statements that went and that came; comments and blank lines are none."""
    found = list(difflib.ndiff(before.splitlines(), after.splitlines()))
    gone, come = ([line[2:].strip() for line in found if line[:2] == sign] for sign in ("- ", "+ "))
    return gone, [line for line in come if line and line[0] != "#"]


def test_an_options_file_keeps_every_line_that_does_not_change(tmp_path: Path) -> None:
    path = write(tmp_path / "OPTIONS-000007", OPTIONS)
    text = patched(
        path,
        "rocksdb-10.4",
        write_buffer_size=128 << 20,
        compression_opts_level=3,
        block_size=16384,
        max_background_jobs=8,
    )
    assert difference(OPTIONS, text) == (
        [
            "max_background_jobs=4",
            "write_buffer_size=67108864   # since the incident",
            "compression_opts={window_bits=-14;level=32767;max_dict_bytes=16384;}",
            "block_size=4096",
        ],
        [
            "max_background_jobs=8",
            "write_buffer_size=134217728   # since the incident",
            "compression_opts={window_bits=-14;level=3;max_dict_bytes=16384;}",
            "block_size=16384",
        ],
    )
    assert text.index("block_size=16384") < text.index('[CFOptions "history"]')
    assert text.count("# measured: +9% ops_per_s") == 4


def test_what_an_options_file_lacks_is_added_to_its_section(tmp_path: Path) -> None:
    short = OPTIONS.split("[TableOptions", 1)[0].replace("  max_background_jobs=4\n", "")
    path = write(tmp_path / "OPTIONS-000007", short)
    text = patched(
        path,
        "rocksdb-10.4",
        max_background_jobs=8,
        filter_policy="bloomfilter:10:false",
        optimize_filters_for_hits=True,
    )
    gone, come = difference(short, text)
    assert gone == []
    assert come == [
        "max_background_jobs=8",
        "optimize_filters_for_hits=true",
        '[TableOptions/BlockBasedTable "default"]',
        "filter_policy=bloomfilter:10:false",
    ]


def test_table_options_in_braces_are_changed_in_their_braces(tmp_path: Path) -> None:
    held = "  block_based_table_factory={block_size=4096;checksum=kXXH3}"
    short = OPTIONS.split("[TableOptions", 1)[0] + held + "\n"
    path = write(tmp_path / "OPTIONS-000007", short)
    text = patched(path, "rocksdb-10.4", block_size=8192, filter_policy="bloomfilter:10:false")
    assert difference(short, text)[1] == [
        "block_based_table_factory={block_size=8192;checksum=kXXH3;"
        "filter_policy=bloomfilter:10:false}"
    ]


def test_a_cache_in_braces_within_braces_keeps_what_else_is_said_of_it(tmp_path: Path) -> None:
    held = (
        "  block_based_table_factory={block_cache={capacity=8M;num_shard_bits=4};block_size=4096}"
    )
    short = OPTIONS.split("[TableOptions", 1)[0] + held + "\n"
    path = write(tmp_path / "OPTIONS-000007", short)
    assert difference(short, patched(path, "rocksdb-10.4", block_cache=1 << 30))[1] == [
        "block_based_table_factory={block_cache={capacity=1073741824;num_shard_bits=4};"
        "block_size=4096}"
    ]


def test_what_no_options_file_states_is_a_comment_at_its_end(tmp_path: Path) -> None:
    path = write(tmp_path / "OPTIONS-000007", OPTIONS)
    text = patched(path, "rocksdb-10.4", sync=True)
    assert difference(OPTIONS, text) == ([], [])
    assert "# not written: sync = on" in text.splitlines()[-1]


@pytest.mark.parametrize(
    ("own", "wanted"),
    [
        ("", "block_cache=1073741824"),
        ("  block_cache=64M\n", "block_cache=1073741824"),
        (
            "  block_cache={num_shard_bits=4;capacity=8388608}\n",
            "block_cache={num_shard_bits=4;capacity=1073741824}",
        ),
    ],
)
def test_a_cache_has_its_new_size_and_keeps_what_else_is_said_of_it(
    tmp_path: Path, own: str, wanted: str
) -> None:
    head = '[TableOptions/BlockBasedTable "default"]\n'
    before = OPTIONS.replace(head, head + own)
    path = write(tmp_path / "OPTIONS-000007", before)
    text = patched(path, "rocksdb-10.4", block_cache=1 << 30)
    assert difference(before, text) == ([own.strip()] if own else [], [wanted])
    assert imports.read(path).settings["lsm"].get("block_cache") != 1 << 30
    assert imports.read(write(path, text)).settings["lsm"]["block_cache"] == 1 << 30


def test_a_cnf_changes_the_line_that_counts_and_no_other(tmp_path: Path) -> None:
    path = write(tmp_path / "my.cnf", CNF)
    text = patched(
        path,
        "mysql-8.4",
        innodb_buffer_pool_size=4 << 30,
        innodb_doublewrite=True,
        innodb_io_capacity=400,
    )
    assert difference(CNF, text) == (
        ["innodb_buffer_pool_size = 2G", "skip-innodb_doublewrite", "loose_innodb_io_capacity=200"],
        ["innodb_buffer_pool_size = 4G", "innodb_doublewrite=ON", "loose_innodb_io_capacity=400"],
    )


def test_a_line_of_an_included_file_is_gone_over_at_the_end(tmp_path: Path) -> None:
    write(tmp_path / "conf.d" / "pool.cnf", "[mysqld]\ninnodb_buffer_pool_size=1G\n")
    text = "[mysqld]\ninnodb_io_capacity=200\n!includedir conf.d\n"
    path = write(tmp_path / "my.cnf", text)
    made = patched(path, "mysql-8.4", innodb_buffer_pool_size=4 << 30, innodb_io_capacity=400)
    assert difference(text, made) == (
        ["innodb_io_capacity=200"],
        ["innodb_io_capacity=400", "[mysqld]", "innodb_buffer_pool_size=4G"],
    )
    assert "# goes over line 2 of" in made
    again = imports.read(write(tmp_path / "new.cnf", made))
    assert again.settings["btree"]["innodb_buffer_pool_size"] == 4 << 30


def test_a_redo_log_in_two_files_becomes_one_size(tmp_path: Path) -> None:
    text = "[mariadbd]\ninnodb_log_file_size=1G\ninnodb_log_files_in_group=2\n"
    path = write(tmp_path / "my.cnf", text)
    made = patched(path, "mariadb-10.11", innodb_redo_log_capacity=4 << 30)
    again = imports.read(write(tmp_path / "new.cnf", made))
    assert again.settings["btree"] == {"innodb_redo_log_capacity": 4 << 30}


def test_the_families_string_of_myrocks_keeps_what_no_knob_knows(tmp_path: Path) -> None:
    text = (
        "[mysqld]\nplugin-load-add=ha_rocksdb\nrocksdb_default_cf_options="
        "'write_buffer_size=64m;ttl=0;compression_opts=-14:32767:0;"
        "block_based_table_factory={block_size=4096;checksum=kxxHash}'\n"
    )
    path = write(tmp_path / "my.cnf", text)
    assert imports.read(path).dialect("lsm") == "myrocks-mariadb-10.11"
    made = patched(
        path,
        "myrocks-mariadb-10.11",
        write_buffer_size=128 << 20,
        compression_opts_level=3,
        filter_policy="bloomfilter:10:false",
    )
    assert (
        'rocksdb_default_cf_options="write_buffer_size=128M;ttl=0;compression_opts=-14:3:0;'
        "block_based_table_factory={block_size=4096;checksum=kxxHash;"
        'filter_policy=bloomfilter:10:false}"'
    ) in made.splitlines()
    assert difference(text, made)[0] == [text.splitlines()[2]]


def test_two_members_of_one_struct_go_into_one_pair_of_braces() -> None:
    changes = {"a.x": "1", "b": "2", "a.y": "3"}
    assert with_pairs("c=4;", changes) == "c=4;b=2;a={x=1;y=3;};"
    assert with_pairs("a={x=0;z=9};c=4", changes) == "a={x=1;z=9;y=3};c=4;b=2"


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    ("dialect", "source"),
    [
        ("rocksdb-10.4", "OPTIONS-db_bench-7.8.3"),
        ("mariadb-10.11", "debian-12-mariadb/my.cnf"),
    ],
)
def test_what_a_patch_says_is_what_was_recommended(
    dialect: str, source: str, seed: int, tmp_path: Path
) -> None:
    engine = dialects.engine_of(dialect)
    path = DATA / source
    if dialect == "mariadb-10.11":
        # Beside what it includes, as the copy will be.
        path = shutil.copytree(path.parent, tmp_path / "etc") / path.name
    has = patch.settings_of(path, dialect)
    settings = draw_settings(engine, dialect, random.Random(seed))
    for name, knob in knobs.catalogue(engine).items():
        if knob.durability:
            settings.pop(name, None)
        elif knob.at_least:
            bound = {**has, **settings}[knob.at_least]
            settings[name] = max(bound, {**has, **settings}[name])  # type: ignore[type-var]
    wanted = lines(engine, has, **settings)
    standing = dialects.applied(dialect, wanted, has)
    made = patch.patched(path, dialect, wanted, About(clock="measured"))
    copied = write(path if path.is_relative_to(tmp_path) else tmp_path / "OPTIONS", made)
    assert patch.settings_of(copied, dialect) == standing


def test_nothing_to_change_changes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "OPTIONS-000007", OPTIONS)
    assert difference(OPTIONS, patched(path, "rocksdb-10.4", write_buffer_size=64 << 20)) == (
        [],
        [],
    )


def test_a_file_of_another_product_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "my.cnf", CNF)
    with pytest.raises(InputError, match="another product"):
        patch.patched(path, "rocksdb-10.4", [], About())
