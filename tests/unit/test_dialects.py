import random
from pathlib import Path

import pytest

from advisor import dialects, knobs, patch
from advisor.dialects import About, Line
from advisor.dialects.rocksdb import assignments
from advisor.errors import InputError
from advisor.knobs import Setting
from tests.unit.conftest import Edit


def line(engine: knobs.Engine, name: str, value: Setting, **more: object) -> Line:
    return Line(name, value, knobs.catalogue(engine)[name].default, **more)  # type: ignore[arg-type]


def settings_of(text: str) -> list[str]:
    return [part for part in text.splitlines() if part.strip() and part.strip()[0] != "#"]


def test_every_dialect_belongs_to_one_engine_and_has_a_title_of_its_own() -> None:
    assert dialects.for_engine("lsm")[0] == "rocksdb-10.4"
    assert dialects.for_engine("btree")[0] == "mariadb-10.11"
    assert dialects.for_engine("lsm") + dialects.for_engine("btree") == dialects.names()
    titles = [dialects.title(name) for name in dialects.names()]
    assert len(titles) == len({*titles, ""}) - 1 == len(dialects.names())


@pytest.mark.parametrize("dialect", dialects.names())
def test_every_file_starts_with_what_it_is_and_how_to_apply_it(dialect: str) -> None:
    text = dialects.write(dialect, [], About("linkbench", "simulated"))
    opening = text.split("[")[0]
    assert all(part.startswith("#") or not part for part in opening.splitlines())
    assert "Profile: linkbench" in opening
    assert "simulated with a virtual clock" in opening
    assert "How to apply" in opening


@pytest.mark.parametrize("dialect", dialects.names())
def test_every_setting_has_a_comment_that_tells_measured_from_rule(dialect: str) -> None:
    engine = dialects.engine_of(dialect)
    lines = [line(engine, name, value) for name, value in knobs.defaults(engine).items()]
    assert "measured:" not in dialects.write(dialect, lines)
    name = "write_buffer_size" if engine == "lsm" else "innodb_buffer_pool_size"
    bought = line(engine, name, 256 << 20, current=64 << 20, evidence="measured: +12% ops_per_s")
    text = dialects.write(dialect, [bought], About(clock="measured"))
    assert "measured: +12% ops_per_s; default" in text
    assert "was 64MiB" in text


def test_simulated_trials_cannot_pass_for_measured_ones() -> None:
    bought = line("lsm", "block_size", 8192, evidence="measured: +1% ops_per_s")
    with pytest.raises(ValueError, match="simulated trial"):
        dialects.write("rocksdb-10.4", [bought], About(clock="simulated"))
    with pytest.raises(ValueError, match="neither measured, simulated nor rule"):
        line("lsm", "block_size", 8192, evidence="+1% ops_per_s")
    with pytest.raises(ValueError, match="neither measured, simulated nor rule"):
        line("lsm", "block_size", 8192, evidence="rule: a\nb=c")


def test_a_comment_cannot_become_a_setting() -> None:
    plain = line("btree", "innodb_io_capacity", 300, evidence="rule: a [mysqld] b=c")
    text = dialects.write("mariadb-10.11", [plain], About("mine\n[mysqld]\nevil=1"))
    assert settings_of(text) == ["[mariadbd]", "innodb_io_capacity=300"]


def test_options_go_to_their_own_sections() -> None:
    lines = [
        line("lsm", "max_background_jobs", 8),
        line("lsm", "write_buffer_size", 32 << 20),
        line("lsm", "filter_policy", "bloomfilter:10:false"),
        line("lsm", "max_bytes_for_level_multiplier", 8.5),
        line("lsm", "cache_index_and_filter_blocks", True),
    ]
    assert settings_of(dialects.write("rocksdb-10.4", lines)) == [
        "[Version]",
        "  rocksdb_version=10.4.2",
        "  options_file_version=1.1",
        "[DBOptions]",
        "  max_background_jobs=8",
        '[CFOptions "default"]',
        "  write_buffer_size=33554432",
        "  max_bytes_for_level_multiplier=8.5",
        '[TableOptions/BlockBasedTable "default"]',
        "  cache_index_and_filter_blocks=true",
        "  filter_policy=bloomfilter:10:false",
    ]


def test_an_options_file_has_the_size_of_the_block_cache() -> None:
    text = dialects.write("rocksdb-10.4", [line("lsm", "block_cache", 1 << 30)])
    section = settings_of(text).index('[TableOptions/BlockBasedTable "default"]')
    assert settings_of(text)[section + 1] == "  block_cache=1073741824"
    assert "db_bench --options_file=PATH --cache_size=0" in text


