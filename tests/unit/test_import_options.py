from pathlib import Path

import pytest

from advisor import imports
from advisor.errors import InputError
from advisor.imports import read_options

DATA = Path(__file__).parents[1] / "data"

GOOD = """\
# a comment
[Version]
  rocksdb_version=10.4.2
  options_file_version=1.1

[DBOptions]
  max_background_jobs=8

[CFOptions "default"]
  write_buffer_size=16m   # of memtables
  compression_opts={window_bits=-14;level=32767;nested={a=1;};}

[TableOptions/BlockBasedTable "default"]
  block_size=16384
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "OPTIONS-000007"
    path.write_text(text)
    return path


def settings(path: Path) -> dict[str, object]:
    return dict(read_options(path).settings["lsm"])


def with_family(tmp_path: Path, *lines: str) -> Path:
    text = GOOD.replace("  write_buffer_size=16m   # of memtables\n", "\n".join(lines) + "\n")
    return write(tmp_path, text)


def test_a_file_of_db_bench_gives_what_db_bench_was_asked_for() -> None:
    found = imports.read(DATA / "OPTIONS-db_bench-7.8.3")
    known = found.settings["lsm"]
    assert found.product == "rocksdb"
    assert known["compression"] == "kLZ4Compression"
    assert known["filter_policy"] == "bloomfilter:10:false"
    assert known["write_buffer_size"] == 32 << 20
    assert known["max_background_jobs"] == 4
    assert known["block_size"] == 16384
    assert known["level0_file_num_compaction_trigger"] == 8
    assert known["cache_index_and_filter_blocks"] is True
    assert known["level_compaction_dynamic_level_bytes"] is False
    assert known["prefix_extractor"] == "nullptr"
    assert "block_cache" not in known
    assert any("cache" in note for note in found.notes)
    assert "written for RocksDB 7.8.3" in found.notes


def test_a_file_of_myrocks_is_known_by_its_comparator() -> None:
    found = imports.read(DATA / "OPTIONS-myrocks-mariadb-10.11.19")
    known = found.settings["lsm"]
    assert (found.product, found.dialect("lsm")) == ("myrocks", "myrocks-mariadb-10.11")
    assert known["prefix_extractor"] == "capped:12"
    assert known["filter_policy"] == "bloomfilter:10:false"
    assert any("hides its bits" in note for note in found.notes)
    assert '[CFOptions "__system__"]' in [one.name for one in found.ignored]


def test_what_myrocks_writes_at_start_up_is_not_taken_for_a_setting() -> None:
    found = imports.read(DATA / "OPTIONS-myrocks-mariadb-10.11.19")
    assert "disable_auto_compactions" not in found.settings["lsm"]
    assert "disable_auto_compactions" in [one.name for one in found.ignored]


def test_what_is_not_a_knob_is_listed_with_its_value(tmp_path: Path) -> None:
    found = read_options(write(tmp_path, GOOD))
    assert [(one.name, one.value, one.why) for one in found.ignored] == [
        (
            "compression_opts",
            "window_bits=-14;nested={a=1;}",
            "the model compresses without a dictionary, in the thread of the job",
        )
    ]
    assert settings(write(tmp_path, GOOD)) == {
        "max_background_jobs": 8,
        "write_buffer_size": 16 << 20,
        "block_size": 16384,
        "compression_opts_level": 32767,
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("write_buffer_size=16777216", {"write_buffer_size": 16 << 20}),
        ("write_buffer_size = 1G", {"write_buffer_size": 1 << 30}),
        ("disable_auto_compactions=1", {"disable_auto_compactions": True}),
        ("hard_pending_compaction_bytes_limit=0", {"hard_pending_compaction_bytes_limit": 0}),
        ("max_bytes_for_level_multiplier=8.000000", {"max_bytes_for_level_multiplier": 8.0}),
        ("compression=kZSTDNotFinalCompression", {"compression": "kZSTD"}),
        ("prefix_extractor=rocksdb.FixedPrefix.8", {"prefix_extractor": "fixed:8"}),
        ("prefix_extractor=capped\\:12", {"prefix_extractor": "capped:12"}),
        (
            "compression_per_level=kNoCompression:kLZ4Compression:kZSTDNotFinalCompression",
            {"compression_per_level": "kNoCompression:kLZ4Compression:kZSTD"},
        ),
        ("compression_per_level=", {"compression_per_level": ""}),
        (
            "block_based_table_factory={block_cache=64M;filter_policy=bloomfilter:9.0;}",
            {"block_cache": 64 << 20, "filter_policy": "bloomfilter:9:false"},
        ),
        (
            "block_based_table_factory={block_cache={capacity=8M;high_pri_pool_ratio=0.25;}}",
            {"block_cache": 8 << 20, "high_pri_pool_ratio": 0.25},
        ),
    ],
)
def test_every_written_form_is_understood(
    tmp_path: Path, line: str, expected: dict[str, object]
) -> None:
    found = settings(with_family(tmp_path, line))
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("text", "level", "ignored"),
    [
        ("{level=1;}", 1, []),
        ("{window_bits=-14;level=9;strategy=0;}", 9, ["window_bits=-14;strategy=0"]),
        ("-14:1:0", 1, ["window_bits=-14;strategy=0"]),
        ("-14\\:1\\:0", 1, ["window_bits=-14;strategy=0"]),
        ("-14:-1:0", 32767, ["window_bits=-14;strategy=0"]),
        ("{strategy=2;}", None, ["strategy=2"]),
        ("{level=-5;}", None, ["-5"]),
    ],
)
def test_the_level_is_the_one_member_of_compression_opts_that_is_a_knob(
    tmp_path: Path, text: str, level: int | None, ignored: list[str]
) -> None:
    place = GOOD.index("compression_opts=") + len("compression_opts=")
    end = GOOD.index("\n", place)
    found = read_options(write(tmp_path, GOOD[:place] + text + GOOD[end:]))
    assert found.settings["lsm"].get("compression_opts_level") == level
    assert [one.value for one in found.ignored] == ignored


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("compression=kXpressCompression", "compression"),
        ("compression_per_level=kNoCompression:kBZip2Compression", "compression_per_level"),
        ("compression_per_level=kNoCompression:", "compression_per_level"),
        ("filter_policy=ribbonfilter:10:0", "filter_policy"),
        ("filter_policy=bloomfilter:10:true", "filter_policy"),
        ("compaction_pri=kRoundRobin", "compaction_pri"),
        ("prefix_extractor=rocksdb.Noop", "prefix_extractor"),
        ("compaction_style=kCompactionStyleUniversal", "compaction_style"),
        ("write_buffer_size=1", "write_buffer_size"),
        ("some_future_option=true", "some_future_option"),
        ("block_based_table_factory={block_cache={num_shard_bits=4;}}", "block_cache"),
    ],
)
def test_what_the_engine_cannot_do_is_ignored_with_a_reason(
    tmp_path: Path, line: str, name: str
) -> None:
    found = read_options(with_family(tmp_path, line))
    assert name not in found.settings["lsm"]
    assert next(one for one in found.ignored if one.name == name).why


@pytest.mark.parametrize(
    ("old", "new", "where", "accepted"),
    [
        ("[Version]", "[Versoin]", "2", "[Version], [DBOptions]"),
        ("[Version]", "[Version", "2", "[Version], [DBOptions]"),
        ("[Version]\n", "", "2", "a section such as [Version]"),
        ("1.1", "2.0", "4", "1.x"),
        ("1.1", "one", "4", "1.x"),
        ("  options_file_version=1.1\n", "", "2", "1.x"),
        ("10.4.2", "10.4", "3", "three numbers"),
        ("  rocksdb_version=10.4.2\n", "", "2", "three numbers"),
        ("[DBOptions]", "[Version]", "6", "one such section"),
        ("[DBOptions]\n  max_background_jobs=8\n", "", None, "a complete OPTIONS file"),
        ("[DBOptions]", "[DBOptions]\n[DBOptions]", "7", "one such section"),
        ('[CFOptions "default"]', '[CFOptions "mine"]', "9", '"default" first'),
        ('[CFOptions "default"]', "[CFOptions]", "9", '[CFOptions "NAME"]'),
        ('Table "default"', 'Table "other"', "13", "right after their own family"),
        ("max_background_jobs=8", "max_background_jobs", "7", "name=value"),
        ("max_background_jobs=8", "=8", "7", "name=value"),
        ("max_background_jobs=8", "max_background_jobs=many", "7", "a whole number"),
        ("max_background_jobs=8", "max_background_jobs=8\n max_background_jobs=9", "8", "once"),
        ("write_buffer_size=16m", "write_buffer_size=16q", "10", "powers of 1024"),
        ("write_buffer_size=16m", "compression=lz4", "10", "one of kNoCompression"),
        ("write_buffer_size=16m", "disable_auto_compactions=maybe", "10", "true or false"),
        ("level=32767;nested={a=1;};}", "level=32767;nested={a=1;}", "11", "brace"),
        ("write_buffer_size=16m", "block_based_table_factory={a=1;{}", "10", "brace"),
    ],
)
def test_a_broken_file_is_one_line_with_its_place(
    tmp_path: Path, old: str, new: str, where: str | None, accepted: str
) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_options(path)
    assert (caught.value.source, caught.value.where) == (str(path), where)
    assert accepted in caught.value.accepted


def test_the_newest_file_of_a_directory_is_read(tmp_path: Path) -> None:
    (tmp_path / "OPTIONS-000099").write_text(GOOD)
    (tmp_path / "OPTIONS-000100").write_text(GOOD.replace("=8", "=3"))
    (tmp_path / "OPTIONS-000101.dbtmp").write_text("half a file")
    assert imports.read(tmp_path).settings["lsm"]["max_background_jobs"] == 3


def test_a_directory_without_options_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no OPTIONS file"):
        imports.read(tmp_path)


def test_another_family_is_read_when_it_is_named(tmp_path: Path) -> None:
    text = GOOD + '\n[CFOptions "rev\\:links"]\n  write_buffer_size=8m\n'
    path = write(tmp_path, text)
    found = read_options(path, family="rev:links")
    assert found.settings["lsm"]["write_buffer_size"] == 8 << 20
    with pytest.raises(InputError, match="one of default, rev:links"):
        read_options(path, family="links")


def test_triggers_that_contradict_are_raised_as_rocksdb_does(tmp_path: Path) -> None:
    found = read_options(with_family(tmp_path, "level0_file_num_compaction_trigger=40"))
    assert found.settings["lsm"]["level0_slowdown_writes_trigger"] == 40
    assert found.settings["lsm"]["level0_stop_writes_trigger"] == 40
    assert any("level0_stop_writes_trigger is taken as 40" in note for note in found.notes)
