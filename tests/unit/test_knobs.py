from dataclasses import replace

import pytest

from advisor import dialects, engines, knobs, options
from advisor.errors import InputError
from advisor.imports.imported import settle
from advisor.knobs import ENGINES, Engine
from advisor.scale import Scale
from tests.unit.conftest import Edit

GIB = 1 << 30
ALL = [(engine, name) for engine in ENGINES for name in knobs.catalogue(engine)]


@pytest.mark.parametrize(("engine", "name"), ALL)
def test_every_knob_is_complete(engine: Engine, name: str) -> None:
    knob = knobs.catalogue(engine)[name]
    assert knob.text.endswith(".")
    assert knob.normal(knob.default) == knob.default
    assert type(knob.normal(knob.default)) is type(knob.default)
    assert set(knob.spellings) == set(dialects.for_engine(engine))
    assert knob.at_least is None or knob.at_least in knobs.catalogue(engine)


@pytest.mark.parametrize(("engine", "name"), ALL)
def test_a_search_walks_only_accepted_values(engine: Engine, name: str) -> None:
    knob = knobs.catalogue(engine)[name]
    if knob.search is None:
        return
    ends = knob.search.choices or (knob.search.low, knob.search.high)
    assert all(knob.normal(value) is not None for value in ends)
    assert knob.search.low > 0 or not knob.search.log


@pytest.mark.parametrize(("engine", "name"), ALL)
def test_values_are_read_back_from_how_they_are_shown(engine: Engine, name: str) -> None:
    knob = knobs.catalogue(engine)[name]
    for value in (knob.default, *(knob.choices or ())):
        assert knobs.parse_value(knob, knob.show(value)) == value


@pytest.mark.parametrize("engine", ENGINES)
def test_defaults_and_product_defaults_pass_the_check(engine: Engine) -> None:
    assert knobs.check(engine, knobs.defaults(engine)) == knobs.defaults(engine)
    for dialect in dialects.for_engine(engine):
        assert knobs.check(engine, dialects.product_defaults(dialect))


@pytest.mark.parametrize(
    ("engine", "name", "text", "value"),
    [
        ("lsm", "write_buffer_size", "16MiB", 16 << 20),
        ("lsm", "compression", "kzstd", "kZSTD"),
        ("lsm", "max_bytes_for_level_multiplier", "8", 8.0),
        ("lsm", "level_compaction_dynamic_level_bytes", "off", False),
        ("btree", "innodb_adaptive_flushing", "1", True),
        ("btree", "innodb_page_size", "8k", 8192),
        ("btree", "innodb_io_capacity", "1e3", 1000),
        ("btree", "compressed_indexes", "1:2:30", "1:2:30"),
    ],
)
def test_values_are_read_as_people_write_them(
    engine: Engine, name: str, text: str, value: object
) -> None:
    parsed = knobs.parse_value(knobs.catalogue(engine)[name], text)
    assert (parsed, type(parsed)) == (value, type(value))


@pytest.mark.parametrize(
    ("engine", "name", "text"),
    [
        ("lsm", "write_buffer_size", "lots"),
        ("lsm", "write_buffer_size", "1K"),
        ("lsm", "num_levels", "7.5"),
        ("lsm", "num_levels", "1"),
        ("lsm", "compression", "kBrotli"),
        ("lsm", "filter_policy", "bloomfilter:0:false"),
        ("lsm", "filter_policy", "bloomfilter:10"),
        ("lsm", "prefix_extractor", "fixed:0"),
        ("lsm", "sync", "maybe"),
        ("btree", "innodb_page_size", "12K"),
        ("btree", "innodb_max_dirty_pages_pct", "nan"),
        ("btree", "innodb_io_capacity", "inf"),
        ("btree", "innodb_flush_neighbors", ""),
        ("btree", "compressed_indexes", "1,2"),
        ("btree", "compressed_indexes", ""),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_accepted(
    engine: Engine, name: str, text: str
) -> None:
    knob = knobs.catalogue(engine)[name]
    with pytest.raises(InputError) as caught:
        knobs.parse_value(knob, text, source="--set")
    assert str(caught.value) == f"--set:{name}: found {text!r}; accepted: {knob.accepted}"


def test_an_unknown_knob_is_answered_with_its_nearest_neighbours() -> None:
    with pytest.raises(InputError, match=r"write_buffer_sise.*such as write_buffer_size"):
        knobs.check("lsm", {"write_buffer_sise": 1})


@pytest.mark.parametrize(
    ("engine", "settings"),
    [
        ("lsm", {"write_buffer_size": True}),
        ("lsm", {"write_buffer_size": "64MiB"}),
        ("lsm", {"sync": 1}),
        ("lsm", {"max_background_jobs": 2.5}),
        ("btree", {"innodb_io_capacity": float("nan")}),
        ("btree", {"innodb_page_size": 12288}),
        ("btree", {"innodb_compression_algorithm": 3}),
    ],
)
def test_settings_of_the_wrong_type_are_refused(
    engine: Engine, settings: dict[str, object]
) -> None:
    with pytest.raises(InputError, match=next(iter(settings))):
        knobs.check(engine, settings)


@pytest.mark.parametrize(
    ("engine", "settings", "named"),
    [
        ("lsm", {"level0_file_num_compaction_trigger": 30}, "level0_slowdown_writes_trigger"),
        ("lsm", {"level0_stop_writes_trigger": 10}, "level0_stop_writes_trigger"),
        ("btree", {"innodb_io_capacity": 5000}, "innodb_io_capacity_max"),
        ("lsm", {"sync": True, "disable_wal": True}, "sync"),
        (
            "btree",
            {"innodb_max_dirty_pages_pct": 5, "innodb_max_dirty_pages_pct_lwm": 50},
            "innodb_max_dirty_pages_pct",
        ),
    ],
)
def test_knobs_that_bound_one_another_are_checked_together(
    engine: Engine, settings: dict[str, object], named: str
) -> None:
    with pytest.raises(InputError) as caught:
        knobs.check(engine, settings)
    assert caught.value.where == named


@pytest.mark.parametrize("engine", ENGINES)
def test_durability_is_searched_only_when_it_is_named(engine: Engine) -> None:
    durable = [name for name, knob in knobs.catalogue(engine).items() if knob.durability]
    assert durable
    assert not set(durable) & set(knobs.searchable(engine))
    assert durable[0] in knobs.searchable(engine, include=durable[:1])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_knob_is_searched_after_the_one_that_bounds_it(engine: Engine) -> None:
    order = list(knobs.searchable(engine))
    for name in order:
        bound = knobs.catalogue(engine)[name].at_least
        assert bound is None or bound not in order or order.index(bound) < order.index(name)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_memory_budget_bounds_the_cache(engine: Engine) -> None:
    cache = engines.of(engine).cache_knob
    found = knobs.searchable(engine, memory_budget=GIB)[cache]
    assert GIB // 2 < found.high < GIB


@pytest.mark.parametrize("engine", ENGINES)
def test_a_knob_is_what_the_core_declares(engine: Engine) -> None:
    declared = options.engine_options(engine)
    assert list(knobs.catalogue(engine)) == list(declared)
    for name, knob in knobs.catalogue(engine).items():
        own = {key: vars(knob)[key] for key in vars(declared[name]) if key != "low"}
        assert own | {"low": declared[name].low} == vars(declared[name])


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("[merge_threshold]", "[split_threshold]", "merge_threshold, split_threshold"),
        ("[merge_threshold]", "[split_threshold]\n[merge_threshold]", "split_threshold"),
    ],
)
def test_the_file_and_the_core_have_the_same_knobs_or_nothing_works(
    old: str, new: str, named: str, edit: Edit
) -> None:
    edit("btree", old, new)
    with pytest.raises(ValueError, match=rf"core: {named}$"):
        knobs.catalogue("btree")