def test_how_a_commit_is_synced_is_a_comment_in_an_options_file() -> None:
    text = dialects.write("rocksdb-10.4", [line("lsm", "sync", True)])
    assert "# not written: sync = on" in text
    assert not any("sync" in part for part in settings_of(text))


def test_myrocks_takes_one_quoted_string_and_variables() -> None:
    lines = [
        line("lsm", "block_cache", 4 << 30),
        line("lsm", "write_buffer_size", 32 << 20),
        line("lsm", "compression", "kZSTD"),
        line("lsm", "compression_per_level", "kNoCompression:kZSTD"),
        line("lsm", "compression_opts_level", 1),
        line("lsm", "filter_policy", "bloomfilter:10:false"),
        line("lsm", "block_size", 16384),
    ]
    family = "write_buffer_size=32M;compression=kZSTD;"
    family += "compression_per_level=kNoCompression:kZSTD;compression_opts={level=1;};"
    family += "block_based_table_factory={filter_policy=bloomfilter:10:false}"
    assert settings_of(dialects.write("myrocks-mariadb-10.11", lines)) == [
        "[mariadbd]",
        "plugin_load_add=ha_rocksdb",
        "rocksdb_block_cache_size=4G",
        f'rocksdb_default_cf_options="{family}"',
        "rocksdb_block_size=16K",
    ]


@pytest.mark.parametrize(
    ("dialect", "name", "value", "why"),
    [
        ("mariadb-10.11", "innodb_page_cleaners", 4, "removed from MariaDB"),
        ("mariadb-10.11", "innodb_doublewrite_files", 2, "one doublewrite area"),
        ("mariadb-10.11", "innodb_use_fdatasync", False, "always syncs with fdatasync"),
        ("mariadb-10.11", "merge_threshold", 40, "fixed at 50"),
        ("mariadb-10.11", "innodb_compression_algorithm", "zstd", "none, zlib, lz4, snappy"),
        ("mariadb-10.11", "innodb_log_write_ahead_size", 8192, "512B, 1KiB, 2KiB, 4KiB"),
        ("mariadb-10.11", "innodb_buffer_pool_size", 5 << 20, "from 6MiB"),
        ("mysql-8.4", "innodb_compression_algorithm", "zlib", "a property of each table"),
        ("mysql-8.4", "innodb_compression_algorithm", "snappy", "none, zlib, lz4"),
        ("mysql-8.4", "merge_threshold", 40, "the comment of a table"),
        ("mysql-8.4", "innodb_redo_log_capacity", 4 << 20, "from 8MiB"),
        ("myrocks-mariadb-10.11", "block_cache", 0, "from 1KiB"),
        ("rocksdb-10.4", "sync", True, "WriteOptions::sync"),
    ],
)
def test_what_a_product_lacks_is_a_comment_with_the_reason(
    dialect: str, name: str, value: Setting, why: str
) -> None:
    engine = dialects.engine_of(dialect)
    text = dialects.write(dialect, [line(engine, name, value, evidence="measured: +1%")])
    spelling = knobs.catalogue(engine)[name].spellings[dialect]
    assert why in (dialects.problem(dialect, name, value) or "")
    assert why in next(part for part in text.splitlines() if "not written: " + name in part)
    assert not any(spelling.name in part for part in settings_of(text))


@pytest.mark.parametrize("dialect", ["mysql-8.4", "mariadb-10.11"])
def test_the_change_buffer_is_two_variables_of_the_server(dialect: str) -> None:
    lines = [
        line("btree", "innodb_change_buffering", "all"),
        line("btree", "innodb_change_buffer_max_size", 40),
    ]
    written = settings_of(dialects.write(dialect, lines))
    assert written[1:] == ["innodb_change_buffering=all", "innodb_change_buffer_max_size=40"]


def test_table_properties_come_with_their_statements() -> None:
    lines = [
        line("btree", "innodb_compression_algorithm", "zlib"),
        line("btree", "merge_threshold", 40),
    ]
    text = dialects.write("mysql-8.4", lines)
    assert "ALTER TABLE t COMPRESSION='zlib'; OPTIMIZE TABLE t;" in text
    assert "CREATE INDEX i ON t (c) COMMENT 'MERGE_THRESHOLD=40';" in text


@pytest.mark.parametrize("dialect", ["mysql-8.4", "mariadb-10.11"])
def test_compressed_tables_are_statements_and_no_setting(dialect: str) -> None:
    text = dialects.write(dialect, [line("btree", "key_block_size", 8192)])
    assert "ALTER TABLE t ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8;" in text
    assert settings_of(text) == [{"mysql-8.4": "[mysqld]"}.get(dialect, "[mariadbd]")]


