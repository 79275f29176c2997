import pytest

from advisor import dialects, knobs
from advisor.errors import InputError
from advisor.imports.imported import settle
from advisor.knobs import ENGINES, Engine
from advisor.scale import Scale

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
    cache = knobs.CACHE_KNOB[engine]
    found = knobs.searchable(engine, memory_budget=GIB)[cache]
    assert GIB // 2 < found.high < GIB


@pytest.mark.parametrize("engine", ENGINES)
def test_the_core_has_the_same_knobs_and_defaults(engine: Engine) -> None:
    core = pytest.importorskip("advisor._core", reason="the Rust core is not built")
    options = {option["name"]: option for option in core.engine_options(engine)}
    assert set(options) == set(knobs.catalogue(engine))
    for name, knob in knobs.catalogue(engine).items():
        assert options[name]["default"] == knob.default, name
        accepts = options[name]["accepts"]
        if "min" in accepts and knob.low is not None and knob.high is not None:
            assert accepts["min"] <= knob.low <= knob.high <= accepts["max"], name
        elif "choices" in accepts and knob.choices is not None:
            assert set(knob.choices) <= set(accepts["choices"]), name


PRODUCTS_OWN = {"innodb_io_capacity", "innodb_io_capacity_max", "innodb_lru_scan_depth"}
"""InnoDB takes nothing below 100; the core goes lower for its own tests."""
FLOORS_OF_SCALE = {
    "innodb_buffer_pool_size",
    "innodb_redo_log_capacity",
    "innodb_log_buffer_size",
    "soft_pending_compaction_bytes_limit",
    "hard_pending_compaction_bytes_limit",
}
"""A scaled trial gets no less."""


@pytest.mark.parametrize(("engine", "name"), ALL)
def test_what_the_core_takes_at_its_bounds_the_catalogue_takes(engine: Engine, name: str) -> None:
    core = pytest.importorskip("advisor._core", reason="the Rust core is not built")
    options = {option["name"]: option["accepts"] for option in core.engine_options(engine)}
    accepts, knob = options[name], knobs.catalogue(engine)[name]
    if "min" not in accepts:
        return
    values = {accepts["max"]}
    if name not in PRODUCTS_OWN | FLOORS_OF_SCALE:
        values.add(accepts["min"])
    if accepts["min"] <= 0:
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