def test_a_row_of_a_dialect_that_is_not_there_is_refused(edit: Edit) -> None:
    edit("btree", "[merge_threshold]", '[merge_threshold]\nin."mysql-8.5".absent = "gone"')
    with pytest.raises(ValueError, match=r"merge_threshold .*mysql-8.5"):
        knobs.catalogue("btree")


def test_a_dialect_has_the_rows_of_the_one_that_it_is_like(edit: Edit) -> None:
    edit(
        "btree",
        "[innodb_buffer_pool_size]",
        '[dialects."mysql-9.7"]\nlike = "mysql-8.4"\n[innodb_buffer_pool_size]',
    )
    edit(
        "btree",
        "[innodb_redo_log_capacity]",
        '[innodb_redo_log_capacity]\nin."mysql-9.7".low = "16MiB"',
    )
    old, new = (knobs.dialects("btree")[name] for name in ("mysql-8.4", "mysql-9.7"))
    assert new == replace(old, name="mysql-9.7", like="mysql-8.4")
    for name, knob in knobs.catalogue("btree").items():
        like, own = knob.spellings["mysql-8.4"], knob.spellings["mysql-9.7"]
        assert own == (replace(like, low=16 << 20) if name == "innodb_redo_log_capacity" else like)


PRODUCTS_OWN = {"innodb_io_capacity", "innodb_io_capacity_max", "innodb_lru_scan_depth"}
"""InnoDB takes nothing below 100; the core goes lower for its own tests."""
FLOORS_OF_SCALE = {
    "innodb_buffer_pool_size",
    "innodb_log_buffer_size",
    "soft_pending_compaction_bytes_limit",
    "hard_pending_compaction_bytes_limit",
}
"""A scaled trial gets no less."""


def test_only_these_have_a_floor_above_what_the_core_takes() -> None:
    raised = {
        name
        for engine, name in ALL
        if knobs.catalogue(engine)[name].low != options.engine_options(engine)[name].low
    }
    assert raised == PRODUCTS_OWN | FLOORS_OF_SCALE


@pytest.mark.parametrize(("engine", "name"), ALL)
def test_what_the_core_takes_at_its_bounds_the_catalogue_takes(engine: Engine, name: str) -> None:
    declared, knob = options.engine_options(engine)[name], knobs.catalogue(engine)[name]
    if declared.low is None or declared.high is None:
        return
    values = {declared.high}
    if name not in PRODUCTS_OWN | FLOORS_OF_SCALE:
        values.add(declared.low)
    if declared.low <= 0:
        values.add(0)
    refused = [value for value in values if knob.normal(value) is None]
    assert refused == []


@pytest.mark.parametrize(
    "settings",
    [
        {"hard_pending_compaction_bytes_limit": 0},
        {"soft_pending_compaction_bytes_limit": 0},
        {"soft_pending_compaction_bytes_limit": 0, "hard_pending_compaction_bytes_limit": 0},
    ],
)
def test_debt_limits_of_0_are_accepted_and_no_size_at_any_scale(settings: dict[str, int]) -> None:
    assert knobs.check("lsm", settings) == settings
    scaled = Scale(1 / 800).settings("lsm", knobs.defaults("lsm") | settings)
    assert {name: scaled.values[name] for name in settings} == settings
    assert settle("lsm", dict(settings)) == []
    for name in settings:
        knob = knobs.catalogue("lsm")[name]
        assert "or 0 for" in knob.accepted
        assert knobs.parse_value(knob, "0") == 0
        with pytest.raises(InputError):
            knobs.parse_value(knob, "1KiB")