@pytest.mark.parametrize("dialect", ["mysql-8.4", "mariadb-10.11"])
def test_which_tables_are_compressed_is_a_statement_for_the_others(dialect: str) -> None:
    text = dialects.write(dialect, [line("btree", "compressed_indexes", "1:2:3")])
    assert "other tables: ALTER TABLE t ROW_FORMAT=DYNAMIC KEY_BLOCK_SIZE=0;" in text
    assert settings_of(text) == [{"mysql-8.4": "[mysqld]"}.get(dialect, "[mariadbd]")]
    assert "ALTER TABLE" not in dialects.write(
        dialect, [line("btree", "compressed_indexes", "all")]
    )


@pytest.mark.parametrize("codec", ["lz4", "snappy"])
def test_a_codec_with_a_package_of_its_own_waits_for_it(codec: str) -> None:
    lines = [line("btree", "innodb_compression_algorithm", codec)]
    text = dialects.write("mariadb-10.11", lines)
    assert settings_of(text) == ["[mariadbd]"]
    assert f"apt-get install mariadb-plugin-provider-{codec}" in text
    assert f"#innodb_compression_algorithm={codec}" in text
    assert f"#plugin_load_add=provider_{codec}" in text
    assert "ALTER TABLE t PAGE_COMPRESSED=1" in text


def test_a_codec_that_is_in_use_already_is_written_with_its_plugin() -> None:
    lines = [line("btree", "innodb_compression_algorithm", "lz4", current="lz4")]
    assert settings_of(dialects.write("mariadb-10.11", lines)) == [
        "[mariadbd]",
        "innodb_compression_algorithm=lz4",
        "innodb_compression_default=ON",
        "plugin_load_add=provider_lz4",
    ]


def test_a_codec_that_the_server_has_waits_for_the_tables() -> None:
    text = dialects.write("mariadb-10.11", [line("btree", "innodb_compression_algorithm", "zlib")])
    assert settings_of(text) == ["[mariadbd]"]
    assert "# waits: these lines, then ALTER TABLE t PAGE_COMPRESSED=1; for each table" in text


def test_fewer_levels_wait_until_the_files_of_the_deeper_ones_have_moved() -> None:
    for dialect in dialects.for_engine("lsm"):
        text = dialects.write(dialect, [line("lsm", "num_levels", 4)])
        assert "num_levels" not in " ".join(settings_of(text))
        assert "reduce_levels --new_levels=4" in text
        more = dialects.write(dialect, [line("lsm", "num_levels", 9)])
        assert "num_levels=9" in " ".join(settings_of(more))


def test_what_a_file_applies_is_what_stands_in_it() -> None:
    base = dict(knobs.defaults("btree"))
    lines = [
        line("btree", "innodb_page_size", 8192),
        line("btree", "innodb_compression_algorithm", "lz4"),
        line("btree", "key_block_size", 8192),
        line("btree", "innodb_page_cleaners", 8),
        line("btree", "innodb_buffer_pool_size", (1 << 30) + 5),
    ]
    changed = {"innodb_buffer_pool_size": 1 << 30}
    assert dialects.applied("mariadb-10.11", lines, base) == base | changed
    mysql = changed | {"innodb_buffer_pool_size": (1 << 30) + 5, "innodb_page_cleaners": 8}
    assert dialects.applied("mysql-8.4", lines, base) == base | mysql


def test_members_of_one_struct_are_written_in_one_pair_of_braces() -> None:
    pairs = [
        ("compression_opts.level", "3"),
        ("compression", "kZSTD"),
        ("compression_opts.max_dict_bytes", "16384"),
    ]
    assert assignments(pairs) == [
        "compression_opts={level=3;max_dict_bytes=16384;}",
        "compression=kZSTD",
    ]


def test_redo_has_another_name_in_mariadb() -> None:
    redo = [line("btree", "innodb_redo_log_capacity", 1 << 30)]
    assert "innodb_log_file_size=1G" in settings_of(dialects.write("mariadb-10.11", redo))
    assert "innodb_redo_log_capacity=1G" in settings_of(dialects.write("mysql-8.4", redo))


def test_sizes_are_rounded_down_to_what_the_product_holds_and_say_so() -> None:
    text = dialects.write(
        "mariadb-10.11", [line("btree", "innodb_buffer_pool_size", (64 << 20) + 5)]
    )
    assert "innodb_buffer_pool_size=64M" in settings_of(text)
    assert "rounded down from 67108869" in text


def test_another_page_size_waits_for_a_new_data_directory() -> None:
    text = dialects.write("mariadb-10.11", [line("btree", "innodb_page_size", 8192)])
    assert "#innodb_page_size=8K" in text
    kept = dialects.write("mariadb-10.11", [line("btree", "innodb_page_size", 8192, current=8192)])
    assert "innodb_page_size=8K" in settings_of(kept)


