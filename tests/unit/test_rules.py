"""The rules of thumb are whole, lawful and fitted to the memory; none fills a cache blindly."""

import pytest

from advisor import engines, knobs
from advisor.evaluate import largest_cache, needed_memory
from advisor.knobs import Engine, Settings
from advisor.search import Question
from advisor.search.rules import Rule, rules
from advisor.search.seeds import best_rule, seeds
from advisor.search.squeeze import squeezed
from advisor.trial import settings_key
from tests.support.problems import GIB, problem, trial

MIB = 1 << 20
MEMORY = ("384MiB", "1GiB", "8GiB", "512GiB")
KEYS = {"kind": "key_value"}
"""Of RocksDB alone, without a server around it."""


def named(engine: Engine, name: str) -> Rule:
    return next(rule for rule in rules(engine) if rule.name == name)


@pytest.mark.parametrize("engine", knobs.ENGINES)
def test_there_are_six_with_a_name_and_a_source_each(engine: Engine) -> None:
    known = rules(engine)
    assert len({rule.name for rule in known}) == len(known) >= 6
    assert all(source.startswith("http") for rule in known for source in rule.sources)
    assert all(rule.sources for rule in known)


@pytest.mark.parametrize("memory", MEMORY)
@pytest.mark.parametrize("engine", knobs.ENGINES)
def test_they_are_accepted_and_fit_the_memory(engine: Engine, memory: str) -> None:
    profile = problem(memory=memory, data="2GiB")
    stock = Question(profile, engines=(engine,)).stock(engine)
    for rule in rules(engine):
        settings = rule.settings(profile, stock)
        assert settings is not None, rule.name
        assert knobs.check(engine, settings) == settings
        assert needed_memory(profile, engine, settings) <= profile.memory_bytes


@pytest.mark.parametrize("engine", knobs.ENGINES)
def test_they_leave_durability_alone(engine: Engine) -> None:
    catalogue = knobs.catalogue(engine)
    assert not [n for rule in rules(engine) for n in rule.stated if catalogue[n].durability]


def test_none_takes_the_page_cache_from_compressed_blocks() -> None:
    profile = problem()
    stock = knobs.defaults("lsm")
    for rule in rules("lsm"):
        settings = rule.settings(profile, stock)
        assert settings is not None
        full = largest_cache(profile, "lsm", settings)
        assert full is not None
        assert settings["use_direct_reads"] or int(settings["block_cache"]) < 0.8 * full


def test_the_tuning_guide_has_memtables_of_12_in_64_mib() -> None:
    profile = problem(memory="64MiB", data="576MiB", clients=1, workload=KEYS)
    found = named("lsm", "tuning guide").settings(profile, knobs.defaults("lsm"))
    assert found is not None
    assert (found["write_buffer_size"], found["max_write_buffer_number"]) == (12 * MIB, 2)
    assert found["max_bytes_for_level_base"] == 48 * MIB
    assert 8 * MIB <= int(found["block_cache"]) <= 34 * MIB


@pytest.mark.parametrize(
    ("memory", "pool"), [("1000MiB", 128 * MIB), ("4GiB", 2 * GIB), ("8GiB", 6 * GIB)]
)
def test_a_dedicated_server_sizes_its_pool_by_steps(memory: str, pool: int) -> None:
    rule = named("btree", "innodb_dedicated_server")
    found = rule.settings(problem(memory=memory), knobs.defaults("btree"))
    assert found is not None and found["innodb_buffer_pool_size"] == pool


@pytest.mark.parametrize(("data", "log"), [("384MiB", 768 * MIB), ("20GiB", 2 * GIB)])
def test_a_log_is_no_larger_than_twice_the_data(data: str, log: int) -> None:
    rule = named("btree", "the five settings")
    found = rule.settings(problem(data=data), knobs.defaults("btree"))
    assert found is not None and found["innodb_redo_log_capacity"] == log


def test_a_multiple_follows_the_size_that_gave_way() -> None:
    rule = named("lsm", "tuning guide")
    small = problem(memory="40MiB", data="1GiB", workload=KEYS)
    found = rule.settings(small, knobs.defaults("lsm"))
    assert found is not None
    assert found["max_bytes_for_level_base"] == 4 * int(found["write_buffer_size"]) < 48 * MIB


def test_what_fits_is_not_squeezed_and_the_cache_gives_way_first() -> None:
    given: Settings = {**knobs.defaults("btree"), "innodb_buffer_pool_size": 3 * GIB}
    assert squeezed(problem(memory="8GiB"), "btree", given) == given
    found = squeezed(problem(memory="3GiB"), "btree", given)
    changed = {name for name in given if found and found[name] != given[name]}
    assert changed == {"innodb_buffer_pool_size"}


def test_defaults_that_do_not_fit_are_squeezed_into_a_baseline() -> None:
    small = problem(memory="64MiB", data="64MiB", workload=KEYS)
    question = Question(small, engines=("lsm",))
    stock, base = question.stock("lsm"), question.base("lsm")
    assert needed_memory(question.profile, "lsm", stock) > question.profile.memory_bytes
    assert needed_memory(question.profile, "lsm", base) <= question.profile.memory_bytes
    changed = {name for name in stock if stock[name] != base[name]}
    assert changed <= set(engines.of("lsm").shrinkable)
    assert [s.settings for s in seeds(question) if s.role == "default"] == [base]
    assert question.is_squeezed("lsm")


def test_the_best_rule_is_that_of_the_best_trial() -> None:
    question = Question(problem(), engines=("lsm",))
    own = [seed for seed in seeds(question) if seed.rule]
    runs = [trial(settings=own[i].settings, metrics={"ops_per_s": 100.0 * i}) for i in (1, 3, 2)]
    found = best_rule(question, runs, "lsm")
    assert found is not None
    assert settings_key("lsm", found.settings) == settings_key("lsm", own[3].settings)
    first = best_rule(question, [], "lsm")
    assert first is not None and first.rule == rules("lsm")[0].name


def current() -> dict[Engine, Settings]:
    return {"btree": {**knobs.defaults("btree"), "innodb_page_size": 8192}}


def test_the_page_size_of_the_users_data_stays_unless_a_rebuild_is_allowed() -> None:
    question = Question(problem(), engines=("btree",), current=current())
    assert {seed.settings["innodb_page_size"] for seed in seeds(question)} == {8192}
    allowed = Question(problem(), engines=("btree",), current=current(), rebuild=True)
    assert {seed.settings["innodb_page_size"] for seed in seeds(allowed)} == {4096, 8192, 16384}


def test_an_engine_that_rewrites_its_data_needs_no_rebuild() -> None:
    settings: dict[Engine, Settings] = {"lsm": knobs.defaults("lsm")}
    assert Question(problem(), current=settings).fixed("lsm") == frozenset()
    assert Question(problem()).fixed("btree") == frozenset()