@pytest.mark.parametrize(
    ("evidence", "value", "written"),
    [
        ("rule", 2, False),
        ("rule: asked for", 2, True),
        ("measured: +80% ops_per_s", 2, True),
        ("rule: the default", 1, False),
    ],
)
def test_durability_is_written_only_when_someone_decided_it(
    evidence: str, value: int, written: bool
) -> None:
    text = dialects.write(
        "mariadb-10.11", [line("btree", "innodb_flush_log_at_trx_commit", value, evidence=evidence)]
    )
    assert (f"innodb_flush_log_at_trx_commit={value}" in settings_of(text)) is written


@pytest.mark.parametrize(
    ("sync", "manual", "flush"), [(True, False, 1), (False, False, 2), (False, True, 0)]
)
def test_two_knobs_of_durability_are_one_variable_of_myrocks(
    sync: bool, manual: bool, flush: int
) -> None:
    lines = [
        line("lsm", "sync", sync, evidence="measured: +1%"),
        line("lsm", "manual_wal_flush", manual, evidence="measured: +1%"),
    ]
    text = dialects.write("myrocks-mariadb-10.11", lines)
    assert f"rocksdb_flush_log_at_trx_commit={flush}" in settings_of(text)


def test_settings_are_grouped_by_when_they_take_effect() -> None:
    lines = [
        line("btree", "innodb_log_buffer_size", 32 << 20),
        line("btree", "innodb_io_capacity", 500),
        line("btree", "innodb_page_size", 16384),
    ]
    text = dialects.write("mariadb-10.11", lines)
    places = [
        text.index(part)
        for part in (
            "--- dynamic",
            "innodb_io_capacity=500",
            "--- restart",
            "innodb_log_buffer_size=32M",
            "--- rebuild",
            "innodb_page_size=16K",
        )
    ]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("dialect", "lines", "named"),
    [
        ("rocksdb-9", [], "one of rocksdb-10.4"),
        ("rocksdb-10.4", [Line("innodb_io_capacity", 200, 200)], "one of write_buffer_size"),
        ("rocksdb-10.4", [Line("block_size", 1, 4096)], "a size from 256B"),
        ("rocksdb-10.4", [Line("block_size", 4096, 4096)] * 2, "one line per knob"),
        ("mariadb-10.11", [Line("innodb_io_capacity", 9000, 200)], "at least innodb_io_capacity"),
    ],
)
def test_wrong_lines_are_refused(dialect: str, lines: list[Line], named: str) -> None:
    with pytest.raises(InputError) as caught:
        dialects.write(dialect, lines)
    assert named in caught.value.accepted


def test_no_dialect_writes_a_name_that_the_catalogue_calls_absent() -> None:
    draw = random.Random(7)
    for dialect in dialects.names():
        engine = dialects.engine_of(dialect)
        for name, knob in knobs.catalogue(engine).items():
            if not knob.spellings[dialect].absent:
                continue
            value = draw.choice(knob.choices) if knob.choices else knob.default
            text = dialects.write(dialect, [line(engine, name, value, evidence="rule: x")])
            assert not any(part.strip().startswith(name) for part in settings_of(text))


YOUNGER = """
[dialects."mysql-9.7"]
like = "mysql-8.4"
title = "InnoDB in MySQL 9.7"
"""


def test_a_younger_version_is_a_head_and_the_rows_that_differ(tmp_path: Path, edit: Edit) -> None:
    edit("btree", "\n[innodb_buffer_pool_size]", f"{YOUNGER}\n[innodb_buffer_pool_size]")
    row = 'in."mysql-9.7".absent = "removed"'
    edit("btree", "[innodb_change_buffering]", f"[innodb_change_buffering]\n{row}")
    lines = [
        line("btree", "innodb_buffer_pool_size", 4 << 30),
        line("btree", "innodb_change_buffering", "all"),
    ]
    old, new = (dialects.write(name, lines) for name in ("mysql-8.4", "mysql-9.7"))
    assert settings_of(new) == [
        one for one in settings_of(old) if one != "innodb_change_buffering=all"
    ]
    assert new.startswith("# my.cnf for InnoDB in MySQL 9.7,")
    assert new.splitlines()[-1].endswith(": removed")
    assert dialects.for_engine("btree")[-1] == "mysql-9.7"
    cnf = tmp_path / "my.cnf"
    cnf.write_text("[mysqld]\ninnodb_redo_log_capacity=1G\n")
    assert patch.fits(cnf, "mysql-9.7")
    assert not patch.fits(cnf, "mariadb-10.11")
